"""What links say of notes: those one or two steps from the best hits are lifted.

Links are kept as the handles of what they name, and resolved for all live notes at once by one query: a link without a
folder means the note of that file name wherever it lies, or one of that title or alias; with folders, the path must end
so. Only live notes are in the graph, so nothing outside the filters is reached, and nothing is reached through it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from atlas.memory import HUB
from atlas.rank import Voice

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from atlas.live import Filters
    from atlas.rank import Scores

    Places = NDArray[np.intp]
    Floats = NDArray[np.float64]

#: A name with so many answers (a title and a file name are two) says nothing of any note; each link by it leading to
#: each of them would be millions.
_CROWD = 40
#: So many of the best notes speak through their links.
_HITS = 10


@dataclass(frozen=True, slots=True)
class Graph:
    """The links among live notes, by ordinal: each once in either direction, with what a step along it costs.

    `replaced`: the notes whose metadata says that something has taken their place; `old` and `new`: each with that,
    where it is live too. `notes` counts the notes.
    """

    here: Places
    there: Places
    toll: Floats
    old: Places
    new: Places
    replaced: Places
    notes: int


def load(con: duckdb.DuckDBPyConnection, filters: Filters, paths: NDArray[np.int64]) -> Graph:
    """The links among the notes with these path keys, which the filters let through.

    The lists on the pages of clusters are none: they follow from tags, and lifted twenty members of whatever page the
    words of a question reached above the one note that has all of them.

    Joined here and not by the database, which takes five times as long for 40,000 links.
    """
    where, values = filters.sql()
    columns = f"l.path_key, l.note, n.kind = '{HUB}' AS page"
    query = f"SELECT {columns} FROM {filters.table} l JOIN notes n USING (note) WHERE {where}"
    live, links = con.execute(query, values).fetchnumpy(), _columns(con, "links", "note", "handle", "replaced")
    listed, at = _join(live["path_key"], paths)  # a note without passages is in the listing and can be no hit
    note = live["note"][listed]
    source, link = _join(note, links["note"])
    written = ~live["page"][listed][source]
    source, link = source[written], link[written]
    which, two = _named(con, links["handle"][link], paths, note, at)
    source, replaced = at[source], links["replaced"][link]
    one, after = source[which], replaced[which]
    apart, gone = (one != two) & ~after, (one != two) & after
    here, there = _both_ways(one[apart], two[apart], len(paths))
    degree = np.bincount(here, minlength=len(paths))
    toll = 1 / np.sqrt(degree[here] * degree[there])
    return Graph(here, there, toll, one[gone], two[gone], np.unique(source[replaced]), len(paths))


def _named(
    con: duckdb.DuckDBPyConnection, wanted: NDArray[np.int64], paths: NDArray[np.int64], note: NDArray[Any], at: Places
) -> tuple[Places, Places]:
    """Who answers to each of these handles, as (place in `wanted`, ordinal).

    `note` are the numbers of the notes, `at` their ordinals.
    """
    titles, places = _columns(con, "handles", "note", "handle"), _columns(con, "places", "path_key", "handle")
    by_title, title = _join(note, titles["note"])
    by_place, place = _join(paths, places["path_key"])
    owner, handle = _telling(
        np.concatenate([at[by_title], by_place]), np.concatenate([titles["handle"][title], places["handle"][place]])
    )
    which, target = _join(wanted, handle)
    return which, owner[target]


def _both_ways(one: Places, two: Places, notes: int) -> tuple[Places, Places]:
    """Each pair once in either direction."""
    pair = np.sort(np.minimum(one, two) * notes + np.maximum(one, two))
    low, high = np.divmod(pair[np.diff(pair, prepend=-1) > 0], notes)
    return np.concatenate([low, high]), np.concatenate([high, low])


def _columns(con: duckdb.DuckDBPyConnection, table: str, *names: str) -> dict[str, NDArray[Any]]:
    return con.execute(f"SELECT {', '.join(names)} FROM {table}").fetchnumpy()


def _telling(owner: Places, handle: NDArray[np.int64]) -> tuple[Places, NDArray[np.int64]]:
    """Who answers to which handle, in order of handles, without those that a crowd shares."""
    order = np.argsort(handle, kind="stable")
    owner, handle = owner[order], handle[order]
    starts = np.flatnonzero(np.diff(handle, prepend=handle[:1] - 1))
    few = np.repeat(np.diff(starts, append=len(handle)) <= _CROWD, np.diff(starts, append=len(handle)))
    return owner[few], handle[few]


def _join(one: NDArray[Any], two: NDArray[Any]) -> tuple[Places, Places]:
    """The places of every pair of equal numbers. Both are sorted: looked up at random, they take four times as long."""
    order_one, order_two = np.argsort(one, kind="stable"), np.argsort(two, kind="stable")
    one, two = one[order_one], two[order_two]
    first = np.searchsorted(two, one, side="left")
    count = np.searchsorted(two, one, side="right") - first
    left = np.repeat(np.arange(len(one)), count)
    step = np.arange(len(left)) - np.repeat(np.cumsum(count) - count, count)
    return order_one[left], order_two[first[left] + step]


def voice(graph: Graph, scores: Scores) -> Voice | None:
    """What the links of the best hits say of notes; None if they have none.

    A hit gives its share of the best score; a step divides it by the square root of both ends' numbers of links, so
    hubs neither shout nor hear everything; the second step counts half. Nothing comes back to where it began.
    """
    best = _best(scores)
    if not len(graph.here) or not len(best):
        return None
    given = np.zeros(graph.notes)
    given[best] = scores.note[best] / scores.note[best].max()
    near = _step(graph, given)
    echo = np.bincount(graph.here, graph.toll * graph.toll, graph.notes) * given
    far = _step(graph, near) - echo
    value = np.minimum(np.maximum(near, far / 2), 1).astype(np.float32)
    heard = np.flatnonzero(value > 1e-6)
    return Voice("links", heard.astype(np.int32), value[heard]) if len(heard) else None


def _step(graph: Graph, value: Floats) -> Floats:
    """What every note hears when each passes its value on along its links."""
    return np.bincount(graph.there, graph.toll * value[graph.here], graph.notes).astype(np.float64)


def _best(scores: Scores) -> Places:
    """The places of the best notes, as far as anything speaks for them."""
    found = np.flatnonzero((scores.note > 0) if scores.found is None else (scores.note > 0) & scores.found)
    if len(found) > _HITS:
        found = found[np.argsort(-scores.note[found], kind="stable")[:_HITS]]
    return found
