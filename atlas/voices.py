"""The rankers that speak of a few notes, heard one after the other: names, time, what is outdated, links.

Each costs nothing that the query and the vault do not call for: what is loaded is kept for the next query with the same
filters, and a vault without links or periods never loads any.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from atlas import config, links, names, times
from atlas.memory import HUB
from atlas.rank import Voice
from atlas.timewords import spans

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb
    from numpy.typing import NDArray

    from atlas.live import Filters
    from atlas.rank import Scores
    from atlas.rows import Rows

T = TypeVar("T")

_KEPT = 8
#: A page of a cluster, and a memory of which the label alone is left (its metadata as `json.dumps` writes it).
_ASIDE = """n.kind = ? OR contains(n.meta, '"rung": "L0"')"""


class Voices:
    """The rankers of one state of the index. `paths` are always the path keys of the live notes, by ordinal."""

    def __init__(self, con: duckdb.DuckDBPyConnection, rows: Rows) -> None:
        self._con, self._rows = con, rows
        self._linked: bool | None = None
        self._set_aside: bool | None = None
        self._asides: OrderedDict[Filters, Voice] = OrderedDict()
        self._ends = False
        self._graphs: OrderedDict[Filters, links.Graph] = OrderedDict()
        self._dates: OrderedDict[Filters, times.Dates] = OrderedDict()

    def hear(
        self, text: str, filters: Filters, paths: NDArray[np.int64], scores: Scores, clock: float | None = None
    ) -> tuple[list[Voice], tuple[str, ...]]:
        """What they all say of the live notes, and the paths of those that share a name the query uses.

        `clock`, in microseconds since 1970, is when a note has to hold not to be outdated; the present, if not given.
        """
        named = names.named(self._con, self._rows, text, filters, paths)
        found = [
            named.voice if named else None,
            self._time(text, filters, paths),
            *(self._periods(filters, paths, scores, clock) if filters.valid_at is None else ()),
            links.voice(self._graph(filters, paths), scores) if self._known()[0] else None,
            self._aside(filters, paths),
        ]
        return [voice for voice in found if voice is not None], named.ambiguous if named else ()

    def linked(self, filters: Filters, paths: NDArray[np.int64], ordinal: int) -> list[int]:
        """The ordinals of the notes at the other ends of one's links."""
        if not self._known()[0]:
            return []
        graph = self._graph(filters, paths)
        return [int(n) for n in np.unique(graph.there[graph.here == ordinal])]

    def _time(self, text: str, filters: Filters, paths: NDArray[np.int64]) -> Voice | None:
        named = spans(text, config.now())
        return times.voice(named, self._dated(filters, paths)) if named else None

    def _periods(
        self, filters: Filters, paths: NDArray[np.int64], scores: Scores, clock: float | None
    ) -> list[Voice | None]:
        """Notes that no longer hold, and those that took their place. With `valid_at` it was chosen what holds."""
        linked, ends = self._known()
        if not linked and not ends:
            return []
        now = config.now().timestamp() * 1e6 if clock is None else clock
        over = times.over(self._dated(filters, paths), now) if ends else np.zeros(0, np.intp)
        if not linked:
            return [times.outdated(over)]
        graph = self._graph(filters, paths)
        return [times.outdated(np.union1d(over, graph.replaced)), times.successors(scores, graph.old, graph.new)]

    def _aside(self, filters: Filters, paths: NDArray[np.int64]) -> Voice | None:
        """Says of pages of clusters that they are no memories, and, half as loud, of labels that they are no more.

        A page has the name of what it is about, a label few words: both hold a large share of many a question.
        """
        if self._set_aside is None:
            found = self._con.execute(f"SELECT 1 FROM notes n WHERE {_ASIDE} LIMIT 1", [HUB]).fetchall()
            self._set_aside = bool(found)
        if not self._set_aside:
            return None
        voice = _kept(self._asides, filters, lambda: self._load_asides(filters, paths))
        return voice if len(voice.note) else None

    def _load_asides(self, filters: Filters, paths: NDArray[np.int64]) -> Voice:
        where, values = filters.sql()
        query = f"SELECT l.path_key, n.kind = ? AS page FROM {filters.table} l JOIN notes n USING (note) WHERE {where}"
        found = self._con.execute(f"{query} AND ({_ASIDE})", [HUB, *values, HUB]).fetchnumpy()
        order = np.argsort(found["path_key"])
        keys, page = found["path_key"][order], found["page"][order]
        places = np.flatnonzero(np.isin(paths, keys)).astype(np.int32)
        loud = page[np.searchsorted(keys, paths[places])]
        return Voice("aside", places, np.where(loud, 1.0, 0.5).astype(np.float32))

    def _known(self) -> tuple[bool, bool]:
        """Whether any note links to anything, and whether any says until when it holds."""
        if self._linked is None:
            # Two questions: one with both takes DuckDB twice as long.
            self._linked = bool(self._con.execute("SELECT 1 FROM links LIMIT 1").fetchall())
            self._ends = bool(self._con.execute("SELECT 1 FROM notes WHERE valid_to IS NOT NULL LIMIT 1").fetchall())
        return self._linked, self._ends

    def _graph(self, filters: Filters, paths: NDArray[np.int64]) -> links.Graph:
        return _kept(self._graphs, filters, lambda: links.load(self._con, filters, paths))

    def _dated(self, filters: Filters, paths: NDArray[np.int64]) -> times.Dates:
        return _kept(self._dates, filters, lambda: times.load(self._con, filters, paths))


def _kept(cache: OrderedDict[Filters, T], filters: Filters, make: Callable[[], T]) -> T:
    """The value of these filters, made if it is not there; the one not asked for the longest goes first."""
    if filters not in cache:
        cache[filters] = make()
        while len(cache) > _KEPT:
            cache.popitem(last=False)
    cache.move_to_end(filters)
    return cache[filters]
