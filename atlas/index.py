"""The index: rows per blob, a listing that says which path holds which blob, and one way to bring both up to date.

First build, update and repair are the same diff of two listings: what lies on disk, and what the index last saw.
Rows of blobs that left the listing are kept for a while, so switching branches back derives nothing again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from atlas import derive, identity, vectors, words
from atlas.errors import NotText
from atlas.keys import key
from atlas.listing import Diff, Row
from atlas.store import get_meta, insert, set_meta, transaction
from atlas.vault import Stat, Survey, read_listed, text_id

if TYPE_CHECKING:
    import duckdb

    from atlas.config import Config
    from atlas.models import Embedder

_BATCH_BYTES = 4_000_000
#: A file changed this shortly before it was looked at may change again within the clock's tick, so it is read again.
_RACY_NS = 50_000_000
#: Rows of blobs no path holds are dropped once they outnumber the living by this factor (and are many).
_DEAD_FACTOR, _DEAD_FLOOR = 3, 5_000
#: Postings are sorted again once this share (and number) of them was appended since.
_UNSORTED_SHARE, _UNSORTED_FLOOR = 0.25, 100_000

_LETTERS = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"(?:-\d+)?$")

#: Given the commit whose renames are known: later renames and HEAD's tree, and whether these are all renames instead.
Lineage = Callable[[str], tuple[identity.Lineage, bool]]
Progress = Callable[[int, int], None]


class Refresh:
    """One run that brings the index in `con` up to the state of the folder in `look`."""

    def __init__(
        self,
        config: Config,
        con: duckdb.DuckDBPyConnection,
        look: Survey,
        known: Mapping[str, Row],
        changes: Diff,
        *,
        matrix_file: Path,
        embedder: Callable[[], Embedder | None],
        lineage: Lineage,
        head: str,
        progress: Progress | None = None,
    ) -> None:
        self.config, self.con, self.look = config, con, look
        self.known, self.diff = known, changes
        self.matrix_file, self.lineage, self.head = matrix_file, lineage, head
        self._make_embedder = embedder
        self.progress = progress or (lambda _done, _all: None)
        self.started = time.time_ns()
        self.embedded = 0
        self.derived = 0
        self.fresh: list[Row] = []

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedder, loaded when the first passage needs it."""
        return self._make_embedder()

    def run(self) -> dict[str, int]:
        """Do it; what was done, in numbers.

        Rows keyed by blob are committed batch by batch, so a kill loses little; the listing comes last.
        """
        self.blobs = dict(self.con.execute("SELECT blob, note FROM notes").fetchall())
        self.names = dict(self.con.execute("SELECT name, chunk FROM names").fetchall())
        self.deriver = derive.Deriver(self._next("notes", "note"), self._next("chunks", "chunk"))
        for batch in self._batches():
            self._derive(batch)
        self._name_all()
        changed = [r for r in self.fresh if r.path in self.known and not _same(self.known[r.path], r)]
        added = [r for r in self.fresh if r.path not in self.known]
        self._commit_listing(news=bool(added or changed or self.diff.gone))
        tidy(self.con)
        return {
            "added": len(added),
            "changed": len(changed),
            "removed": len(self.diff.gone),
            "derived": self.derived,
            "embedded": self.embedded,
        }

    def _next(self, table: str, column: str) -> int:
        row = self.con.execute(f"SELECT coalesce(max({column}), -1) + 1 FROM {table}").fetchone()  # noqa: S608
        return int(row[0]) if row else 0

    def _batches(self) -> Iterator[list[tuple[str, Stat]]]:
        batch: list[tuple[str, Stat]] = []
        size = done = 0
        total = len(self.diff.to_read)
        for path, stat in sorted(self.diff.to_read.items()):
            batch.append((path, stat))
            size += min(stat.size, self.config.max_note_bytes)
            if size >= _BATCH_BYTES:
                yield batch
                done += len(batch)
                self.progress(done, total)
                batch, size = [], 0
        if batch:
            yield batch
            self.progress(total, total)

    def _derive(self, batch: list[tuple[str, Stat]]) -> None:
        for path, stat in batch:
            row = self._look_at(path, stat)
            if row is not None:
                self.fresh.append(row)
        self._store(self.deriver.take())

    def _store(self, rows: derive.Rows) -> None:
        with transaction(self.con):
            self._insert(rows)

    def _look_at(self, path: str, stat: Stat) -> Row | None:
        """The listing row of one file, its content derived if it was never seen; None if it is gone meanwhile."""
        racy = max(stat.mtime, stat.ctime) > self.started - _RACY_NS
        hint = Stat(stat.size, 0, 0, 0) if racy else stat
        if stat.size > self.config.max_note_bytes:
            limit = self.config.max_note_bytes / 1e6
            return Row(path, "", None, hint, None, f"oversized\n{stat.size / 1e6:.1f} MB, over the {limit:g} MB limit")
        try:
            data = read_listed(self.config, path)
        except OSError as err:
            return Row(path, "", None, Stat(stat.size, 0, 0, 0), None, f"unreadable\n{err.strerror}")
        if data is None:
            return None
        blob = text_id(data)
        try:
            if blob not in self.blobs:
                self.blobs[blob] = self.deriver.note(blob, data)
                self.derived += 1
        except NotText as err:
            return Row(path, blob, None, hint, None, f"binary\n{err.reason}")
        return Row(path, blob, self.blobs[blob], hint, None, "")

    def _name(self, row: Row, title: str) -> Row:
        """The line with the passage that is the file's own name, unless the title says the same words.

        People remember notes by their file names; a name made from the title would only count its words twice.
        """
        stem = PurePosixPath(row.path).stem
        if row.note is None or _is_slug(stem, title):
            return row
        if stem not in self.names:
            self.names[stem] = self.deriver.name(stem)
        return replace(row, name_chunk=self.names[stem])

    def _name_all(self) -> None:
        if not self.fresh:
            return
        self.con.register("fresh", {"note": np.array([-1 if r.note is None else r.note for r in self.fresh])})
        titles = dict(self.con.execute("SELECT note, label FROM notes SEMI JOIN fresh USING (note)").fetchall())
        self.con.unregister("fresh")
        self.fresh = [self._name(row, titles.get(row.note, "")) for row in self.fresh]
        self._store(self.deriver.take())

    def _insert(self, rows: derive.Rows) -> None:
        if not rows.chunk:
            return
        if rows.notes:
            insert(self.con, "notes", derive.columns(derive.NOTE_COLUMNS, rows.notes))
        table = derive.columns(derive.CHUNK_COLUMNS, rows.chunk)
        table["vec"] = self._vectors(rows)
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

    def _vectors(self, rows: derive.Rows) -> Any:
        """The matrix row of every passage, -1 without an embedder; texts embedded before are not embedded again."""
        if self.embedder is None:
            return np.full(len(rows.hashes), -1, dtype=np.int64)
        wanted = dict(zip(rows.hashes, rows.searched, strict=True))
        self.con.register("wanted", {"hash": np.array(list(wanted), dtype=object)})
        found = dict(self.con.execute("SELECT hash, row FROM vectors SEMI JOIN wanted USING (hash)").fetchall())
        self.con.unregister("wanted")
        new = [h for h in wanted if h not in found]
        if new:
            first = self._next("vectors", "row")
            vectors.append(self.matrix_file, first, self.embedder.embed([wanted[h] for h in new]))
            set_meta(self.con, {"dim": str(self.embedder.dim)})
            numbers = np.arange(first, first + len(new), dtype=np.int64)
            insert(self.con, "vectors", {"hash": np.array(new, dtype=object), "row": numbers})
            found.update(zip(new, numbers.tolist(), strict=True))
            self.embedded += len(new)
        return np.array([found[h] for h in rows.hashes], dtype=np.int64)

    def _commit_listing(self, *, news: bool) -> None:
        """Replace the changed lines of the listing and give every note its id: one transaction.

        Without news (only times changed, or HEAD moved) the generation stays, so no engine copies the index again.
        """
        touched = [r.path for r in self.fresh] + list(self.diff.gone)
        with transaction(self.con):
            if touched:
                self.con.register("touched", {"path": np.array(touched, dtype=object)})
                self.con.execute("DELETE FROM listing WHERE path IN (SELECT path FROM touched)")
                self.con.unregister("touched")
            if self.fresh:
                insert(self.con, "listing", _listing_columns(self.fresh))
            renamed = assign_identities(self.con, self.lineage, self.head)
            number = int(get_meta(self.con)["generation"]) + (1 if news or renamed else 0)
            set_meta(self.con, {"generation": str(number), "head": self.head})


