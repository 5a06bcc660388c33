"""Preferences overruled by newer ones: "I prefer light mode now" closes "Ana prefers dark mode". Plans.

    newer, said, and on the same topic      the older gets valid_to, superseded_by, in the commit of the newer
    only drawn from what somebody does      overrules what was drawn too, and nothing that was said

What is imported late counts by the day it was said, so an old chat does not overrule what holds now. A preference that
says two things is left alone, and so are a person's own notes, pinned ones, and whatever has uncommitted edits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations

from atlas import ladder, markdown, wishes
from atlas.catalog import Card
from atlas.errors import NotText, Unparsable
from atlas.ingest import Draft
from atlas.memory import Change, Trust
from atlas.planning import View
from atlas.profiles import Profile
from atlas.source import decode, encode
from atlas.survey import blob_id
from atlas.wishes import EXPLICIT, IMPLICIT, Wish

KIND = "preference"
#: What may not be believed overrules nothing, and is left to be judged.
_SILENT = frozenset({Trust.REJECTED, Trust.UNTRUSTED, Trust.STALE})


@dataclass(frozen=True, slots=True)
class _Held:
    """A preference with one wish: where it is, whether it was said, and since when it holds, in microseconds."""

    id: str
    path: str
    home: str
    wish: Wish
    said: bool
    start: int

    def overruled_by(self, other: _Held) -> bool:
        """Whether another one, of the same scope, puts an end to this."""
        return self.home == other.home and (other.said or not self.said) and other.wish.replaces(self.wish)


def concerned(drafts: Sequence[Draft], cards: Sequence[Card]) -> frozenset[str]:
    """The ids of the stored preferences that are on a topic of a new one."""
    keys = {wish.key for draft in drafts if draft.kind == KIND for wish in wishes.wishes(draft.text)}
    if not keys:
        return frozenset()
    return frozenset(card.id for card in cards if any(wish.key in keys for wish in wishes.wishes(card.label)))


def overruled(
    changes: Sequence[Change], drafts: Sequence[Draft], known: Iterable[Profile], view: View | None
) -> list[Change]:
    """The changes of an ingest, with the preferences closed that others among `known` and the new ones overrule.

    `view` is the vault without them; None where it is not under Git, so that nobody knows whose a stored one is.
    """
    new = {one.path: one for one in map(_new, drafts) if one}
    old = [one for one in (_stored(profile, view) for profile in known) if one] if view else []
    ends: dict[str, _Held] = {}
    for older, newer in combinations(sorted((*old, *new.values()), key=lambda one: one.start), 2):
        if older.path not in ends and newer.start > older.start and older.overruled_by(newer):
            ends[older.path] = newer
    ends |= _at_once(list(new.values()), ends)
    return list(_closed(changes, {path: end for path, end in ends.items() if path in new or _ours(view, path)}, view))


def _at_once(new: Sequence[_Held], ends: Mapping[str, _Held]) -> dict[str, _Held]:
    """Of two that are stored together and were said in one moment, the one told later is the newer."""
    return {
        older.path: newer
        for older, newer in combinations(new, 2)
        if older.path not in ends and newer.start == older.start and older.overruled_by(newer)
    }


def _new(draft: Draft) -> _Held | None:
    if draft.kind != KIND or draft.meta.get("trust") in _SILENT:
        return None
    start = _micros(draft.meta.get("valid_from")) or _micros(draft.meta.get("created"))
    return _one(draft.id, draft.path, wishes.wishes(draft.text), draft.meta, start)


def _stored(one: Profile, view: View) -> _Held | None:
    """A stored preference that holds, by the words in its file."""
    over = one.valid_to is not None or one.meta.get("superseded_by")
    if one.kind != KIND or not one.readable or over or one.trust in _SILENT or one.pinned:
        return None
    data = view.read(one.path)
    try:
        said = markdown.original(markdown.parse(decode(data).text, one.path)) if data is not None else ""
    except NotText:
        return None
    start = one.created if one.valid_from is None else one.valid_from
    return _one(one.id, one.path, wishes.wishes(said), one.meta, start)


def _one(id: str, path: str, found: Sequence[Wish], meta: Mapping[str, object], start: int | None) -> _Held | None:
    if len(found) != 1 or start is None:
        return None
    home = ladder.home(path).rpartition("memories/")[0]
    return _Held(id, path, home, found[0], meta.get(wishes.KEY, EXPLICIT) != IMPLICIT, start)


def _ours(view: View | None, path: str) -> bool:
    return view is not None and view.mine(path) and not view.busy(path)


def _closed(changes: Sequence[Change], ends: Mapping[str, _Held], view: View | None) -> Iterator[Change]:
    """Every change, one for each file, with the ends written into it."""
    left = dict(ends)
    for change in changes:
        end = left.pop(change.path, None)
        yield change if end is None or change.data is None else replace(change, data=_ended(change.data, end))
    for path, end in left.items():
        data = None if view is None else view.read(path)
        made = None if data is None else _ended(data, end)
        if data is not None and made != data:
            yield Change(path, made, blob_id(data))


def _ended(data: bytes, end: _Held) -> bytes:
    """The file, no longer valid; as it is, where its metadata cannot be changed."""
    until = datetime.fromtimestamp(end.start // 1_000_000, UTC).isoformat().replace("+00:00", "Z")
    try:
        source = decode(data)
        return encode(source, markdown.edit(source.text, {"valid_to": until, "superseded_by": end.id}))
    except (NotText, Unparsable):
        return data


def _micros(value: object) -> int | None:
    moment = value if isinstance(value, datetime) else markdown.when(value) if isinstance(value, str) else None
    return int(moment.timestamp() * 1_000_000) if moment else None
