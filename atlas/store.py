"""The DuckDB file: opened per operation under a lock, checked, and rebuilt by itself when it cannot be trusted.

A process that keeps the file open locks every other process out, readers too, so nobody keeps it.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
from filelock import FileLock, Timeout

from atlas.config import Config
from atlas.errors import NotAVault, Unavailable

SCHEMA = """
CREATE TABLE meta(key VARCHAR, value VARCHAR);
CREATE TABLE notes(
  note INTEGER, blob VARCHAR, id VARCHAR, label VARCHAR, summary VARCHAR, kind VARCHAR, created BIGINT,
  thread_key BIGINT, source VARCHAR, trust VARCHAR, importance FLOAT, pinned BOOLEAN,
  valid_from BIGINT, valid_to BIGINT, readable BOOLEAN, text_key VARCHAR, tags VARCHAR, entities VARCHAR,
  aliases VARCHAR, links VARCHAR, findings VARCHAR, meta VARCHAR, stale BOOLEAN);
CREATE TABLE chunks(chunk INTEGER, note INTEGER, seq INTEGER, heading VARCHAR, line INTEGER, text VARCHAR,
  words INTEGER, context VARCHAR, vec INTEGER);
CREATE TABLE postings(term UBIGINT, chunk INTEGER, tf USMALLINT);
CREATE TABLE texts(hash VARCHAR, vec INTEGER);
CREATE TABLE models(
  name VARCHAR, signature VARCHAR, choice VARCHAR, file VARCHAR, dim INTEGER, rows INTEGER, ready BOOLEAN);
CREATE TABLE names(name VARCHAR, chunk INTEGER);
CREATE TABLE handles(note INTEGER, handle BIGINT);
CREATE TABLE links(note INTEGER, handle BIGINT, replaced BOOLEAN);
CREATE TABLE places(place INTEGER, path_key BIGINT, handle BIGINT);
CREATE TABLE renames(place INTEGER, old VARCHAR, new VARCHAR);
CREATE TABLE listing(
  path VARCHAR, blob VARCHAR, note INTEGER, size BIGINT, mtime BIGINT, ctime BIGINT, inode UBIGINT,
  ident VARCHAR, name_chunk INTEGER, path_key BIGINT, problem VARCHAR);