def _is_slug(stem: str, title: str) -> bool:
    """Whether a file name is only its title spelled for a disk: `jwt-race-2` of "JWT race!"."""
    name, full = (_LETTERS.sub("", words.fold(text)) for text in (_NUMBER.sub("", stem), title))
    return bool(full) and (full.startswith(name) or name == full)


def _listing_columns(rows: list[Row]) -> dict[str, Any]:
    names = ("path", "blob", "note", "size", "mtime", "ctime", "inode", "name_chunk", "path_key", "problem")
    values = [
        (r.path, r.blob, r.note, r.stat.size, r.stat.mtime, r.stat.ctime, r.stat.inode, r.name_chunk,
         key(r.path), r.problem)
        for r in rows
    ]  # fmt: skip
    return derive.columns(names, values)


def assign_identities(con: duckdb.DuckDBPyConnection, lineage: Lineage, head: str) -> bool:
    """Give every path of the listing its id; whether any changed. Git is asked only if some note has none written."""
    rows = con.execute(
        "SELECT path, coalesce(n.id, ''), l.blob, l.ident FROM listing l LEFT JOIN notes n USING (note)"
    ).fetchall()
    written = {path: id for path, id, _, _ in rows}
    known = identity.Lineage() if all(written.values()) else _known_lineage(con, lineage, head)
    ids = identity.resolve(written, {path: blob for path, _, blob, _ in rows}, known).ids
    changed = [(path, ids[path]) for path, _, _, old in rows if old != ids[path]]
    if changed:
        con.register("named", derive.columns(("path", "ident"), changed))
        con.execute("UPDATE listing SET ident = named.ident FROM named WHERE listing.path = named.path")
        con.unregister("named")
    return bool(changed)


