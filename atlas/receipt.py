"""What a purge says of itself: what was done, each place as gone, found or not proven. No word of what is gone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

FOLDER = "receipts"
FORMAT, VERSION = "atlas-purge", 1


class State(StrEnum):
    """What is known of a place: looked at and without it, looked at and with it, or out of reach."""

    GONE = "gone"
    FOUND = "found"
    NOT_PROVEN = "not proven"


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere a memory may be, and what is known of it there."""

    name: str
    state: State
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """Another note that says some of the same: so many runs of words; `derived` if it says it comes from the memory."""

    path: str
    runs: int
    derived: bool = False


@dataclass(frozen=True, slots=True)
class Moved:
    """A ref that names another object now; `now` is "" where nothing was left of what it named."""

    ref: str
    was: str
    now: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """A purge, done or (`done` is false) only planned.

    `digest` stands for the ids in messages and file names; `blobs` are Git's ids of the versions, by which a clone can
    be asked. `runs` is how many runs of words were looked for, `shared` how many of them other notes say too.
    """

    ids: tuple[str, ...]
    digest: str
    when: str
    by: str
    done: bool
    blobs: tuple[str, ...]
    commits: int
    refs: tuple[Moved, ...]
    stashes: int
    signatures: int
    runs: int
    shared: int
    places: tuple[Place, ...] = ()
    quoted: tuple[Quote, ...] = ()
    paths: tuple[str, ...] = field(default=(), compare=False)
    file: str = field(default="", compare=False)

    @property
    def clean(self) -> bool:
        """Whether no place that could be looked at still holds it."""
        return self.done and not any(place.state == State.FOUND for place in self.places)

    def count(self, prefix: str) -> int:
        """How many refs of a kind move, such as "refs/tags/"."""
        return sum(moved.ref.startswith(prefix) for moved in self.refs)


def dump(receipt: Receipt) -> bytes:
    """The receipt as a file: JSON without the paths, whose names say what the memory was called."""
    facts = {key: value for key, value in asdict(receipt).items() if key not in ("paths", "file")}
    return (json.dumps({"format": FORMAT, "version": VERSION, **facts}, ensure_ascii=False, indent=1) + "\n").encode()


def gone_or(found: Sequence[str], name: str, looked: str, advice: str = "") -> Place:
    """The place as looked at: gone, or found, and where."""
    if not found:
        return Place(name, State.GONE, looked)
    shown = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
    return Place(name, State.FOUND, f"{shown}{f': {advice}' if advice else ''}")


def elsewhere(remotes: Mapping[str, str]) -> list[Place]:
    """The places that nobody here can look into, each with what to do. `remotes`: name → URL and how to replace it."""
    held = [
        ("clones made earlier", "each may hold it: `git cat-file -e BLOB` tells, with the ids in `blobs`; clone anew"),
        ("backups and copies", "snapshots, synced folders, exports, vaults that mount this one: remove it there too"),
        ("running programs", "an agent, editor or watcher that read it may hold it in memory: restart it"),
        ("the disk", "a file system's journal, its snapshots and the spare cells of an SSD keep what was deleted"),
    ]  # fmt: skip
    found = [Place(f"remote {name}", State.NOT_PROVEN, advice) for name, advice in remotes.items()]
    return found + [Place(name, State.NOT_PROVEN, advice) for name, advice in held]


def plain(receipt: Receipt) -> dict[str, Any]:
    """The receipt as a mapping, for JSON."""
    return {**asdict(receipt), "clean": receipt.clean}