CREATE TABLE moments(moment VARCHAR, path VARCHAR, note INTEGER, ident VARCHAR, name_chunk INTEGER, path_key BIGINT);
CREATE TABLE gitblobs(git VARCHAR, note INTEGER);
"""

TABLES = (
    "meta", "notes", "chunks", "postings", "texts", "models", "names", "handles", "links", "places", "renames",
    "listing", "moments", "gitblobs",
)  # fmt: skip

#: Raised with every change of SCHEMA or of the rows derived from the same bytes (tests/test_derive.py notices).
STAMP = "8"

#: How the listing of the memories that history alone holds in full is named among those of commits. There is one.
FROZEN = "frozen-"

#: Two threads are what the machines we measure on have; 256 MB bounds the first build of a large vault.
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 2,
    "memory_limit": "256MB",
    "autoinstall_known_extensions": False,
}

#: Bytes of a DuckDB file before its first block.
_HEADERS = 3 * 4096


class Store:
    """The index file of one vault. Its stamp says how its rows were derived; under another stamp it is built anew.

    One instance of DuckDB lives in memory; the file is attached to it for the length of an operation (1 ms, where
    opening it anew takes 20). Not safe for threads: its owner serialises.
    """

    def __init__(self, config: Config) -> None:
        self.folder = config.state
        self.file = config.state / "index.duckdb"
        self.said: list[str] = []
        #: Seconds the lock was somebody else's when it was last wanted: what was seen before may be old news.
        self.waited = 0.0
        self._seconds = config.lock_seconds
        self._con: duckdb.DuckDBPyConnection | None = None

    @property
    def con(self) -> duckdb.DuckDBPyConnection:
        """The instance in memory; a fresh one after an error that ended the last."""
        if self._con is None:
            self._con = duckdb.connect(":memory:", config=_SETTINGS)
            # Its progress bar would write to the terminal of whoever embeds the library.
            self._con.execute("SET enable_progress_bar = false")
        return self._con

    def close(self) -> None:
        """Let go of the memory."""
        if self._con is not None:
            self._con.close()
            self._con = None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """The inter-process lock on the index. The system frees it when its holder dies."""
        if not self.folder.parent.is_dir():
            raise NotAVault(str(self.folder.parent))  # a folder just removed must not come back for an index
        try:
            self.folder.mkdir(exist_ok=True)
            lock = FileLock(self.folder / "index.lock", timeout=self._seconds, poll_interval=0.005)
            began, self.waited = time.monotonic(), 0.0
            try:
                lock.acquire(timeout=0)
            except Timeout:
                lock.acquire()
                self.waited = time.monotonic() - began
            try:
                yield
            finally:
                lock.release()
        except Timeout:
            raise Unavailable(
                f"The index is in use by another process for over {self._seconds:g} s: try again in a moment."
            ) from None
        except PermissionError as err:
            raise Unavailable(f"The index needs a place to be written, and {err.filename} is not one.") from None

    @contextmanager
    def open(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The database, whole and of the right stamp; an empty one if the old could not be used."""
        with self.lock():
            self._attach()
            try:
                yield self.con
            finally:
                self._detach()

    def discard(self) -> None:
        """Remove the index; the next opening starts an empty one."""
        with self.lock():
            self._remove()

    def examine(self) -> bool:
        """After an error: read every row, and move the file aside if that cannot be done; whether it was."""
        with self.lock():
            if not self.file.exists():
                return False
            try:
                self._use(self.file)
                for table in TABLES:
                    self.con.execute(f"SELECT bit_xor(hash({table})) FROM {table}").fetchall()
            except duckdb.Error as err:
                self._detach()
                self._set_aside(str(err))
                return True
            self._detach()
            return False

    def texts(self) -> Iterator[tuple[str, str]]:
        """Every text in every row: where it stands ("notes.label"), and the text. Call while the database is open."""
        where = "database_name = 'disk' AND data_type = 'VARCHAR'"
        query = f"SELECT table_name, column_name FROM duckdb_columns() WHERE {where}"
        for table, column in self.con.execute(query).fetchall():
            rows = self.con.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} <> ''").fetchall()
            yield from ((f"{table}.{column}", text) for (text,) in rows)

    def generation(self) -> str:
        """What the last writer left beside the database: changes whenever its rows do. Needs no lock."""
        try:
            return (self.folder / "generation").read_text(encoding="ascii")
        except OSError:
            return ""

    def publish(self) -> None:
        """Tell other processes that the rows changed. Call while the database is open, after the commit."""
        self._leave("generation", generation(get_meta(self.con)))

    def seen(self) -> str:
        """Which look at the folder, and which HEAD, the index is up to date with, "" if unknown. Needs no lock."""
        try:
            return (self.folder / "seen").read_text(encoding="ascii") if self.file.exists() else ""
        except OSError:
            return ""

    def show(self, look: str, head: str) -> None:
        """Tell other processes what the index is up to date with. Call while the database is open, after the commit."""
        text = seen_as(look, head)
        if text != self.seen():
            self._leave("seen", text)

    def _leave(self, name: str, text: str) -> None:
        temp = self.folder / f"{name}.{os.getpid()}"
        temp.write_text(text, encoding="ascii")
        temp.replace(self.folder / name)

    def _attach(self) -> None:
        if self.file.exists() and self._attach_existing():
            return
        self._create()
        self._use(self.file)

    def _use(self, file: Path) -> None:
        quoted = str(file).replace("'", "''")
        self.con.execute(f"ATTACH '{quoted}' AS disk")
        self.con.execute("USE disk")

    def _detach(self) -> None:
        """Release the file. An error inside the engine can invalidate the instance; then it is dropped whole."""
        try:
            self.con.execute("USE memory")
            self.con.execute("DETACH DATABASE IF EXISTS disk")
        except duckdb.Error:
            self.close()

    def _attach_existing(self) -> bool:
        """Attach the file if it opens and has the right stamp; otherwise it is out of the way afterwards."""
        try:
            left_open = self._left_open()
            if left_open and not self._survives():
                raise duckdb.IOException("it ends the process that opens it")
            self._use(self.file)
            if not left_open:
                self._check_length()
            if get_meta(self.con).get("stamp") == STAMP:
                return True
            self._detach()
            self._remove()
        except (duckdb.Error, UnicodeDecodeError) as err:
            self._detach()
            self._set_aside(str(err))
        return False

    def _check_length(self) -> None:
        """Raise if the blocks in use cannot all be there: DuckDB would notice only on the way to what is missing.

        Free blocks at the end need not be on disk, so they are not counted.
        """
        query = "SELECT block_size * used_blocks FROM pragma_database_size() WHERE database_name = 'disk'"
        (blocks,) = only_row(self.con, query)
        if self.file.stat().st_size < _HEADERS + blocks:
            raise duckdb.IOException("it is cut short")

    def _create(self) -> None:
        token = secrets.token_hex(6)
        fresh = self.folder / f"index-{token}.new"
        try:
            self._use(fresh)
            self.con.execute(SCHEMA)
            set_meta(self.con, {"stamp": STAMP, "token": token, "generation": "0"})
            self._detach()
            self._remove()  # the log of a database that is gone would be replayed into this one
            fresh.replace(self.file)
            self._sweep()
        except (duckdb.Error, OSError) as err:
            self._detach()
            raise Unavailable(f"The index cannot be written in {self.folder}: {_first_line(err)}.") from None

    def _left_open(self) -> bool:
        """Whether the last process to use it died before closing: its log is still there."""
        return self.file.with_name(self.file.name + ".wal").exists()

    def _survives(self) -> bool:
        """Whether a child process can open it. Some damaged logs abort the process that replays them."""
        import subprocess  # noqa: PLC0415 - 5 ms that only a damaged index pays

        code = "import sys, duckdb; duckdb.connect(sys.argv[1]).close()"
        try:
            tried = subprocess.run(
                [sys.executable, "-c", code, self.file], timeout=60, check=False, capture_output=True
            )
        except subprocess.TimeoutExpired:
            return False
        return tried.returncode == 0

    def _set_aside(self, reason: str) -> None:
        kept = self.folder / f"broken-{int(time.time())}.duckdb"
        self.file.replace(kept)
        self.file.with_name(self.file.name + ".wal").unlink(missing_ok=True)
        for older in sorted(self.folder.glob("broken-*.duckdb"))[:-1]:
            older.unlink(missing_ok=True)
        self.said.append(f"The index could not be read ({_first_line(reason)}); it was rebuilt from the notes.")

    def _remove(self) -> None:
        self.file.unlink(missing_ok=True)
        self.file.with_name(self.file.name + ".wal").unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Remove what earlier databases and killed builders left."""
        for leftover in (*self.folder.glob("vectors-*.f32"), *self.folder.glob("index-*.new*")):
            leftover.unlink(missing_ok=True)


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All or nothing."""
    con.begin()
    try:
        yield
    except BaseException:  # Ctrl-C too: an open transaction would swallow what comes next
        con.rollback()
        raise
    con.commit()