def _same(old: Row, new: Row) -> bool:
    return (old.blob, old.problem) == (new.blob, new.problem)


def _known_lineage(con: duckdb.DuckDBPyConnection, lineage: Lineage, head: str) -> identity.Lineage:
    """All renames: those kept from the last time, and Git's later ones put before them."""
    found, complete = lineage(get_meta(con).get("renames_head", ""))
    if complete:
        con.execute("DELETE FROM renames")
    # All rows are fetched: DuckDB refuses to register new ones while a result is open.
    ((first,),) = con.execute("SELECT coalesce(min(place), 0) FROM renames").fetchall()
    rows = [(first - len(found.renames) + n, old, new) for n, (old, new) in enumerate(found.renames)]
    if rows:
        insert(con, "renames", derive.columns(("place", "old", "new"), rows))
    set_meta(con, {"renames_head": head})
    renames = con.execute("SELECT old, new FROM renames ORDER BY place").fetchall()
    return identity.Lineage(tuple(renames), found.tree)


def tidy(con: duckdb.DuckDBPyConnection) -> None:
    """Keep the tables healthy: drop rows of blobs long gone, and sort the postings by term again when many are new."""
    dead, alive = con.execute(
        "SELECT count(*) FILTER (l.note IS NULL), count(*) FILTER (l.note IS NOT NULL) "
        "FROM notes n LEFT JOIN (SELECT DISTINCT note FROM listing) l ON n.note = l.note"
    ).fetchone() or (0, 0)
    if dead > max(_DEAD_FLOOR, _DEAD_FACTOR * alive):
        _drop_dead(con)
    (total,) = con.execute("SELECT count(*) FROM postings").fetchone() or (0,)
    unsorted = total - int(get_meta(con).get("sorted", 0))
    if unsorted > max(_UNSORTED_FLOOR, _UNSORTED_SHARE * total):
        with transaction(con):
            con.execute("CREATE OR REPLACE TABLE postings AS SELECT * FROM postings ORDER BY term, chunk")
            set_meta(con, {"sorted": str(total)})


def _drop_dead(con: duckdb.DuckDBPyConnection) -> None:
    with transaction(con):
        con.execute("DELETE FROM notes WHERE note NOT IN (SELECT note FROM listing WHERE note IS NOT NULL)")
        con.execute(
            "DELETE FROM names WHERE chunk NOT IN (SELECT name_chunk FROM listing WHERE name_chunk IS NOT NULL)"
        )
        con.execute(
            "DELETE FROM chunks WHERE chunk NOT IN (SELECT chunk FROM names) AND note NOT IN (SELECT note FROM notes)"
        )
        con.execute("DELETE FROM postings WHERE chunk NOT IN (SELECT chunk FROM chunks)")
        set_meta(con, {"sorted": "0"})
