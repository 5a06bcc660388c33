"""Contradictions: what two memories state of one subject and slot with different values. A planner.

    older, and the newer says it is a change, or was given a later day      older: valid_to, superseded_by
    neither says what became of the other                                   both: trust contested

Nothing is deleted, and a wrong "superseded" is worse than a missed one: only short statements that fit a pattern wholly
are compared (`statements`), within one scope, and only notes that Atlas alone wrote are changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time

from atlas import ladder, markdown
from atlas.errors import NotText, Unparsable
from atlas.memory import HUB, Change, Rung, Trust
from atlas.planning import Row, View
from atlas.profiles import Profile
from atlas.source import encode
from atlas.statements import Statement, statements
from atlas.survey import blob_id

#: Memories of more words tell a story; and what may not be believed may not overrule anything.
_MOST_WORDS = 60
_SILENT = frozenset({Trust.REJECTED, Trust.UNTRUSTED, Trust.STALE})
#: Words that say nothing but that nobody has judged yet.
_UNJUDGED = frozenset({"", Trust.CANDIDATE, Trust.CONTESTED})


@dataclass(frozen=True, slots=True)
class _Told:
    """One statement of one memory, and since when it holds, in microseconds since 1970."""

    profile: Profile
    statement: Statement
    start: int


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one memory: keys of its metadata, and the line that says so."""

    change: Change
    row: Row


def found(view: View) -> tuple[tuple[tuple[Step, ...], ...], tuple[str, ...]]:
    """What is to be noted of memories that contradict each other, for each contradiction; and what to tell a person."""
    steps: list[tuple[Step, ...]] = []
    notes: list[str] = []
    touched: set[str] = set()
    for same in _groups(view).values():
        for older, newer in _pairs(same):
            both = (older, newer)
            if touched & {one.profile.path for one in both}:
                continue
            made = tuple(_superseded(view, older, newer) if _replaces(newer, older) else _contested(view, both))
            steps += [made] if made else []
            touched.update(step.change.path for step in made)
            foreign = [one.profile.path for one in both if not view.mine(one.profile.path)]
            if foreign and not made:
                notes.append(_told(*both))
    return tuple(steps), tuple(dict.fromkeys(notes))


def _groups(view: View) -> dict[tuple[str, ...], list[_Told]]:
    """What is stated of each subject and slot, by scope; oldest first."""
    every: dict[tuple[str, ...], list[_Told]] = defaultdict(list)
    for one in view.profiles():
        if _speaks(one):
            for statement in statements(one.label):
                start = one.created if one.valid_from is None else one.valid_from
                every[ladder.home(one.path).rpartition("memories/")[0], *statement.key].append(
                    _Told(one, statement, start or 0)
                )
    return {
        key: sorted(told, key=lambda t: (t.start, t.profile.created or 0))
        for key, told in every.items()
        if _split(told)
    }


def _split(told: Sequence[_Told]) -> bool:
    return len({one.statement.value for one in told}) > 1 or any(one.statement.ended for one in told)


def _speaks(one: Profile) -> bool:
    """Whether a memory states what holds, as far as the index knows."""
    return (
        one.created is not None
        and one.readable
        and one.kind != HUB
        and one.words <= _MOST_WORDS
        and one.rung != Rung.L0
        and one.trust not in _SILENT
        and one.valid_to is None
        and not one.meta.get("superseded_by")
        and not one.meta.get("derived_from")
    )


def _pairs(told: Sequence[_Told]) -> Iterator[tuple[_Told, _Told]]:
    """Each statement with the first later one that puts an end to it, else with the next that says otherwise."""
    for at, older in enumerate(told):
        if older.statement.ended:
            continue
        later = [one for one in told[at + 1 :] if one.profile.id != older.profile.id]
        ends = next((one for one in later if _replaces(one, older)), None)
        other = next((one for one in later if not one.statement.ended and _differs(one, older)), None)
        newer = ends or other
        if newer:
            yield older, newer


def _differs(one: _Told, other: _Told) -> bool:
    return one.statement.value != other.statement.value


def _replaces(newer: _Told, older: _Told) -> bool:
    """Whether the newer says what became of the older: it is a change, or was given a day of its own, and later."""
    if newer.start <= older.start:
        return False
    if newer.statement.ended:
        return not _differs(newer, older)
    return _differs(newer, older) and (newer.statement.change or newer.profile.valid_from is not None)


def _superseded(view: View, older: _Told, newer: _Told) -> Iterator[Step]:
    until = datetime.fromtimestamp(newer.start // 1_000_000, UTC)
    whole = until.time() == time() and newer.profile.valid_from is not None
    spelled = f"{until:%Y-%m-%d}" if whole else until.isoformat().replace("+00:00", "Z")
    values = {"valid_to": spelled, "superseded_by": newer.profile.id}
    yield from _noted(view, older.profile, values, "superseded", f"since then: {newer.profile.label}")


def _contested(view: View, both: tuple[_Told, _Told]) -> Iterator[Step]:
    """Both, or neither: where a person has judged one of them, or wrote it, the other is left alone too."""
    profiles = [one.profile for one in both]
    judged = any(one.trust not in _UNJUDGED or one.pinned or not view.mine(one.path) for one in profiles)
    if judged or all(one.trust == Trust.CONTESTED for one in profiles):
        return
    for one, other in (profiles, profiles[::-1]):
        if one.trust != Trust.CONTESTED:
            yield from _noted(view, one, {"trust": Trust.CONTESTED.value}, "contested", f"but: {other.label}")


def _noted(view: View, one: Profile, values: dict[str, str], to: str, reason: str) -> Iterator[Step]:
    """The memory with these keys in its metadata, if its words are Atlas's and still say what the index says."""
    data = view.read(one.path)
    if data is None or one.pinned or not view.mine(one.path) or view.busy(one.path):
        return
    try:
        source = markdown.decode(data)
        note = markdown.parse(source.text, one.path)
        if not set(statements(note.title)) & set(statements(markdown.original(note))):
            return
        text = markdown.edit(source.text, values, path=one.path)
    except (NotText, Unparsable):
        return
    change = Change(one.path, encode(source, text), blob_id(data), one.id, one.label)
    yield Step(change, Row(one.id, one.path, one.trust or "held", to, reason))


def _told(one: _Told, other: _Told) -> str:
    return (
        f"{one.profile.path} says {one.profile.label!r}, {other.profile.path} says {other.profile.label!r}: "
        "if one no longer holds, give it `valid_to` and `superseded_by`."
    )
