"""Taking in content that was never seen: parsed, cut into passages, and stored under its blob id, once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from atlas import derive, words
from atlas.keys import key, path_handles
from atlas.store import get_meta, insert, only_row, set_meta, transaction

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

_LETTERS = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"(?:-\d+)?$")


class Shelf:
    """The derived rows of one open database. `note` and `names` gather, `store` commits what was gathered."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.derived = 0

    # Asked for when a file is read: where only HEAD moved, none is.

    @cached_property
    def _notes(self) -> dict[str, int]:
        return dict(self.con.execute("SELECT blob, note FROM notes").fetchall())

    @cached_property
    def _names(self) -> dict[str, int]:
        return dict(self.con.execute("SELECT name, chunk FROM names").fetchall())

    @cached_property
    def _deriver(self) -> derive.Deriver:
        return derive.Deriver(self._next("notes", "note"), self._next("chunks", "chunk"))

    def note(self, blob: str, data: bytes) -> int:
        """The number of the note with this content, derived if it was never seen. Raises NotText."""
        if blob not in self._notes:
            self._notes[blob] = self._deriver.note(blob, data)
            self.derived += 1
        return self._notes[blob]

    def names(self, notes: Mapping[str, int]) -> dict[str, int]:
        """For each path (of a stored note): the passage that is its file's name, unless its title says the same words.

        People remember notes by their file names; a name made from the title would only count its words twice.
        """
        titles = self._titles(list(notes.values()))
        found = {}
        for path, note in notes.items():
            stem = PurePosixPath(path).stem
            if not _is_slug(stem, titles[note]):
                if stem not in self._names:
                    self._names[stem] = self._deriver.name(stem)
                found[path] = self._names[stem]
        self._place(notes)
        self.store()
        return found

    def store(self) -> None:
        """Commit what was gathered."""
        rows = self._deriver.take()
        if rows.notes or rows.chunk:
            with transaction(self.con):
                self._insert(rows)

    def _place(self, paths: Iterable[str]) -> None:
        """Keep what each of these files answers to by its path, where that was never done."""
        keys = {key(path): path for path in paths}
        self.con.register("wanted", {"path_key": np.array(list(keys), dtype=np.int64)})
        placed = self.con.execute("SELECT DISTINCT path_key FROM places SEMI JOIN wanted USING (path_key)").fetchall()
        self.con.unregister("wanted")
        first = self._next("places", "place")
        new = sorted(keys.keys() - {path_key for (path_key,) in placed})
        rows = [(first + n, number, name) for n, number in enumerate(new) for name in path_handles(keys[number])]
        if rows:
            insert(self.con, "places", derive.columns(("place", "path_key", "handle"), rows))

    def _titles(self, notes: list[int]) -> dict[int, str]:
        self.con.register("wanted", {"note": np.array(notes, dtype=np.int64)})
        try:
            return dict(self.con.execute("SELECT note, label FROM notes SEMI JOIN wanted USING (note)").fetchall())
        finally:
            self.con.unregister("wanted")

    def _next(self, table: str, column: str) -> int:
        (number,) = only_row(self.con, f"SELECT coalesce(max({column}), -1) + 1 FROM {table}")
        return int(number)

    def _insert(self, rows: derive.Rows) -> None:
        if rows.notes:
            insert(self.con, "notes", derive.columns(derive.NOTE_COLUMNS, rows.notes))
        if rows.handles:
            insert(self.con, "handles", derive.columns(("note", "handle"), rows.handles))
        if rows.links:
            insert(self.con, "links", derive.columns(("note", "handle", "replaced"), rows.links))
        if not rows.chunk:
            return
        table = derive.columns(derive.CHUNK_COLUMNS, rows.chunk)
        table["context"] = np.array(_contexts(rows), dtype=object)
        table["vec"] = self._numbers(rows)
        insert(self.con, "chunks", table)
        stems = [(text, number) for number, note, _, _, _, text, _ in rows.chunk if note == -1]
        if stems:
            insert(self.con, "names", derive.columns(("name", "chunk"), stems))
        postings = {
            "term": np.frombuffer(rows.term, dtype=np.uint64),
            "chunk": np.frombuffer(rows.where, dtype=np.int32),
            "tf": np.frombuffer(rows.tf, dtype=np.uint16),
        }
        insert(self.con, "postings", postings, "ORDER BY term, chunk")

    def _numbers(self, rows: derive.Rows) -> NDArray[np.int64]:
        """The number of every passage's text, which is its row in the matrix of every model; equal texts share one."""
        wanted = list(dict.fromkeys(rows.hashes))
        self.con.register("wanted", {"hash": np.array(wanted, dtype=object)})
        found = dict(self.con.execute("SELECT hash, vec FROM texts SEMI JOIN wanted USING (hash)").fetchall())
        self.con.unregister("wanted")
        new = [h for h in wanted if h not in found]
        if new:
            # Counted on, never given out again: a model that is behind must not take one text for another.
            first = int(get_meta(self.con).get("texts", 0))
            numbers = np.arange(first, first + len(new), dtype=np.int64)
            insert(self.con, "texts", {"hash": np.array(new, dtype=object), "vec": numbers})
            set_meta(self.con, {"texts": str(first + len(new))})
            found.update(zip(new, numbers.tolist(), strict=True))
        return np.array([found[h] for h in rows.hashes], dtype=np.int64)


def _contexts(rows: derive.Rows) -> list[str]:
    """What is searched of every passage and stands before its text, so that another model can embed it later."""
    return [
        searched[: max(len(searched) - len(text) - 1, 0)]
        for (_, _, _, _, _, text, _), searched in zip(rows.chunk, rows.searched, strict=True)
    ]


def _is_slug(stem: str, title: str) -> bool:
    """Whether a file name is only its title spelled for a disk: `jwt-race-2` of "JWT race!"."""
    name, full = (_LETTERS.sub("", words.fold(text)) for text in (_NUMBER.sub("", stem), title))
    return bool(full) and (full.startswith(name) or name == full)
