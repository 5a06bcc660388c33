"""What a memory that is being stored puts an end to: "Ana moved to floor 5" closes "Ana's desk is on floor 2". Plans.

The older one is closed in the commit that brings the newer, so that no search between two runs of upkeep takes what was
for what is. What two memories merely state differently is left to upkeep (`contradictions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from atlas import contradictions, markdown
from atlas.catalog import Card
from atlas.ingest import Draft
from atlas.memory import Change, Trust
from atlas.planning import View
from atlas.profiles import Profile
from atlas.statements import Statement, statements
from atlas.survey import blob_id


def subjects(drafts: Sequence[Draft]) -> dict[str, list[Statement]]:
    """What the new memories state, by whom it is about, in lower case."""
    found: dict[str, list[Statement]] = {}
    for draft in drafts:
        for one in statements(draft.label):
            found.setdefault(one.subject, []).append(one)
    return found


def concerned(said: Mapping[str, Sequence[Statement]], cards: Sequence[Card]) -> frozenset[str]:
    """The ids of the memories that state something else of the same subject and slot."""
    keys = {one.key: one.value for group in said.values() for one in group}
    return frozenset(
        card.id
        for card in cards
        for one in statements(card.label)
        if one.key in keys and (one.value != keys[one.key] or one.ended)
    )


def closed(changes: Sequence[Change], drafts: Sequence[Draft], view: View, ids: frozenset[str]) -> list[Change]:
    """The changes of an ingest, with what the new memories put an end to closed. `view` is the vault without them."""
    new = {draft.path: draft for draft in drafts}
    written = {change.path: change.data for change in changes}
    known = [profile for profile in view.profiles() if profile.id in ids]

    def read(path: str) -> bytes | None:
        return written.get(path) or view.read(path)

    after = replace(
        view,
        profiles=lambda: (*known, *map(_profile, new.values())),
        read=read,
        ours=lambda: {*view.ours(), *new},
    )
    groups, _ = contradictions.found(after)
    ends = {step.change.path: step.change for steps in groups for step in steps if step.row.to == "superseded"}
    return list(_together(changes, {path: end for path, end in ends.items() if path not in new}))


def _together(changes: Sequence[Change], ends: Mapping[str, Change]) -> Iterator[Change]:
    """Both kinds of change, one for each file: what drew a memory into a cluster keeps the bytes it began with."""
    left: dict[str, Change] = dict(ends)
    for change in changes:
        end = left.pop(change.path, None)
        yield change if end is None else replace(change, data=end.data)
    yield from left.values()


def _profile(draft: Draft) -> Profile:
    """A memory that is not in the index yet, as upkeep would see it."""
    note = markdown.parse(draft.data.decode(), draft.path)
    return Profile(
        path=draft.path,
        id=draft.id,
        blob=blob_id(draft.data),
        label=draft.label,
        kind=draft.kind,
        tags=note.tags,
        entities=note.entities,
        created=_micros(note.meta.get("created")),
        importance=draft.importance,
        pinned=False,
        trust=str(note.meta.get("trust") or Trust.CANDIDATE),
        source=str(note.meta.get("source") or ""),
        valid_from=_micros(note.meta.get("valid_from")),
        valid_to=None,
        meta=note.meta,
        readable=note.readable,
        words=len(draft.text.split()),
        linked=False,
        summary=draft.summary,
        stale=False,
    )


def _micros(value: object) -> int | None:
    moment = markdown.when(value) if isinstance(value, str) else None
    return int(moment.timestamp() * 1_000_000) if moment else None