def get_meta(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The meta table: stamp, token, generation, head, texts, sorted, tidied, rewritten, renames_head, as far as set."""
    return dict(con.execute("SELECT key, value FROM meta").fetchall())


def set_meta(con: duckdb.DuckDBPyConnection, values: Mapping[str, str]) -> None:
    """Set values of the meta table."""
    marks = ", ".join("?" * len(values))
    con.execute(f"DELETE FROM meta WHERE key IN ({marks})", list(values))
    pairs = ", ".join(["(?, ?)"] * len(values))
    con.execute(f"INSERT INTO meta VALUES {pairs}", [word for pair in values.items() for word in pair])


def only_row(con: duckdb.DuckDBPyConnection, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
    """The row of a query that has exactly one.

    Fetched to the end: while a result is open, DuckDB refuses to register arrays on its connection.
    """
    (row,) = con.execute(query, list(values)).fetchall()
    return tuple(row)


def generation(meta: Mapping[str, str]) -> str:
    """Which database this is and how often its rows changed."""
    return f"{meta['token']}:{meta['generation']}"


def seen_as(look: str, head: str) -> str:
    """A look and a HEAD as `Store.seen` has them; "" for a look that did not settle."""
    return f"{look} {head}" if look else ""


def insert(con: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, Any], order: str = "") -> None:
    """Append NumPy columns to a table in one statement (row by row is 300 times slower)."""
    if not len(next(iter(columns.values()))):
        return
    rows = dict(columns)
    con.register("incoming", rows)
    con.execute(f"INSERT INTO {table} ({', '.join(rows)}) SELECT * FROM incoming {order}")
    con.unregister("incoming")


def _first_line(text: object) -> str:
    return str(text).splitlines()[0].rstrip(".") if str(text) else "no reason given"
