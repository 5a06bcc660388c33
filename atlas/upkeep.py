"""Upkeep: what keeps a vault in order, each task one commit. Planners only; the engine's hand writes.

    due(state, …) ──► plan(view) ──► changes, record ──► the hand        one task after the other, within a time limit

A task plans on the vault as it is then, and its changes name the bytes they were planned on: a memory that somebody
edits meanwhile is left out, not overwritten.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from atlas import hubs, vault
from atlas.catalog import Card
from atlas.errors import Conflict, Unavailable
from atlas.memory import Applied, Change, Record


@dataclass(frozen=True, slots=True)
class View:
    """What a planner may look at: every memory's card, files, Git's past, the clock.

    `removed`: whether history holds a file of this path that is gone; `busy`: whether a file has uncommitted edits.
    """

    cards: tuple[Card, ...]
    read: Callable[[str], bytes | None]
    removed: Callable[[str], bool]
    busy: Callable[[str], bool]
    now: datetime


@dataclass(frozen=True, slots=True)
class Ran:
    """One task that was due: its commit ("" in a dry run, or when nothing was committed), the files it changed."""

    task: str
    commit: str
    changed: tuple[str, ...]
    note: str = ""


def _hub_notes(view: View) -> tuple[list[Change], Record]:
    changes = hubs.plan(view.cards, view.read, removed=view.removed, busy=view.busy)
    made = sum(change.before is None for change in changes)
    subject = f"Bring {len(changes)} hub notes up to date" if made < len(changes) else f"Add {made} hub notes"
    return changes, Record("clusters", subject.replace(" 1 hub notes", " 1 hub note"), "membership changed")


#: Every task by its name, in the order they run.
TASKS: Mapping[str, Callable[[View], tuple[list[Change], Record]]] = {"clusters": _hub_notes}


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


def run(
    look: Callable[[], tuple[View, str]],
    apply: Callable[[Sequence[Change], Record], Applied],
    log: Log,
    *,
    all_tasks: bool,
    dry_run: bool,
    seconds: float,
) -> list[Ran]:
    """Run the tasks that are due; what each did. `look` gives the vault as it is and what stands for that state.

    A task is due unless it had nothing to do in this very state; `all_tasks` asks it all the same. After `seconds` no
    further task is begun.
    """
    ran: list[Ran] = []
    ends = time.monotonic() + seconds
    for name, plan in TASKS.items():
        if time.monotonic() > ends:
            ran.append(Ran(name, "", (), f"not begun: the time limit of {seconds:g} s was over"))
            continue
        view, state = look()
        if not all_tasks and log.seen(name) == state:
            continue
        changes, record = plan(view)
        if not changes:
            if not dry_run:
                log.note(name, state)
        elif dry_run:
            ran.append(Ran(name, "", tuple(change.path for change in changes)))
        else:
            ran.append(_applied(name, changes, record, apply))
    return ran


def _applied(
    name: str, changes: Sequence[Change], record: Record, apply: Callable[[Sequence[Change], Record], Applied]
) -> Ran:
    """Make the changes; those of files that somebody edits meanwhile are left out."""
    left = list(changes)
    skipped: list[str] = []
    while left:
        try:
            done = apply(left, record)
        except Conflict as err:
            skipped.append(err.path)
            left = [change for change in left if change.path != err.path]
            continue
        note = " ".join([done.note, *([f"left out, edited meanwhile: {', '.join(skipped)}"] if skipped else [])])
        return Ran(name, done.commit, done.paths, note.strip())
    return Ran(name, "", (), f"left out, edited meanwhile: {', '.join(skipped)}")
