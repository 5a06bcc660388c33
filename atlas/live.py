"""Which passages a query may see: the filters, and the field of passages they let through.

Filters, scope first, choose inside the query; ranking never sees the others, so neither their text nor their statistics
leak.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import TYPE_CHECKING, Any

import numpy as np

from atlas.bm25 import Field
from atlas.keys import SEP
from atlas.memory import CLUSTER_PREFIX, Scope

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from atlas.rows import Found


@dataclass(frozen=True, slots=True)
class Filters:
    """What a query may see. The scope has no default: a query without one cannot be written down.

    `valid_at` is microseconds since 1970, UTC. `tags` match themselves and what is nested below them. `moment` is a
    commit whose listing is kept (see `moments`); "" is now.
    """

    scope: Scope
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    valid_at: int | None = None
    moment: str = ""

    @property
    def table(self) -> str:
        """The listing they choose from."""
        return "moments" if self.moment else "listing"

    def sql(self) -> tuple[str, list[Any]]:
        """The condition on the listing `l` JOIN notes `n`, and its parameters."""
        parts = ["l.note IS NOT NULL"]
        values: list[Any] = []
        if self.moment:
            parts.append("l.moment = ?")
            values.append(self.moment)
        if self.scope.prefix:
            parts.append("starts_with(l.path, ?)")
            values.append(self.scope.prefix)
        if self.kinds:
            parts.append(f"n.kind IN ({', '.join('?' * len(self.kinds))})")
            values += self.kinds
        for group in (self.tags, [CLUSTER_PREFIX + c for c in self.clusters]):
            if group:
                one = "contains(lower(n.tags), lower(?))"  # Obsidian knows one tag in whatever case
                parts.append("(" + " OR ".join(f"{one} OR {one}" for _ in group) + ")")
                values += [f"{SEP}{t}{end}" for t in group for end in (SEP, "/")]
        if self.valid_at is not None:
            parts.append("coalesce(n.valid_from, n.created, -9e18) <= ? AND ? < coalesce(n.valid_to, 9e18)")
            values += [self.valid_at, self.valid_at]
        return " AND ".join(parts), values


@dataclass(frozen=True, slots=True)
class Live:
    """The passages of one set of filters in reading order, and how to find them by their number.

    `first[c]` is where chunk c stands in the field, -1 if it does not; `more` are the other places of chunks that
    stand at several, since two files may have the same content.
    """

    field: Field
    paths: NDArray[np.int64]
    chunk: NDArray[np.int32]
    vec: NDArray[np.int32]
    body: NDArray[np.bool_]
    first: NDArray[np.int32]
    more: Mapping[int, NDArray[np.int32]]
    #: What a ranker made of these passages, kept for the next query; it lives as long as they do.
    kept: dict[str, Any] = attribute(default_factory=dict, compare=False, repr=False)

    def places(self, found: Found) -> Found:
        """Where these chunks stand in the field, with their counts; those that stand nowhere in it are left out."""
        chunk, tf = found
        place = self.first[np.minimum(chunk, len(self.first) - 1)]
        here = place >= 0
        place, tf = place[here], tf[here]
        if not self.more:
            return place, tf
        again = [(self.more[c], n) for c, n in zip(self.chunk[place].tolist(), tf, strict=True) if c in self.more]
        others = [np.full(len(places), n, np.uint16) for places, n in again]
        return np.concatenate([place, *(places for places, _ in again)]), np.concatenate([tf, *others])

    def shown(self, place: int) -> int:
        """The passage to show for the one at `place`: itself, or how the note begins where only its names matched."""
        note = self.field.note
        after = place
        while not self.body[after]:
            after += 1
            if after == len(note) or note[after] != note[place]:
                return place
        return after


def load(con: duckdb.DuckDBPyConnection, filters: Filters) -> Live:
    """The passages that the filters let through."""
    where, values = filters.sql()
    found = con.execute(
        f"""
        WITH live AS (
          SELECT l.path_key, l.name_chunk, l.note, n.created, coalesce(n.thread_key, l.path_key) AS thread_key
          FROM {filters.table} l JOIN notes n USING (note) WHERE {where})
        SELECT thread_key, path_key, chunk, words, vec, seq >= 1 AS body FROM (
          SELECT thread_key, created, path_key, seq, chunk, words, vec FROM live JOIN chunks USING (note)
          UNION ALL
          SELECT thread_key, created, path_key, -1, chunk, words, vec FROM live JOIN chunks ON chunk = name_chunk)
        ORDER BY thread_key, created NULLS FIRST, path_key, seq
        """,
        values,
    ).fetchnumpy()
    path, thread = found["path_key"], found["thread_key"]
    chunk = found["chunk"].astype(np.int32)
    first, more = _by_number(chunk)
    return Live(
        field=Field(note=_ordinals(path), thread=_ordinals(thread), words=found["words"].astype(np.int32)),
        paths=path[np.flatnonzero(_starts(path))],
        chunk=chunk,
        vec=found["vec"].astype(np.int32),
        body=found["body"].astype(bool),
        first=first,
        more=more,
    )


def _by_number(chunk: NDArray[np.int32]) -> tuple[NDArray[np.int32], dict[int, NDArray[np.int32]]]:
    """`first` and `more` of a field; the last entry of `first` stands for every number beyond."""
    first = np.full(int(chunk.max(initial=-1)) + 2, -1, np.int32)
    first[chunk[::-1]] = np.arange(len(chunk), dtype=np.int32)[::-1]
    others = np.flatnonzero(first[chunk] != np.arange(len(chunk))).astype(np.int32)
    more: dict[int, list[int]] = {}
    for place in others.tolist():
        more.setdefault(int(chunk[place]), []).append(place)
    return first, {number: np.array(places, np.int32) for number, places in more.items()}


def _starts(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a run of equal keys begins."""
    starts = np.ones(len(keys), dtype=bool)
    starts[1:] = keys[1:] != keys[:-1]
    return starts


def _ordinals(keys: NDArray[np.int64]) -> NDArray[np.int32]:
    """Number the runs of equal keys from 0."""
    return (np.cumsum(_starts(keys)) - 1).astype(np.int32)
