"""What was forgotten and is needed again comes back whole: a label that was read is a memory that is missed. A planner.

Forgetting is a guess that nobody will ask; a read is the proof that it was wrong. What a person edited since is kept,
as whenever a memory comes back (`ladder.up`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from atlas import ladder, thaw
from atlas.errors import NotText, Unparsable, UsageError
from atlas.memory import Change, Record, Rung, Use
from atlas.planning import Plan, Row, View
from atlas.profiles import Profile
from atlas.survey import text_id


def plan(view: View) -> Plan:
    """The memories that have stepped down and were read on a later day, as they were when all of them was there."""
    cut = [profile for profile in view.profiles() if profile.rung != Rung.L2]
    used = view.usage() if cut else {}
    missed = [profile for profile in cut if _missed(profile, used)]
    full = view.blobs([str(profile.meta["full"]) for profile in missed]) if missed else {}
    back = [(profile, made) for profile in missed if (made := list(_back(view, profile, full)))]
    if not back:
        return Plan()
    rows = tuple(Row(p.id, p.path, p.rung, Rung.L2, f"read on {used[p.id].days[-1]}, after that") for p, _ in back)
    changes: list[Change] = []
    groups: list[tuple[int, ...]] = []
    for _, made in back:
        groups += [tuple(range(len(changes), len(changes) + len(made)))] if len(made) > 1 else []
        changes += made
    subject = f"Bring back {len(back):,} memories" if len(back) > 1 else f"Bring back {back[0][0].label}"
    record = Record("revive", subject, "read since they were forgotten", memories=tuple(p.id for p, _ in back))
    return Plan(tuple(changes), record, rows, tuple(groups))


def _missed(profile: Profile, used: Mapping[str, Use]) -> bool:
    since, use = profile.meta.get("forgotten"), used.get(profile.id)
    known = isinstance(since, str) and isinstance(profile.meta.get("full"), str)
    return known and use is not None and bool(use.days) and use.days[-1] > str(since)


def _back(view: View, profile: Profile, full: Mapping[str, bytes]) -> Iterator[Change]:
    """The changes that bring one back; none if that is not safe now."""
    whole, present = full.get(str(profile.meta["full"])), view.read(profile.path)
    if whole is None or present is None or text_id(present) != profile.blob:
        return
    if view.busy(profile.path) or not view.mine(profile.path):
        return
    try:
        data = ladder.up(present, whole, profile.path)
    except (NotText, Unparsable, UsageError):
        return
    yield from thaw.moved(profile.path, present, data, view.read)
