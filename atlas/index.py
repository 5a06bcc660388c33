"""The index: rows per blob, a listing that says which path holds which blob, and one way to bring both up to date.

First build, update and repair are the same diff of two listings: what lies on disk, and what the index last saw.
Rows of blobs that left the listing are kept for a while, so switching branches back derives nothing again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from atlas import derive, identity
from atlas.errors import NotText
from atlas.keys import key
from atlas.listing import Diff, Row
from atlas.shelf import Shelf
from atlas.store import FROZEN, get_meta, insert, only_row, set_meta, transaction
from atlas.survey import Fields, Stat, Survey, read_listed, text_id

if TYPE_CHECKING:
    import duckdb

    from atlas.config import Config

_BATCH_BYTES = 4_000_000
#: A file changed this shortly before it was looked at may change again within the clock's tick, so it is read again.
_RACY_NS = 50_000_000
#: Rows of blobs no path holds are dropped once they outnumber the living by this factor (and are many).
_DEAD_FACTOR, _DEAD_FLOOR = 3, 5_000
#: Postings are sorted again once this share (and number) of them was appended since.
_UNSORTED_SHARE, _UNSORTED_FLOOR = 0.25, 100_000

#: What tidying keeps: the files there are, and the memories that history alone holds in full. To derive those again
#: would take a search seconds.
_STANDING = (
    "SELECT note, name_chunk, path_key FROM listing UNION ALL "
    f"SELECT note, name_chunk, path_key FROM moments WHERE starts_with(moment, '{FROZEN}')"
)
#: The tables are looked over after so many files at once, and after so many generations: counting takes 4 ms.
_MANY, _SELDOM = 50, 16

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
        known: Mapping[str, Fields],
        changes: Diff,
        *,
        shelf: Shelf,
        lineage: Lineage,
        head: str,
        progress: Progress | None = None,
    ) -> None:
        self.config, self.con, self.look = config, con, look
        self.known, self.diff = known, changes
        self.shelf, self.lineage, self.head = shelf, lineage, head
        self.progress = progress or (lambda _done, _all: None)
        self.started = time.time_ns()
        self.fresh: list[Row] = []

    def run(self) -> dict[str, int]:
        """Do it; what was done, in numbers.

        Rows keyed by blob are committed batch by batch, so a kill loses little; the listing comes last.
        """
        for batch in self._batches():
            found = (self._look_at(path, stat) for path, stat in batch)
            self.fresh += [row for row in found if row is not None]
            self.shelf.store()
        stored = {row.path: row.note for row in self.fresh if row.note is not None}
        named = self.shelf.names(stored) if stored else {}
        self.fresh = [replace(row, name_chunk=named.get(row.path)) for row in self.fresh]
        before = self._before() if self.fresh else {}
        changed = [r for r in self.fresh if r.path in self.known and before.get(r.path, ())[:2] != (r.blob, r.problem)]
        added = [r for r in self.fresh if r.path not in self.known]
        self._commit_listing(
            {path: ident for path, (_, _, ident) in before.items()}, news=bool(added or changed or self.diff.gone)
        )
        meta = get_meta(self.con)
        due = int(meta["generation"]) - int(meta.get("tidied", 0)) >= _SELDOM
        if due or len(self.fresh) + len(self.diff.gone) >= _MANY:
            tidy(self.con)
            set_meta(self.con, {"tidied": meta["generation"]})
        return {
            "added": len(added),
            "changed": len(changed),
            "removed": len(self.diff.gone),
            "derived": self.shelf.derived,
        }

    def _batches(self) -> Iterator[list[tuple[str, Stat]]]:
        batch: list[tuple[str, Stat]] = []
        size = done = 0
        total = len(self.diff.to_read)
        for path, fields in sorted(self.diff.to_read.items()):
            stat = Stat(*fields)
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
            return Row(path, blob, self.shelf.note(blob, data), hint, None, "")
        except NotText as err:
            return Row(path, blob, None, hint, None, f"binary\n{err.reason}")

    def _before(self) -> dict[str, tuple[str, str, str]]:
        """What is known of the files that were read: blob, problem and id."""
        self.con.register("fresh", {"path": np.array([row.path for row in self.fresh], dtype=object)})
        query = "SELECT path, blob, problem, ident FROM listing SEMI JOIN fresh USING (path)"
        rows = self.con.execute(query).fetchall()
        self.con.unregister("fresh")
        return {path: (blob, problem, ident) for path, blob, problem, ident in rows}

    def _commit_listing(self, idents: Mapping[str, str], *, news: bool) -> None:
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
                insert(self.con, "listing", _listing_columns(self.fresh, idents))
            renamed = assign_identities(self.con, self.lineage, self.head)
            number = int(get_meta(self.con)["generation"]) + (1 if news or renamed else 0)
            set_meta(self.con, {"generation": str(number), "head": self.head, "look": self._settled()})

    def _settled(self) -> str:
        """What stands for this look, if the listing now says all of it; "" if a file has to be looked at again."""
        seen = self.look.files
        if self.diff.held:
            return ""
        read = len(self.fresh) == len(self.diff.to_read) and all(seen[row.path] == row.stat for row in self.fresh)
        return self.look.digest if read else ""


def _listing_columns(rows: list[Row], idents: Mapping[str, str]) -> dict[str, Any]:
    names = ("path", "blob", "note", "size", "mtime", "ctime", "inode", "ident", "name_chunk", "path_key", "problem")
    values = [
        (r.path, r.blob, r.note, r.stat.size, r.stat.mtime, r.stat.ctime, r.stat.inode,
         idents.get(r.path), r.name_chunk, key(r.path), r.problem)
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
    dead, alive = only_row(
        con,
        "SELECT count(*) FILTER (l.note IS NULL), count(*) FILTER (l.note IS NOT NULL) "
        f"FROM notes n LEFT JOIN (SELECT DISTINCT note FROM ({_STANDING})) l ON n.note = l.note",
    )
    if dead > max(_DEAD_FLOOR, _DEAD_FACTOR * alive):
        _drop_dead(con)
    (total,) = only_row(con, "SELECT count(*) FROM postings")
    unsorted = total - int(get_meta(con).get("sorted", 0))
    if unsorted > max(_UNSORTED_FLOOR, _UNSORTED_SHARE * total):
        with transaction(con):
            con.execute("CREATE OR REPLACE TABLE postings AS SELECT * FROM postings ORDER BY term, chunk")
            _rewritten(con, total)


def _drop_dead(con: duckdb.DuckDBPyConnection) -> None:
    with transaction(con):
        con.execute(f"DELETE FROM moments WHERE NOT starts_with(moment, '{FROZEN}')")
        con.execute(f"DELETE FROM notes WHERE note NOT IN (SELECT note FROM ({_STANDING}) WHERE note IS NOT NULL)")
        con.execute(
            f"DELETE FROM names WHERE chunk NOT IN (SELECT name_chunk FROM ({_STANDING}) WHERE name_chunk IS NOT NULL)"
        )
        con.execute(
            "DELETE FROM chunks WHERE chunk NOT IN (SELECT chunk FROM names) AND note NOT IN (SELECT note FROM notes)"
        )
        con.execute("DELETE FROM postings WHERE chunk NOT IN (SELECT chunk FROM chunks)")
        for table in ("handles", "links"):
            con.execute(f"DELETE FROM {table} WHERE note NOT IN (SELECT note FROM notes)")
        con.execute(f"DELETE FROM places WHERE path_key NOT IN (SELECT path_key FROM ({_STANDING}))")
        con.execute("DELETE FROM texts WHERE vec NOT IN (SELECT vec FROM chunks)")
        con.execute("DELETE FROM gitblobs WHERE note NOT IN (SELECT note FROM notes)")
        _rewritten(con, 0)


def _rewritten(con: duckdb.DuckDBPyConnection, ordered: int) -> None:
    """Note that rows did not only grow (numbers may be given out again), and how many postings are in order."""
    set_meta(con, {"sorted": str(ordered), "rewritten": str(int(get_meta(con).get("rewritten", 0)) + 1)})
