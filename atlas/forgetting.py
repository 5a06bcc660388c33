"""Forgetting: which memories step down a rung, and what keeps the others where they are. A plan only.

    profiles, usage ─► Life ─► activity ─► below its threshold? ─► one rung down (`ladder`) ─► one commit

A memory steps down one rung a run, and rests `new_days` before the next step. What is new, pinned, undated, busy or a
person's own stays; what others link to, and preferences, keep at least their summary. A run that would touch too large
a share of what can be forgotten stops and asks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache

from atlas import ladder, tokens, tombstones
from atlas.config import FORGET_POLICIES
from atlas.dates import when
from atlas.decay import Clock, Life, Rules, day_of, rules
from atlas.errors import NotText, Protected, Unparsable, UsageError
from atlas.memory import HUB, Change, Record, Rung, Use
from atlas.note import split
from atlas.planning import Plan, Row, View
from atlas.profiles import Profile
from atlas.source import decode
from atlas.survey import blob_id, text_id
from atlas.tombstones import Tombstone

Count = Callable[[str], int]

#: A run that touches no more than this asks nobody, whatever share it is.
_FEW = 5
#: Below so many times the threshold, a memory is about to be forgotten: within two thirds of a half-life.
_SOON = 1.5
_MICROSECONDS = 86_400e6
_EPOCH = date(1970, 1, 1).toordinal()
_ORDER = (Rung.L2, Rung.L1, Rung.L0, Rung.TOMBSTONE)
_ASKED = "asked for"


@dataclass(frozen=True, slots=True)
class _Step:
    """One memory, one rung down. `new` is its file then, None for a tombstone; `life` the table's inputs."""

    profile: Profile
    data: bytes
    to: Rung
    new: bytes | None
    reason: str
    inputs: dict[str, float | str]

    @property
    def row(self) -> Row:
        """The line of the table."""
        said = self.profile.rung  # until somebody writes a detail again
        was = said if _ORDER.index(said) < _ORDER.index(self.to) else Rung.L2
        return Row(self.profile.id, self.profile.path, str(was), str(self.to), self.reason, self.inputs)


def upkeep(view: View) -> Plan:
    """What upkeep forgets today; nothing where `forget.enabled` says no."""
    return plan(view) if view.config.forget_enabled else Plan()


def fading(view: View) -> frozenset[str]:
    """The ids of the memories that will step down to their labels before long: nobody has needed them lately."""
    judge = _Judge(view, rules(view.config))
    bar = _SOON * judge.rules.thresholds[Rung.L0]
    return frozenset(one.id for one in judge.profiles if not judge.rests(one) and judge.score(one) < bar)


def plan(
    view: View,
    *,
    names: Sequence[str] = (),
    policy: str | None = None,
    limit: int | None = None,
    count: Count | None = None,
) -> Plan:
    """The memories that step down a rung, the least active first, `limit` of them at most.

    `names` are paths that somebody asks for: of what protects a memory, only being pinned, busy, linked to (below L1)
    or a person's own then counts, and raises Protected. `count` counts tokens for the budgets.
    """
    if policy not in {None, *FORGET_POLICIES}:
        raise UsageError(f"The policy of forgetting is one of {', '.join(FORGET_POLICIES)}, not {policy!r}.")
    judge = _Judge(view, rules(view.config, policy))
    if names:
        return _planned(judge, [judge.asked(path) for path in dict.fromkeys(names)], (), "")
    steps = list(_first(judge.due(), limit))
    more, notes = _overflow(judge, steps, limit, count)
    steps += more
    return _planned(judge, steps, notes, judge.stops(len(steps)))


