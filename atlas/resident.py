"""The index in memory, for an engine that is asked more than once.

What filters look at is a copy in DuckDB's memory. What every search looks up by number is kept as arrays and lists: a
query costs DuckDB 1 to 3 ms however small it is, a look into an array nothing. Both grow by what was appended to the
file since the last copy.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from atlas.rows import NOTHING, Answering, Found, Listed, Passage
from atlas.store import SCHEMA, TABLES, only_row

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

#: Tables that only grow while a database lives, and the column that numbers their rows.
_GROWING = {"notes": "note", "chunks": "chunk", "handles": "note", "links": "note", "places": "place"}
#: Tables that are small, or change anywhere.
_WHOLE = ("listing", "moments")
#: Postings appended since are merged with the others once they are this many, and this share of them.
_MERGE_FLOOR, _MERGE_SHARE = 50_000, 0.25


class Resident:
    """A copy in memory of the database that is attached as `disk`."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        con.execute("USE memory")
        for table in TABLES:
            con.execute(f"DROP TABLE IF EXISTS memory.{table}")
        con.execute(SCHEMA)
        con.execute("USE disk")
        self._last = dict.fromkeys((*_GROWING, "postings"), -1)
        self._notes, self._passages = _Numbered(), _Numbered()
        self._postings: list[_Segment] = []
        self._answers = {"handles": _Handles(), "places": _Handles()}
        self._places: dict[str, dict[int, tuple[str, str, int]]] = {}
        self.moments: set[str] = set()

    def take(self) -> None:
        """Bring the copy up to the database."""
        con = self._con
        shown = "note, label, summary, kind, trust, created, note, id, valid_from, valid_to, stale"
        self._notes.add(self._news(shown, "notes", "note"))
        self._passages.add(self._news("chunk, heading, line, text, context", "chunks", "chunk"))
        self._add_postings()
        self._add_handles()
        for table, column in _GROWING.items():
            rows = "* REPLACE ('' AS text, '' AS context)" if table == "chunks" else "*"
            con.execute(
                f"INSERT INTO memory.{table} SELECT {rows} FROM disk.{table} WHERE {column} > {self._last[table]}"
            )
            (self._last[table],) = only_row(con, f"SELECT coalesce(max({column}), -1) FROM memory.{table}")
        for table in _WHOLE:
            con.execute(f"DELETE FROM memory.{table}")
            con.execute(f"INSERT INTO memory.{table} SELECT * FROM disk.{table}")
        self.moments = {name for (name,) in con.execute("SELECT DISTINCT moment FROM memory.moments").fetchall()}
        self._places = {}

    def postings(self, terms: Sequence[int]) -> list[Found]:
        """For each term (by its hash), where it stands."""
        return [_joined([part for s in self._postings if (part := s.find(term)) is not None]) for term in terms]

    def passages(self, chunks: Sequence[int]) -> Mapping[int, Passage]:
        """Passages by their numbers."""
        return {number: Passage(*self._passages.get(number)[:3]) for number in chunks}

    def listed(self, keys: Sequence[int], moment: str) -> Mapping[int, Listed]:
        """Notes by the keys of their paths, as of a commit whose listing is kept, or "" for now."""
        places = self._places.get(moment)
        if places is None:
            places = self._places[moment] = self._load_places(moment)
        found = {}
        for number in keys:
            path, ident, note = places[number]
            found[number] = Listed(path, ident, *self._notes.get(note))
        return found

    def texts(self, notes: Collection[int]) -> Mapping[int, str]:
        """The whole text of notes by their numbers, with all by which they are found."""
        if not notes:
            return {}
        numbers = ", ".join(map(str, notes))
        query = f"SELECT note, chunk FROM memory.chunks WHERE note IN ({numbers}) ORDER BY note, seq"
        found: dict[int, str] = {}
        for note, chunk in self._con.execute(query).fetchall():
            _, _, text, context = self._passages.get(chunk)
            found[note] = f"{found.get(note, '')}\n{context}\n{text}"
        return found

    def answering(self, handles: Sequence[int]) -> Answering:
        """What answers to these handles, alive or not."""
        return self._answers["handles"].find(handles), self._answers["places"].find(handles)

    def _load_places(self, moment: str) -> dict[int, tuple[str, str, int]]:
        table, values = ("moments WHERE moment = ? AND", [moment]) if moment else ("listing WHERE", [])
        rows = self._con.execute(
            f"SELECT path_key, path, ident, note FROM memory.{table} note IS NOT NULL", values
        ).fetchall()
        return {path_key: (path, ident, note) for path_key, path, ident, note in rows}

    def _news(self, columns: str, table: str, number: str) -> list[tuple[Any, ...]]:
        return self._con.execute(
            f"SELECT {columns} FROM disk.{table} WHERE {number} > {self._last[table]} ORDER BY {number}"
        ).fetchall()

    def _add_handles(self) -> None:
        for (table, answers), column in zip(self._answers.items(), ("note", "path_key"), strict=True):
            found = self._con.execute(
                f"SELECT handle, {column} FROM disk.{table} WHERE {_GROWING[table]} > {self._last[table]}"
            ).fetchnumpy()
            answers.add(found["handle"], found[column])

    def _add_postings(self) -> None:
        found = self._con.execute(
            f"SELECT term, chunk, tf FROM disk.postings WHERE chunk > {self._last['postings']}"
        ).fetchnumpy()
        term, chunk, tf = (np.asarray(found[name]) for name in ("term", "chunk", "tf"))
        if not len(chunk):
            return
        self._last["postings"] = int(chunk.max())
        self._postings.append(_Segment.of(term, chunk, tf))
        first, *later = self._postings
        if sum(map(len, later)) > max(_MERGE_FLOOR, _MERGE_SHARE * len(first)):
            columns = zip(*(segment.rows() for segment in self._postings), strict=True)
            self._postings = [_Segment.of(*map(np.concatenate, columns))]


