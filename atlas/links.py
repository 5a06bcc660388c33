"""What links say of notes: those one or two steps from the best hits are lifted.

Links are kept as the handles of what they name, and resolved for all live notes at once by one query: a link without a
folder means the note of that file name wherever it lies, or one of that title or alias; with folders, the path must end
so. Only live notes are in the graph, so nothing outside the filters is reached, and nothing is reached through it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from atlas.rank import Voice

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from atlas.rank import Scores
    from atlas.search import Filters

    Places = NDArray[np.intp]
    Floats = NDArray[np.float32]

#: A name that so many notes share says nothing of any of them; every link by it to each would be millions.
_CROWD = 20
#: So many of the best notes speak through their links.
_HITS = 10

_EDGES = """
WITH live AS (SELECT l.path_key, l.note FROM {table} l JOIN notes n USING (note) WHERE {where}),
known AS (
  SELECT handle, path_key FROM places JOIN live USING (path_key) SEMI JOIN links USING (handle)
  UNION SELECT handle, path_key FROM handles JOIN live USING (note) SEMI JOIN links USING (handle)),
telling AS (SELECT * FROM known QUALIFY count(*) OVER (PARTITION BY handle) <= {crowd})
SELECT DISTINCT links.kind, live.path_key AS here, telling.path_key AS there
FROM links JOIN live USING (note) JOIN telling USING (handle) WHERE here <> there
UNION ALL SELECT 'replaced', path_key, path_key FROM live SEMI JOIN (FROM links WHERE kind = 'successor') USING (note)
"""


@dataclass(frozen=True, slots=True)
class Graph:
    """The links among live notes, by ordinal. `one`, `two` are their ends, each pair once; `notes` counts the notes.

    `replaced`: the notes whose metadata says that something has taken their place; `old` and `new`: each with that,
    where it is live too.
    """

    one: Places
    two: Places
    old: Places
    new: Places
    replaced: Places
    notes: int


def load(con: duckdb.DuckDBPyConnection, filters: Filters, paths: NDArray[np.int64]) -> Graph:
    """The links among the notes with these path keys, which the filters let through."""
    where, values = filters.sql()
    query = _EDGES.format(table=filters.table, where=where, crowd=_CROWD)
    found = con.execute(query, values).fetchnumpy()
    order = np.argsort(paths)
    ends = [order[np.minimum(np.searchsorted(paths, found[side], sorter=order), len(paths) - 1)]
            for side in ("here", "there")]  # fmt: skip
    # A note without passages is in the listing and can be no hit.
    known = (paths[ends[0]] == found["here"]) & (paths[ends[1]] == found["there"])
    link = known & (found["kind"] == "link")
    after = known & (found["kind"] == "successor")
    replaced = ends[0][known & (found["kind"] == "replaced")]
    pairs = np.unique(np.sort(np.stack([ends[0][link], ends[1][link]], axis=1), axis=1), axis=0)
    return Graph(pairs[:, 0], pairs[:, 1], ends[0][after], ends[1][after], replaced, len(paths))


def voice(graph: Graph, scores: Scores) -> Voice | None:
    """What the links of the best hits say of notes; None if they have none.

    A hit gives its share of the best score; a step divides it by the square root of both ends' numbers of links, so
    hubs neither shout nor hear everything; the second step counts half. Nothing comes back to where it began.
    """
    best = _best(scores)
    if not len(graph.one) or not len(best):
        return None
    given = np.zeros(graph.notes, np.float32)
    given[best] = scores.note[best] / scores.note[best].max()
    here, there = np.concatenate([graph.one, graph.two]), np.concatenate([graph.two, graph.one])
    degree = np.bincount(here, minlength=graph.notes)
    toll = 1 / np.sqrt(degree[here] * degree[there])
    near = np.bincount(there, toll * given[here], graph.notes)
    echo = np.bincount(here, toll * toll, graph.notes) * given
    far = np.bincount(there, toll * near[here], graph.notes) - echo
    value = np.minimum(np.maximum(near, far / 2), 1).astype(np.float32)
    heard = np.flatnonzero(value > 1e-6)
    return Voice("links", heard.astype(np.int32), value[heard]) if len(heard) else None


def _best(scores: Scores) -> Places:
    """The places of the best notes, as far as anything speaks for them."""
    found = np.flatnonzero((scores.note > 0) if scores.found is None else (scores.note > 0) & scores.found)
    if len(found) > _HITS:
        found = found[np.argsort(-scores.note[found], kind="stable")[:_HITS]]
    return found
