"""The vault as upkeep looks at it: looked up from the index, the folder and Git when it is asked for, and once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from atlas import authors, history, usage
from atlas import config as settings
from atlas.catalog import Catalog
from atlas.keys import key
from atlas.live import Filters
from atlas.memory import WHOLE_VAULT, Use
from atlas.planning import View
from atlas.profiles import Profile, links, profiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atlas.config import Config
    from atlas.git import Repository
    from atlas.snapshot import Index


def outline(config: Config, repository: Repository, catalog: Catalog, read: Callable[[str], bytes | None]) -> View:
    """The part of the vault that a catalog knows, for a plan that is made while the index is open."""
    return View(
        config=config,
        cards=(),
        profiles=cache(catalog.profiles),
        read=read,
        removed=lambda _: False,
        busy=frozenset(repository.uncommitted()).__contains__,
        now=settings.now(),
        usage=dict,
        ours=cache(lambda: authors.ours(repository)),
        vectors=lambda paths: np.zeros((len(paths), 0), np.float32),
    )


class Overview:
    """The vault, looked at anew whenever it has changed. `read` gives a file as it is, None if there is none."""

    def __init__(
        self,
        config: Config,
        index: Index,
        repository: Repository,
        read: Callable[[str], bytes | None],
        *,
        unasked: bool = False,
        dry_run: bool = False,
    ) -> None:
        self._config, self._index, self._repository, self._read = config, index, repository, read
        self._unasked, self._dry_run = unasked, dry_run
        self._kept: tuple[str, View] | None = None
        self._waits = False

    def state(self) -> str:
        """What stands for the vault as it is now: what the index holds."""
        with self._index.reader() as reader:
            return reader.generation

    def view(self) -> View:
        """What a planner may see, of the vault as it is now."""
        state = f"{self.state()} {self._repository.head()}"
        if self._kept is None or self._kept[0] != state:
            self._kept = state, self._made()
        # Git is asked each time: a note that somebody is editing must not be overwritten.
        edited, self._waits = frozenset(self._repository.uncommitted()), False

        def busy(path: str) -> bool:
            self._waits = self._waits or path in edited
            return path in edited

        return replace(self._kept[1], busy=busy, now=settings.now())

    def waits(self) -> bool:
        """Whether a planner has left out, since the last view, what has uncommitted edits."""
        return self._waits

    def _made(self) -> View:
        with self._index.reader() as reader:
            cards = tuple(Catalog(reader.con, WHOLE_VAULT).cards())
        return View(
            config=self._config,
            cards=cards,
            profiles=cache(self._profiles),
            read=self._read,
            removed=self._removed(),
            busy=lambda _: True,
            now=settings.now(),
            usage=cache(self._usage),
            ours=cache(self._ours),
            vectors=self._vectors,
            unasked=self._unasked,
            ignored=cache(lambda: self._repository.ignored([card.path for card in cards])),
            blobs=lambda ids: dict(self._repository.blobs(ids)),
            dry_run=self._dry_run,
            links=cache(self._links),
        )

    def _removed(self) -> Callable[[str], bool]:
        """Git is asked once for a folder: asked for each of 180 pages of clusters, it took four seconds."""
        touched = cache(partial(history.touched, self._repository))
        return lambda path: path in touched(path.rpartition("/")[0])

    def _profiles(self) -> tuple[Profile, ...]:
        with self._index.reader() as reader:
            return profiles(reader.con, WHOLE_VAULT)

    def _links(self) -> Sequence[tuple[str, str]]:
        with self._index.reader() as reader:
            return links(reader.con)

    def _usage(self) -> Mapping[str, Use]:
        return usage.known(self._config)

    def _ours(self) -> Collection[str]:
        return authors.ours(self._repository)

    def _vectors(self, paths: Sequence[str]) -> NDArray[np.float32]:
        """The mean of the vectors of a memory's passages, of unit length; zeros for one that has none yet."""
        with self._index.reader() as reader:
            live, matrix = reader.live(Filters(WHOLE_VAULT)), reader.matrix
            if matrix is None:
                return np.zeros((len(paths), 0), np.float32)
            known = live.vec < len(matrix)
            total = np.zeros((len(live.paths), matrix.shape[1]), np.float32)
            np.add.at(total, live.field.note[known], matrix[live.vec[known]])
        place = {number: row for row, number in enumerate(live.paths.tolist())}
        total = np.vstack([total, np.zeros((1, total.shape[1]), np.float32)])
        found = total[[place.get(key(path), len(total) - 1) for path in paths]]
        length = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.where(length > 0, length, 1), np.float32)