class _Judge:
    """What the plan asks of each memory: how alive it is, what protects it, what it would be one rung down."""

    def __init__(self, view: View, by: Rules) -> None:
        self.view, self.rules = view, by
        self.profiles = view.profiles()
        self._usage = view.usage()
        stored = [day for profile in self.profiles for day in _days(profile)]
        read = [_day(day) for use in self._usage.values() for day in use.days]
        self.clock = Clock([*stored, *filter(None, read)], day_of(view.now), view.config.forget_idle_days)

    # ------------------------------------------------------------------- how alive

    def life(self, profile: Profile) -> Life:
        """What the policy looks at, on the vault's clock."""
        use = self._usage.get(profile.id, Use())
        read, wrong = ([self.clock.at(d) for d in map(_day, days) if d is not None] for days in (use.days, use.wrong))
        return Life(profile.importance, self._stored(profile), tuple(read), tuple(wrong), use.reads)

    def _stored(self, profile: Profile) -> float:
        """When it came into the vault, on its clock; undated is now."""
        days = _days(profile)
        return self.clock.at(max(days)) if days else self.clock.today

    def score(self, profile: Profile) -> float:
        """Its activity."""
        half_life = self.rules.half_life(profile.kind, profile.tier)
        return self.life(profile).score(self.rules.policy, half_life, self.clock.today)

    def inputs(self, profile: Profile) -> dict[str, float | str]:
        """What the table shows beside a step."""
        life = self.life(profile)
        return {
            "importance": round(profile.importance, 4),  # a number of four bytes until here
            "days": round(self.clock.today - life.last, 1),
            "accesses": life.accesses,
            "half_life": life.lasting(self.rules.half_life(profile.kind, profile.tier)),
            "activity": round(self.score(profile), 4),
        }

    # --------------------------------------------------------------- what protects

    def forgettable(self, profile: Profile) -> bool:
        """Whether it could ever be forgotten."""
        ever = profile.readable and profile.created is not None and not profile.pinned and profile.kind != HUB
        return ever and self.view.mine(profile.path)

    def rests(self, profile: Profile) -> bool:
        """Whether it was stored, read or forgotten a rung only lately."""
        stepped = profile.meta.get("forgotten")
        day = _day(stepped) if isinstance(stepped, str) else None
        since = [self.life(profile).last, *([self.clock.at(day)] if day is not None else [])]
        return self.clock.today - max(since) < self.view.config.forget_new_days

    def may(self, profile: Profile, to: Rung) -> bool:
        """Whether it may go so low by itself."""
        kept = profile.linked or profile.kind == "preference"
        return to == Rung.L1 or not kept

    # ---------------------------------------------------------------------- steps

    def due(self) -> Iterator[_Step]:
        """The steps that are due, the least active memory first."""
        # What costs least decides first: whose words a note holds is asked of Git, what is in it of the disk.
        fading = [(score, p) for p in self.profiles if (score := self._fading(p)) is not None]
        for score, profile in sorted(fading, key=lambda x: (x[0], x[1].path)):
            step = self.step(profile, score)
            if step is not None:
                yield step

    def _fading(self, profile: Profile) -> float | None:
        """Its activity, if that is low enough for any step from where it stands."""
        if not profile.readable or profile.created is None or profile.pinned or profile.kind == HUB:
            return None
        lower = [rung for rung in _ORDER[_ORDER.index(profile.rung) + 1 :] if self.may(profile, rung)]
        if not lower:
            return None
        score = self.score(profile)
        return score if score < max(self.rules.thresholds[rung] for rung in lower) and not self.rests(profile) else None

    def step(self, profile: Profile, score: float, reason: str = "") -> _Step | None:
        """One rung down from where it stands, None if that is not to be; with a `reason`, activity does not decide."""
        if not self.forgettable(profile) or self.view.busy(profile.path):
            return None
        data = self.view.read(profile.path)
        if data is None or text_id(data) != profile.blob:  # edited since the index looked: next time
            return None
        try:
            # Writing the lower rung costs five times what looking which it would be does.
            if not self._due(profile, ladder.below(data), score, reason):
                return None
            to, new = self._lower(data)
        except (NotText, Unparsable):
            return None
        if not self._due(profile, to, score, reason):
            return None
        said = reason or f"activity {score:.3f} is below {self.rules.thresholds[to]:g}"
        return _Step(profile, data, to, new, said, self.inputs(profile))

    def _due(self, profile: Profile, to: Rung, score: float, reason: str) -> bool:
        """Whether it may, and is to, go down to this rung."""
        return self.may(profile, to) and (bool(reason) or score < self.rules.thresholds[to])

    def _lower(self, data: bytes) -> tuple[Rung, bytes | None]:
        """The next rung at which the text is shorter, and the file then. A title alone is no shorter as a label."""
        to = ladder.below(data)
        while to != Rung.TOMBSTONE:
            new = ladder.down(data, to, f"{self.view.now:%Y-%m-%d}")
            if _length(new) < _length(data):
                return to, new
            to = _ORDER[_ORDER.index(to) + 1]
        return to, None

    def asked(self, path: str) -> _Step:
        """The step of a memory that somebody asks for; raises Protected, Unparsable, NotText."""
        profile = next((p for p in self.profiles if p.path == path), None)
        data = self.view.read(path)
        if profile is None or data is None:
            raise Protected(path, "it is no memory that can be read", "look at `atlas status`")
        self._refuse(profile)
        to, new = self._lower(data)
        if profile.linked and to != Rung.L1:
            raise Protected(path, "other notes link to it", "remove their links first, or leave it at its summary")
        return _Step(profile, data, to, new, _ASKED, self.inputs(profile))

    def _refuse(self, profile: Profile) -> None:
        if profile.kind == HUB:
            raise Protected(profile.path, "it is a cluster's page", "delete the file if it is not wanted")
        if profile.pinned:
            raise Protected(profile.path, "it is pinned", "remove its `pinned:` line first")
        if not self.view.mine(profile.path):
            how = "name its folder in `forget.folders` of atlas.toml, or delete it yourself"
            raise Protected(profile.path, "a person wrote it", how)
        if self.view.busy(profile.path):
            raise Protected(profile.path, "it has edits that are not committed", "commit them first")

    def stops(self, touched: int) -> str:
        """Why the run stops and asks, "" if it need not."""
        if touched <= _FEW:
            return ""
        total, most = sum(map(self.forgettable, self.profiles)), self.view.config.forget_most_share
        if touched <= most * total:
            return ""
        return (
            f"Forgetting would touch {touched:,} of {total:,} memories that can be forgotten, more than the "
            f"{most:.0%} of `forget.most_share`: look at `atlas forget --dry-run`, then run `atlas forget --yes`."
        )


