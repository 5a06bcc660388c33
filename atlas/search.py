"""Searching: which passages a query may see, what their words and vectors score, and the hits with their reasons.

Filters, scope first, choose the passages inside the query; ranking never sees the others, so neither their text nor
their statistics leak.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from atlas import rank, words
from atlas.bm25 import Field, Postings
from atlas.keys import SEP, term_hash
from atlas.memory import CLUSTER_PREFIX, Hit, Lod, Scope
from atlas.rows import Found, Rows, SqlRows
from atlas.voices import Voices

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

_CACHED_FIELDS = 8


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
class Answer:
    """The hits of a query, best first, and the paths of notes that share a name it uses."""

    hits: tuple[Hit, ...] = ()
    ambiguous: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Look:
    """One search under way, as the rankers of the fine mode see it.

    `terms` has what each term of the query is worth, in the order in which `postings` number them; `cosine` is None
    where words alone rank. `voices` are those of the rankers asked before.
    """

    text: str
    filters: Filters
    live: Live
    terms: Mapping[str, float]
    postings: Postings
    cosine: NDArray[np.float32] | None
    scores: rank.Scores
    voices: tuple[rank.Voice, ...] = ()


class Reader:
    """Reads one state of the index through a connection: the database file itself, or a copy in memory."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        matrix: NDArray[np.float32] | None,
        generation: str,
        head: str,
        mix: Mapping[str, Any],
        rows: Rows | None = None,
    ) -> None:
        self.con, self.matrix, self.generation, self.head = con, matrix, generation, head
        self.rows = SqlRows(con) if rows is None else rows
        self._weights = replace(rank.DEFAULT, **mix)
        self._fields: OrderedDict[Filters, Live] = OrderedDict()
        self._voices = Voices(con, self.rows)

    def live(self, filters: Filters) -> Live:
        """The passages these filters let through; kept for the next query with the same ones."""
        live = self._fields.get(filters)
        if live is None:
            live = self._fields[filters] = _load_field(self.con, filters)
            while len(self._fields) > _CACHED_FIELDS:
                self._fields.popitem(last=False)
        self._fields.move_to_end(filters)
        return live

    def search(
        self,
        text: str,
        query: NDArray[np.float32] | None,
        filters: Filters,
        k: int,
        rankers: Sequence[Ranker] = (),
        *,
        clock: float | None = None,
    ) -> Answer:
        """The best `k` notes. `query` is the query's vector, or None to rank by words alone.

        What no longer holds at `clock` (microseconds since 1970, by default now) is lowered. `rankers` speak beside
        words and vectors, each knowing what was said before it.
        """
        live = self.live(filters)
        if not len(live.chunk):
            return Answer()
        terms = words.query_weights(text)
        cosine = self._cosine(live, query)
        weights = rank.DEFAULT if cosine is None else self._weights
        postings = self._postings(live, list(terms))
        scores = rank.score(live.field, postings, len(terms), cosine, worth=list(terms.values()), weights=weights)
        voices, ambiguous = self._voices.hear(text, filters, live.paths, scores, clock)
        look = Look(text, filters, live, terms, postings, cosine, scores, tuple(voices))
        for ranker in rankers:
            look = replace(look, voices=(*look.voices, *ranker(self, look)))
        hits = self._hits(live, rank.best(scores, look.voices, weights=weights, k=k), filters)
        return Answer(tuple(hits), ambiguous)

    def _postings(self, live: Live, terms: Sequence[str]) -> Postings:
        """Where the query's terms stand, by position in the field."""
        found = [live.places(rows) for rows in self.rows.postings([term_hash(term) for term in terms])]
        if not found:
            return Postings(*(np.zeros(0, dtype=np.int32) for _ in range(3)))
        chunk, tf = (np.concatenate(column) for column in zip(*found, strict=True))
        term = np.repeat(np.arange(len(found), dtype=np.int32), [len(chunk) for chunk, _ in found])
        return Postings(term, chunk, tf.astype(np.int32))

    def _cosine(self, live: Live, query: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
        """Cosine of the query with every live passage; None when either side has no vector."""
        if query is None or self.matrix is None or not query.any():
            return None
        known = live.vec < len(self.matrix)
        waiting = len(known) - np.count_nonzero(known)
        if 2 * waiting > len(known):  # a few against a mean of so many would all stand out
            return None
        rows = np.where(known, live.vec, 0) if waiting else live.vec
        every = len(rows) * 4 > len(self.matrix)
        scores: NDArray[np.float32] = (self.matrix @ query)[rows] if every else self.matrix[rows] @ query
        if waiting:  # a passage that still waits for its vector is neither near nor far
            scores[~known] = scores[known].mean()
        return scores

    def _hits(self, live: Live, ranking: rank.Ranking, filters: Filters) -> list[Hit]:
        keys = [int(live.paths[n]) for n in ranking.note]
        best = [int(live.chunk[live.shown(int(c))]) for c in ranking.chunk]
        notes, passages = self.rows.listed(keys, filters.moment), self.rows.passages(best)
        hits = []
        for place, (path_key, chunk) in enumerate(zip(keys, best, strict=True)):
            note, passage = notes[path_key], passages[chunk]
            hits.append(
                Hit(
                    id=note.id, path=note.path, label=note.label or PurePosixPath(note.path).stem,
                    score=float(ranking.score[place]), text=passage.text, lod=Lod.L2, trust=note.trust, kind=note.kind,
                    summary=note.summary, created=iso(note.created), heading=passage.heading, line=passage.line,
                    why=_why(ranking.why(place)),
                )
            )  # fmt: skip
        return hits


#: One more ranker: what it says of the notes of a search.
Ranker = Callable[[Reader, Look], Sequence[rank.Voice]]


def _load_field(con: duckdb.DuckDBPyConnection, filters: Filters) -> Live:
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


def _why(parts: Mapping[str, tuple[int, float]]) -> dict[str, Any]:
    return {name: {"rank": place, "score": round(score, 4)} for name, (place, score) in parts.items()}


def _starts(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a run of equal keys begins."""
    starts = np.ones(len(keys), dtype=bool)
    starts[1:] = keys[1:] != keys[:-1]
    return starts


def _ordinals(keys: NDArray[np.int64]) -> NDArray[np.int32]:
    """Number the runs of equal keys from 0."""
    return (np.cumsum(_starts(keys)) - 1).astype(np.int32)


def iso(micros: int | None) -> str:
    """Microseconds since 1970 as ISO 8601 in UTC; "" for None."""
    return f"{np.datetime64(micros, 'us').astype('datetime64[s]')}Z" if micros is not None else ""
