"""Upkeep: what keeps a vault in order, each task one commit. Planners only; the engine's hand writes.

    due(state, …) ──► plan(view) ──► changes, record ──► the hand        one task after the other, within a time limit

A task plans on the vault as it is then, with no lock held, and its changes name the bytes they were planned on: a
memory that somebody edits meanwhile is left out, not overwritten.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from atlas import communities, compaction, consolidation, duplicates, forgetting, hubs, revival, summaries, usage, vault
from atlas.errors import Conflict, Unavailable
from atlas.memory import Applied, Change, Record
from atlas.planning import Plan, Planner, Row, View

Apply = Callable[[Sequence[Change], Record], Applied]


@dataclass(frozen=True, slots=True)
class Ran:
    """One task that was due: its commit ("" in a dry run, or when nothing was committed), the files it changed.

    `rows` is the table of its plan. `stops`: why nothing was done before a person says yes.
    """

    task: str
    commit: str
    changed: tuple[str, ...]
    note: str = ""
    rows: tuple[Row, ...] = ()
    stops: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """A planner, and when it is due: when the index has changed since it had nothing to do; `daily`, on a new day too.

    `always` asks it at each run: it looks at what the index does not know.
    """

    plan: Planner
    daily: bool = False
    always: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """How a run was asked for: `all_tasks`, whether due or not; `yes`, also what would stop and ask."""

    all_tasks: bool = False
    dry_run: bool = False
    yes: bool = False
    seconds: float = 30.0


class Look(Protocol):
    """The vault, looked at anew for each task."""

    def state(self) -> str:
        """What stands for the vault as it is now."""
        ...

    def view(self) -> View:
        """What a planner may see of it."""
        ...

    def waits(self) -> bool:
        """Whether a planner has left out, since the last view, what has uncommitted edits."""
        ...


#: Every task by its name, in the order they run.
TASKS: Mapping[str, Task] = {
    "usage": Task(usage.plan, always=True),
    "revive": Task(revival.plan, daily=True),
    "drift": Task(summaries.plan),
    "consolidate": Task(consolidation.plan, daily=True),
    "compact": Task(compaction.plan, daily=True),
    "forget": Task(forgetting.upkeep, daily=True),
    "communities": Task(communities.plan),
    "clusters": Task(hubs.plan),
    "duplicates": Task(duplicates.plan),
}


class Log:
    """When nothing was left to do: which state of the index each task last saw. Derived; losing it costs one look."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "upkeep.json"

    def seen(self, task: str) -> str:
        """The state in which this task had nothing to do, "" if unknown."""
        return self._read().get(task, "")

    def note(self, task: str, state: str) -> None:
        """Keep that this task has nothing to do in this state."""
        vault.write_elsewhere(self._file, json.dumps({**self._read(), task: state}).encode())

    def _read(self) -> dict[str, str]:
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One upkeep at a time; raises Unavailable if another runs."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "upkeep.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise Unavailable("Upkeep is running in another process: it is done when that has ended.") from None
    try:
        yield
    finally:
        lock.release()


def run(look: Look, apply: Apply, log: Log, asked: Asked, now: datetime) -> list[Ran]:
    """Run the tasks that are due; what each did.

    A task is due unless it had nothing to do in this very state. After `asked.seconds` no further task is begun.
    """
    ran: list[Ran] = []
    ends = time.monotonic() + asked.seconds
    seen = look.state()  # once, and again after a change: to look at 10,000 files for every task takes half a second
    for name, task in TASKS.items():
        state = seen + (f" {now:%Y-%m-%d}" if task.daily else "")
        if not (asked.all_tasks or task.always) and log.seen(name) == state:
            continue
        if time.monotonic() > ends:
            ran.append(Ran(name, "", (), f"not begun: the time limit of {asked.seconds:g} s was over"))
            continue
        plan = task.plan(look.view())
        if plan.changes or plan.stops or plan.notes:
            ran.append(_done(name, plan, apply, asked))
            seen = look.state()
        idle = not plan.changes and not plan.stops and not look.waits()
        if idle and not asked.dry_run and not task.always:
            log.note(name, state)
    return ran


def _done(name: str, plan: Plan, apply: Apply, asked: Asked) -> Ran:
    paths = tuple(change.path for change in plan.changes)
    note = " ".join(plan.notes)
    if plan.stops and not asked.yes:
        return Ran(name, "", (), note, plan.rows, plan.stops)
    if asked.dry_run or not paths:
        return Ran(name, "", paths, note, plan.rows)
    done, skipped = applied(plan, apply)
    said = [note, done.note, *([f"left out, edited meanwhile: {', '.join(skipped)}"] if skipped else [])]
    return Ran(name, done.commit, done.paths, " ".join(filter(None, said)), plan.rows)


def applied(plan: Plan, apply: Apply) -> tuple[Applied, tuple[str, ...]]:
    """Make a plan's changes in one commit; and the files left out, since somebody edited them meanwhile.

    What belongs together with such a file is left out with it.
    """
    left = dict(enumerate(plan.changes))
    skipped: list[str] = []
    while left:
        try:
            return apply(list(left.values()), plan.record), tuple(skipped)
        except Conflict as err:
            torn = {place for place, change in left.items() if change.path == err.path}
            if not torn:
                raise
            skipped.append(err.path)
            torn = _together(torn, plan.groups)
            left = {place: change for place, change in left.items() if place not in torn}
    return Applied(()), tuple(skipped)


def _together(torn: set[int], groups: Sequence[tuple[int, ...]]) -> set[int]:
    """These places and all that belong together with any of them, by however many groups."""
    while more := {place for group in groups if torn & set(group) for place in group} - torn:
        torn = torn | more
    return torn