# --------------------------------------------------------------------------- budgets


def _overflow(
    judge: _Judge, steps: Sequence[_Step], limit: int | None, count: Count | None
) -> tuple[list[_Step], tuple[str, ...]]:
    """The steps that bring each tier within its budget, beside those that are due; and what cannot be brought there."""
    more: list[_Step] = []
    notes: list[str] = []
    planned = {step.profile.path: step for step in steps}
    for tier, budget in judge.view.config.forget_budgets.items():
        if not budget:
            continue
        counted = count or tokens.load(judge.view.config.tokenizer, judge.view.config.root).count
        members = [p for p in judge.profiles if p.tier == tier and p.kind != HUB]
        sizes = {p.path: _size(judge, p, planned.get(p.path), counted) for p in members}
        free = [p for p in members if p.path not in planned and judge.forgettable(p) and not judge.rests(p)]
        over = sum(sizes.values()) - budget
        for score, profile in sorted(((judge.score(p), p) for p in free), key=lambda x: (x[0], x[1].path)):
            if over <= 0 or (limit is not None and len(steps) + len(more) >= limit):
                break
            step = judge.step(profile, score, f"the tier {tier} is over its budget of {budget:,} tokens")
            if step is not None:
                more.append(step)
                over -= sizes[profile.path] - _text(step.new, counted)
        fixed = sum(sizes.values()) - sum(sizes[p.path] for p in free)
        if fixed > budget:
            notes.append(
                f"The tier {tier} has {fixed:,} tokens that cannot be forgotten now (new, pinned, a person's), "
                f"above its budget of {budget:,}: raise `forget.budgets.{tier}`."
            )
    return more, tuple(notes)


def _size(judge: _Judge, profile: Profile, step: _Step | None, count: Count) -> int:
    """The tokens of its text, once the run's own step is made."""
    return _text(step.new if step else judge.view.read(profile.path), count)


def _length(data: bytes) -> int:
    return len(split(decode(data).text).body.strip())


def _text(data: bytes | None, count: Count) -> int:
    """The tokens of a file's text, without its metadata."""
    if data is None:
        return 0
    try:
        return count(split(decode(data).text).body)
    except NotText:
        return 0


# --------------------------------------------------------------------------- the plan


