"""The fine mode: rankers a fast search has no time for. None of this is loaded before somebody asks for it.

A ranker of this mode is a callable (see `search.Ranker`) that gets the reader and the look under way, and gives voices.
One that needs no index, as a model that reads a few passages, goes last: it sees what all others said.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from atlas import guide, models, rank, tree
from atlas.errors import Unavailable
from atlas.keys import parted
from atlas.live import Filters, Live
from atlas.memory import CLUSTER_PREFIX
from atlas.search import Look, Ranker, Reader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atlas.bm25 import Field, Floats, Places
    from atlas.config import Config
    from atlas.models.writing import Writer

T = TypeVar("T")


class Fine:
    """What one engine needs for its fine searches. `said` gathers what a person should know of them."""

    def __init__(self, config: Config) -> None:
        self.said: list[str] = []
        self._model = models.writer(config)

    def search(self, query: str, look: Callable[[Sequence[Ranker]], T]) -> T:
        """The answer to a query. `look` opens the index, ranks with these rankers too, and closes it.

        A model is asked while the index is closed, since others wait for it; what it chose is ranked by another look.
        """
        beam = Beam()
        found = look([beam])
        chosen = self._chosen(self._model, query, beam.seen) if self._model and beam.seen else None
        return found if chosen is None else look([Beam(chosen)])

    def _chosen(self, model: Writer, query: str, seen: Seen) -> Collection[int] | None:
        """The keys of the notes the model went to, or None where the beam's word stands."""
        try:
            notes = guide.walk(seen.grown, seen.heard, query, model.complete)
        except Unavailable as err:
            self._say(f"{err} Until then, no model goes through the tree.")
            return None
        return frozenset(seen.paths[seen.grown.note[notes]].tolist()) if len(notes) else None

    def _say(self, sentence: str) -> None:
        if sentence not in self.said:
            self.said.append(sentence)


@dataclass(frozen=True, slots=True)
class Seen:
    """A tree as one look saw it: what its nodes said, and the key of the path of each note."""

    grown: tree.Tree
    heard: tree.Heard
    paths: NDArray[np.int64]


class Beam:
    """The ranker of the tree: by embedding and words, or to the notes with these keys, where something else chose."""

    def __init__(self, chosen: Collection[int] | None = None) -> None:
        self.seen: Seen | None = None
        self._chosen = chosen

    def __call__(self, reader: Reader, look: Look) -> Sequence[rank.Voice]:
        """The voice of the tree over the notes of this look."""
        live = look.live
        grown = tree_of(reader, look.filters, live)
        mean = None if look.cosine is None else _lengths(grown, reader, live)
        heard = tree.hear(grown, look.terms, look.postings, look.cosine, mean)
        self.seen = Seen(grown, heard, live.paths)
        reached, ways = tree.descend(grown, heard) if self._chosen is None else self._given(grown, live)
        return [tree.voice(grown, heard, reached, ways, _alone(live.field))]

    def _given(self, grown: tree.Tree, live: Live) -> tuple[Places, Floats]:
        chosen = np.isin(live.paths, list(self._chosen or ()))
        reached = np.flatnonzero(grown.kind == tree.NOTE)
        reached = reached[chosen[grown.note[reached]]]
        return reached, np.ones(len(reached), np.float32)


def tree_of(reader: Reader, filters: Filters, live: Live) -> tree.Tree:
    """The tree over these passages; grown once, and kept beside them."""
    found: tree.Tree | None = live.kept.get("tree")
    if found is None:
        found = live.kept["tree"] = _grown(reader, filters, live)
    return found


def _grown(reader: Reader, filters: Filters, live: Live) -> tree.Tree:
    where, values = filters.sql()
    source = f"FROM {filters.table} l JOIN notes n USING (note)"
    rows = reader.con.execute(f"SELECT l.path_key, l.path, n.label, n.tags {source} WHERE {where}", values).fetchall()
    named = {key: rest for key, *rest in rows}
    under = dict(
        reader.con.execute(
            f"SELECT c.chunk, c.heading {source} JOIN chunks c USING (note) WHERE c.heading <> '' AND {where}", values
        ).fetchall()
    )
    notes = [named[key] for key in live.paths.tolist()]
    return tree.grow(
        [tuple(path.split("/")[:-1]) for path, _, _ in notes],
        [_clusters(tags) for _, _, tags in notes],
        [label or PurePosixPath(path).stem for path, label, _ in notes],
        [tuple(under[chunk].split(" > ")) if chunk in under else () for chunk in live.chunk.tolist()],
        live.field.note_starts,
    )


def _clusters(tags: str) -> list[tuple[str, ...]]:
    slugs = [tag.removeprefix(CLUSTER_PREFIX) for tag in parted(tags) if tag.startswith(CLUSTER_PREFIX)]
    return [tuple(slug.split("/")) for slug in slugs]


def _lengths(grown: tree.Tree, reader: Reader, live: Live) -> Floats | None:
    """The lengths of the tree's mean vectors, kept until another matrix answers."""
    matrix, found = live.kept.get("lengths", (None, None))
    if reader.matrix is None:
        return None
    if matrix is not reader.matrix:
        found = tree.lengths(grown, reader.matrix, live.vec)
        live.kept["lengths"] = (reader.matrix, found)
    made: Floats | None = found
    return made


def _alone(field: Field) -> NDArray[np.bool_]:
    """For each note, whether it is the only one of its thread."""
    thread = field.thread[field.note_starts]
    alone: NDArray[np.bool_] = np.bincount(thread)[thread] == 1
    return alone
