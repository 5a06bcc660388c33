"""What a planner of upkeep looks at, and what it returns. A plan changes nothing: the engine's hand writes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from atlas import ladder
from atlas.catalog import Card
from atlas.config import Config
from atlas.memory import Change, Record, Use
from atlas.profiles import Profile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class View:
    """The vault as a planner may see it. What is a call is looked up when it is called, once.

    `removed`: whether history holds a file of this path that is gone; `busy`: whether a file has uncommitted edits.
    `usage` is by memory id. `ours` are the paths of the notes that Atlas alone wrote. `vectors` has a unit vector per
    path, float32[n, d], with d = 0 where no model answers. `links` are pairs of paths, from and to; `ignored` the paths
    that Git was told to ignore; `blobs` gives what Git holds under these ids. `unasked`: nobody asked for this run, a
    hook or the watcher began it; `dry_run`: nothing of it will be done, so nothing is to be kept.
    """

    config: Config
    cards: tuple[Card, ...]
    profiles: Callable[[], tuple[Profile, ...]]
    read: Callable[[str], bytes | None]
    removed: Callable[[str], bool]
    busy: Callable[[str], bool]
    now: datetime
    usage: Callable[[], Mapping[str, Use]]
    ours: Callable[[], Collection[str]]
    vectors: Callable[[Sequence[str]], NDArray[np.float32]]
    unasked: bool = False
    dry_run: bool = False
    links: Callable[[], Sequence[tuple[str, str]]] = tuple
    ignored: Callable[[], Collection[str]] = frozenset
    blobs: Callable[[Sequence[str]], Mapping[str, bytes]] = lambda _: {}

    def mine(self, path: str) -> bool:
        """Whether upkeep may change the words of a note: Atlas alone wrote it, or its folder is opted in."""
        home = ladder.home(path)
        return path in self.ours() or any(home.startswith(folder) for folder in self.config.forget_folders)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table that a dry run prints: what becomes of a memory, why, and what that was reckoned from."""

    id: str
    path: str
    was: str
    to: str
    reason: str
    inputs: Mapping[str, float | str] = field(default_factory=dict)


#: The record of a plan without changes.
NOTHING = Record("upkeep", "Upkeep")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a task would do, as one commit.

    `groups` are the places (in `changes`) of what is done together or not at all. `stops` says why a person has to be
    asked first, `notes` what a person should know.
    """

    changes: tuple[Change, ...] = ()
    record: Record = NOTHING
    rows: tuple[Row, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    stops: str = ""
    notes: tuple[str, ...] = ()


Planner = Callable[[View], Plan]