def _planned(judge: _Judge, steps: Sequence[_Step], notes: tuple[str, ...], stops: str) -> Plan:
    """The steps as changes of files, and the record of their commit."""
    changes: list[Change] = []
    groups: list[tuple[int, ...]] = []
    gone: list[_Step] = []
    for step in steps:
        if step.new is None:
            gone.append(step)
            continue
        made = _moved(judge.view, step, {change.path for change in changes})
        groups += [tuple(range(len(changes), len(changes) + len(made)))] if len(made) > 1 else []
        changes += made
    if gone:
        made = _buried(judge.view, gone)
        groups.append(tuple(range(len(changes), len(changes) + len(made))))
        changes += made
    ids = tuple(step.profile.id for step in steps)
    record = Record("forget", _subject(steps), _why(steps), policy=str(judge.rules), memories=ids)
    return Plan(tuple(changes), record, tuple(step.row for step in steps), tuple(groups), stops, notes)


def _moved(view: View, step: _Step, taken: set[str]) -> list[Change]:
    """A memory on a lower rung: written in its place, or into the archive."""
    profile, before = step.profile, blob_id(step.data)
    # A note without an id is known by its place, so it keeps that.
    new = ladder.archived(profile.path) if step.to == Rung.L0 and profile.meta.get("id") else profile.path
    if new != profile.path and (new in taken or view.read(new) is not None):
        stem, dot, ending = new.rpartition(".")
        new = f"{stem}-{profile.id[-6:].lower()}{dot}{ending}"
        if new in taken or view.read(new) is not None:
            new = profile.path
    if new == profile.path:
        return [Change(new, step.new, before, profile.id, profile.label)]
    return [
        Change(profile.path, None, before, profile.id, profile.label),
        Change(new, step.new, None, profile.id, profile.label),
    ]


def _buried(view: View, steps: Sequence[_Step]) -> list[Change]:
    """The memories removed, and a line for each in one file of tombstones."""
    day = f"{view.now:%Y-%m-%d}"
    removed = [Change(s.profile.path, None, blob_id(s.data), s.profile.id, s.profile.label) for s in steps]
    stones = (Tombstone(s.profile.id, s.profile.path, _full(s), day) for s in steps)
    lines = "".join(stone.line for stone in stones).encode()
    path = f"{tombstones.FOLDER}/{day}-{hashlib.sha256(lines).hexdigest()[:8]}.jsonl"
    there = view.read(path)
    if there == lines:  # the same memories, brought back and forgotten again on one day
        return removed
    return [*removed, Change(path, lines, None if there is None else blob_id(there))]


def _full(step: _Step) -> str:
    """The blob of the memory when everything was there."""
    full = step.profile.meta.get("full")
    return full if isinstance(full, str) and full else blob_id(step.data)


def _subject(steps: Sequence[_Step]) -> str:
    if len(steps) == 1:
        return f"Forget {steps[0].profile.label}"
    return f"Forget {len(steps):,} memories"


def _why(steps: Sequence[_Step]) -> str:
    """What became of how many, and why."""
    counts = {to: sum(step.to == to for step in steps) for to in _ORDER[1:]}
    told = {Rung.L1: "to the summary", Rung.L0: "to the label", Rung.TOMBSTONE: "to a tombstone"}
    down = ", ".join(f"{n:,} {told[to]}" for to, n in counts.items() if n)
    asked = all(step.reason == _ASKED for step in steps)
    over = any(step.reason.startswith("the tier") for step in steps)
    return f"{down}: {_ASKED if asked else 'low activity and budgets' if over else 'low activity'}"


def _first(steps: Iterator[_Step], limit: int | None) -> Iterator[_Step]:
    for place, step in enumerate(steps):
        if limit is not None and place >= limit:
            return
        yield step


def _days(profile: Profile) -> list[float]:
    """When a memory was created and recorded: what was said a year ago and stored today is new. [] if undated."""
    if profile.created is None:
        return []
    recorded = profile.meta.get("recorded_at")
    moment = when(recorded) if isinstance(recorded, str) else None
    return [profile.created / _MICROSECONDS, *([day_of(moment)] if moment else [])]


@cache
def _day(text: str) -> float | None:
    """An ISO day as days since 1970; None for what is none."""
    try:
        return float(date.fromisoformat(text[:10]).toordinal() - _EPOCH)
    except ValueError:
        return None
