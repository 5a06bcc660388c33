"""What a reader takes from the index besides the field: postings, passages and notes by their numbers.

A one-shot search reads them from the database file, a long-lived engine from memory (`resident`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray


class Passage(NamedTuple):
    """A passage as it is shown."""

    heading: str
    line: int
    text: str


class Listed(NamedTuple):
    """A note as it is shown, at the path that holds it. `note` numbers its content, `written` is the id in it.

    `stale`: its summary was made of an older text. Times are microseconds since 1970, None where nobody says.
    """

    path: str
    id: str
    label: str
    summary: str
    kind: str
    trust: str
    created: int | None
    note: int
    written: str
    valid_from: int | None
    valid_to: int | None
    stale: bool


#: Chunk numbers and how often the term stands in each: int32[m], uint16[m].
Found = tuple["NDArray[np.int32]", "NDArray[np.uint16]"]
NOTHING: Found = np.zeros(0, np.int32), np.zeros(0, np.uint16)


#: (handle, note) and (handle, path key): what answers to a handle by its content, and by its path.
Answering = tuple[list[tuple[int, int]], list[tuple[int, int]]]


class Rows(Protocol):
    """Where rows come from."""

    def postings(self, terms: Sequence[int]) -> list[Found]:
        """For each term (by its hash), where it stands."""
        ...

    def passages(self, chunks: Sequence[int]) -> Mapping[int, Passage]:
        """Passages by their numbers."""
        ...

    def listed(self, keys: Sequence[int], moment: str) -> Mapping[int, Listed]:
        """Notes by the keys of their paths, as of a commit whose listing is kept, or "" for now."""
        ...

    def texts(self, notes: Collection[int]) -> Mapping[int, str]:
        """The whole text of notes by their numbers, with all by which they are found."""
        ...

    def answering(self, handles: Sequence[int]) -> Answering:
        """What answers to these handles (see `keys.handle`), alive or not."""
        ...


class SqlRows:
    """Rows by queries, for a search that is asked once."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con

    def postings(self, terms: Sequence[int]) -> list[Found]:
        """For each term (by its hash), where it stands."""
        if not terms:
            return []
        found = self._con.execute(
            f"SELECT term, chunk, tf FROM postings WHERE term IN ({', '.join(map(str, terms))})"
        ).fetchnumpy()
        term, chunk, tf = found["term"], found["chunk"], found["tf"]
        return [(chunk[here], tf[here]) for here in (term == np.uint64(wanted) for wanted in terms)]

    def passages(self, chunks: Sequence[int]) -> Mapping[int, Passage]:
        """Passages by their numbers."""
        rows = self._by_number("SELECT chunk, heading, line, text FROM chunks", "chunk", chunks)
        return {number: Passage(*row) for number, row in rows.items()}

    def listed(self, keys: Sequence[int], moment: str) -> Mapping[int, Listed]:
        """Notes by the keys of their paths."""
        table = f"(SELECT * FROM moments WHERE moment = '{moment}')" if moment else "listing"
        rows = self._by_number(
            "SELECT l.path_key, l.path, l.ident, n.label, n.summary, n.kind, n.trust, n.created, l.note, n.id, "
            "n.valid_from, n.valid_to, n.stale "
            f"FROM {table} l JOIN notes n USING (note)",
            "path_key",
            keys,
        )
        return {number: Listed(*row) for number, row in rows.items()}

    def texts(self, notes: Collection[int]) -> Mapping[int, str]:
        """The whole text of notes by their numbers, with all by which they are found."""
        if not notes:
            return {}
        numbers = ", ".join(map(str, notes))
        query = f"SELECT note, context, text FROM chunks WHERE note IN ({numbers}) ORDER BY note, seq"
        found: dict[int, str] = {}
        for note, context, text in self._con.execute(query).fetchall():
            found[note] = f"{found.get(note, '')}\n{context}\n{text}"
        return found

    def answering(self, handles: Sequence[int]) -> Answering:
        """What answers to these handles."""
        numbers = ", ".join(map(str, handles)) or "NULL"
        by_content = self._con.execute(f"SELECT handle, note FROM handles WHERE handle IN ({numbers})").fetchall()
        by_path = self._con.execute(f"SELECT handle, path_key FROM places WHERE handle IN ({numbers})").fetchall()
        return by_content, by_path

    def _by_number(self, sql: str, column: str, numbers: Sequence[int]) -> dict[int, tuple[Any, ...]]:
        if not numbers:
            return {}
        # Of a join DuckDB reads only the rows that match; with IN it reads every text first (100,000: 60 ms, not 9).
        wanted = ", ".join(f"({number}::BIGINT)" for number in numbers)
        rows = self._con.execute(f"{sql} SEMI JOIN (VALUES {wanted}) wanted({column}) USING ({column})").fetchall()
        return {number: tuple(row) for number, *row in rows}
