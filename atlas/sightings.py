"""When to look again, and what to believe at the first sight. Pure: the time is passed in.

An editor that saves takes the file away for a moment, empties it, or writes half of it. What a listener sees in that
moment is no news; what it still sees a second later is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from atlas.listing import Diff
from atlas.survey import Fields, Survey

#: Seconds after which what was seen once and is still so is believed.
PATIENCE = 1.5


class Debounce:
    """A look is due after `quiet` seconds without an event, and `most` seconds after the first one at the latest.

    While others are `busy` with the index, they bring it up to date themselves: then `most` seconds is soon enough.
    """

    def __init__(self, quiet: float, most: float) -> None:
        self._quiet, self._most, self.busy = quiet, most, False
        self.first = self._last = math.inf

    def poke(self, now: float) -> None:
        """Something happened."""
        self.first = min(self.first, now)
        self._last = now

    @property
    def due(self) -> float:
        """When to look; infinity if nothing happened."""
        return min(self._last + (self._most if self.busy else self._quiet), self.first + self._most)

    def clear(self) -> None:
        """A look begins."""
        self.first = self._last = math.inf


class Doubt(NamedTuple):
    """What a path looks like, and since when."""

    what: str
    since: float


class Sightings:
    """What was seen once and is not believed yet: a note that is gone, empty, or half-written.

    `deleted` says which of some missing paths Git has deleted, `half_written` whether a file is just being written.
    """

    def __init__(
        self, deleted: Callable[[Sequence[str]], Collection[str]], half_written: Callable[[str], bool]
    ) -> None:
        self._deleted, self._half_written = deleted, half_written
        self._doubts: dict[str, Doubt] = {}
        self.now = 0.0

    @property
    def next(self) -> float:
        """When the first of them may be believed; infinity without any."""
        return min((doubt.since for doubt in self._doubts.values()), default=math.inf) + PATIENCE

    def sift(
        self, look: Survey, known: Mapping[str, Fields], changes: Diff, unreadable: Callable[[], frozenset[str]]
    ) -> Diff:
        """The changes without those in doubt, which are held. A `listing.Hold`, as of `self.now`."""
        seen = dict(self._seen(look, known, changes, unreadable))
        missing = [path for path, what in seen.items() if what == "missing"]
        certain = set(self._deleted(missing)) if missing else set()
        if sum(1 for path in self._doubts if path not in seen) > 1:
            self._doubts = {}  # a folder is being put back: while some of its notes return, the others may
        doubts = {path: self._doubt(path, what) for path, what in seen.items() if path not in certain}
        self._doubts = {path: doubt for path, doubt in doubts.items() if self.now < doubt.since + PATIENCE}
        return replace(
            changes,
            to_read={path: stat for path, stat in changes.to_read.items() if path not in self._doubts},
            gone=tuple(path for path in changes.gone if path not in self._doubts),
            held=(*changes.held, *self._doubts),
        )

    def _doubt(self, path: str, what: str) -> Doubt:
        before = self._doubts.get(path)
        return before if before is not None and before.what == what else Doubt(what, self.now)

    def _seen(
        self, look: Survey, known: Mapping[str, Fields], changes: Diff, unreadable: Callable[[], frozenset[str]]
    ) -> Iterator[tuple[str, str]]:
        """Each path that may be in the middle of a save, and what it looks like."""
        # A file renamed keeps its inode, size and time: then it is not missing but elsewhere, and that at once.
        moved = {_same(stat) for path, stat in changes.to_read.items() if path not in known}
        yield from ((path, "missing") for path in changes.gone if _same(known[path]) not in moved)
        saved = [path for path in changes.to_read if path in known]
        for path in saved:
            if look.files[path][0] == 0:
                if known[path][0]:
                    yield path, "empty"
            elif self._half_written(path) and path not in unreadable():
                yield path, "half-written"


def _same(stat: Fields) -> tuple[int, int, int]:
    size, mtime, _, inode = stat
    return size, mtime, inode