class _Numbered:
    """Rows by ascending numbers."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._rows: list[tuple[Any, ...]] = []

    def add(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Append rows, each behind its number."""
        self._numbers += [row[0] for row in rows]
        self._rows += [row[1:] for row in rows]

    def get(self, number: int) -> tuple[Any, ...]:
        """The row of a number that is there."""
        return self._rows[bisect_left(self._numbers, number)]


class _Handles:
    """Numbers by the handles they answer to; put in order when first asked."""

    def __init__(self) -> None:
        self._handle, self._number = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._in_order = True

    def add(self, handle: NDArray[np.int64], number: NDArray[np.int64]) -> None:
        """Append pairs."""
        if len(handle):
            self._handle = np.concatenate([self._handle, handle])
            self._number = np.concatenate([self._number, number])
            self._in_order = False

    def find(self, handles: Sequence[int]) -> list[tuple[int, int]]:
        """Each handle with each number that answers to it."""
        if not self._in_order:
            order = np.argsort(self._handle, kind="stable")
            self._handle, self._number, self._in_order = self._handle[order], self._number[order], True
        wanted = np.array(handles, np.int64)
        spans = zip(handles, *(np.searchsorted(self._handle, wanted, side) for side in ("left", "right")), strict=True)
        return [(handle, number) for handle, start, end in spans for number in self._number[start:end].tolist()]


class _Segment:
    """Postings in order of their terms: where each term begins, and its chunks and counts."""

    def __init__(
        self, terms: NDArray[np.uint64], edges: NDArray[np.int64], chunk: NDArray[np.int32], tf: NDArray[np.uint16]
    ) -> None:
        self._terms, self._edges, self._chunk, self._tf = terms, edges, chunk, tf

    def __len__(self) -> int:
        return len(self._chunk)

    @classmethod
    def of(cls, term: NDArray[np.uint64], chunk: NDArray[np.int32], tf: NDArray[np.uint16]) -> _Segment:
        """Of rows in any order."""
        if np.any(term[1:] < term[:-1]):
            order = np.argsort(term, kind="stable")
            term, chunk, tf = term[order], chunk[order], tf[order]
        starts = np.flatnonzero(np.concatenate(([True], term[1:] != term[:-1])))
        return cls(term[starts], np.append(starts, len(term)), np.ascontiguousarray(chunk), np.ascontiguousarray(tf))

    def rows(self) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint16]]:
        """The rows it was made of."""
        return np.repeat(self._terms, np.diff(self._edges)), self._chunk, self._tf

    def find(self, term: int) -> Found | None:
        """Where a term stands, if it does."""
        place = int(np.searchsorted(self._terms, np.uint64(term)))
        if place == len(self._terms) or int(self._terms[place]) != term:
            return None
        here = slice(self._edges[place], self._edges[place + 1])
        return self._chunk[here], self._tf[here]


def _joined(parts: list[Found]) -> Found:
    if len(parts) < 2:
        return parts[0] if parts else NOTHING
    return np.concatenate([chunk for chunk, _ in parts]), np.concatenate([tf for _, tf in parts])
