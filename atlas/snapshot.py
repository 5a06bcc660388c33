"""The index as one engine sees it: converged with the files before every look, and kept in memory while that holds.

A one-shot command reads the database file in place. A long-lived engine copies it into memory once, adds what is new
after each change, and opens the file again only when the folder or another process changed something.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from atlas import listing, models
from atlas.embedding import Embedding
from atlas.errors import Unavailable
from atlas.head import head_commit
from atlas.listen import Folder
from atlas.search import Reader
from atlas.store import Store, generation, get_meta, seen_as, set_meta

if TYPE_CHECKING:
    from atlas.config import Config
    from atlas.index import Lineage, Progress
    from atlas.memory import Finding
    from atlas.moments import Past
    from atlas.resident import Resident
    from atlas.rows import Rows
    from atlas.survey import Fields, Survey


class Index:
    """Brings the index up to date and hands out readers of it. Safe for threads, and for processes by a lock."""

    def __init__(self, config: Config, lineage: Lineage, *, keep: bool = False) -> None:
        self.config, self.keep = config, keep
        self._lineage = lineage
        self._store = Store(config)
        self._mutex = threading.RLock()
        self._embedding = Embedding(models.choice(config), self._store)
        self._reader: Reader | None = None
        self._folder = Folder(config, listen=keep)
        self._seen: dict[str, Fields] = {}
        self._unchanged: Survey | None = None
        self._resident: Resident | None = None
        self._rewritten: str | None = None

    def close(self) -> None:
        """Let go of the memory. The index on disk is complete at any time."""
        self._embedding.rest()
        with self._mutex:
            self._reader = None
            self._resident = None
            self._folder.close()
            self._store.close()

    def embedder(self) -> models.Embedder | None:
        """The embedder the settings want; None where `embedding = "none"`. Raises Unavailable."""
        return models.load(self._embedding.choice)

    def query_vector(self, text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]] | None:
        """The vector of a query by the model whose vectors the reader now open has; None if words alone have to do."""
        return self._embedding.ask(text)

    def model(self) -> dict[str, Any]:
        """Which model answers and what waits for one, as of the last look."""
        return self._embedding.state()

    def skipped(self) -> tuple[Finding, ...]:
        """What the folder's last look passed over: links, unreadable folders, names that are no text."""
        return self._folder.look().skipped

    def texts(self) -> list[tuple[str, str]]:
        """Every text in the index as it is on disk: where it stands, and the text."""
        with self._mutex, self._explained(), self._store.open():
            return list(self._store.texts())

    def generation(self) -> str:
        """What identifies the present state of the index."""
        return self._store.generation()

    def said(self) -> list[str]:
        """What the person should know of repairs made since the last call."""
        with self._mutex:
            said, self._store.said = self._store.said, []
            return said

    def refresh(
        self,
        *,
        full: bool = False,
        rebuild: bool = False,
        embed: bool = False,
        progress: Progress | None = None,
        look: Survey | None = None,
        hold: listing.Hold | None = None,
    ) -> listing.Report:
        """Bring the index up to the state of the folder. `full` reads every file, `rebuild` derives all anew.

        `embed` also makes all vectors that wait for a slow model, however long it takes; others can search meanwhile.
        `look` is a look just taken. `hold` takes out of what has changed what is not to be believed yet.
        """
        began = time.perf_counter()
        with self._mutex, self._explained():
            look, head = look or self._folder.look(), head_commit(self.config.root)
            if rebuild:
                self._store.discard()
                self._reader = None
            with self._store.open() as con:
                look, head = self._still(look, head)
                done, meta = self._converge(look, head, full=full, progress=progress, hold=hold)
                report = replace(listing.report(con, look, **done), settled=meta.get("look") == look.digest)
        if embed and self._embedding.waiting:
            self._embedding.rest()  # or two would make the same vectors
            report = replace(report, embedded=report.embedded + self._embed(progress))
        return replace(report, seconds=time.perf_counter() - began)

    @contextmanager
    def reader(self, *, asking: bool = False) -> Iterator[Reader]:
        """A reader of the index as of now, uncommitted edits included. `asking`: a question comes next."""
        with self._mutex, self._explained():
            look, head = self._folder.look(), head_commit(self.config.root)
            if asking and self._reader is None:
                # Not before the look: each of its system calls would wait for the thread that loads.
                models.load_ahead(self.config.embedding)
            if not self.keep:
                with self._converged(look, head) as (con, meta):
                    self._embedding.tell()
                    yield self._read(con, meta, meta.get("head", ""))
                return
            if self._reader is None or not self._is_current(self._reader, look, head):
                with self._converged(look, head) as (con, meta):
                    self._reader = self._copy(con, meta)
                    self._seen = listing.listing(con)
                self._embedding.tell()
            self._embedding.work_on(self._opened)
            yield self._reader

    @contextmanager
    def reader_at(self, moment: Past) -> Iterator[Reader]:
        """A reader to be asked with this commit as `Filters.moment`. The folder is not looked at: the past stays."""
        with self._mutex, self._explained():
            reader = self._reader
            if reader is None or reader.generation != self._store.generation() or not self._knows(moment):
                with self._store.open() as con:
                    if (moment.commit,) not in con.execute("SELECT DISTINCT moment FROM moments").fetchall():
                        import_module("atlas.moments").add(con, import_module("atlas.shelf").Shelf(con), moment)
                    _, meta = self._settled(con, get_meta(con))
                    self._embedding.tell()
                    if not self.keep:
                        yield self._read(con, meta, moment.commit)
                        return
                    reader = self._reader = self._copy(con, meta)
                    self._seen = listing.listing(con)
            yield reader

    def _knows(self, moment: Past) -> bool:
        return self._resident is not None and moment.commit in self._resident.moments

    def _is_current(self, reader: Reader, look: Survey, head: str) -> bool:
        if reader.generation != self._store.generation() or head != reader.head:
            return False
        if look is not self._unchanged and not listing.diff(look, self._seen):
            self._unchanged = look
        return look is self._unchanged

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What DuckDB says against a query becomes one sentence, never an empty answer."""
        try:
            yield
        except duckdb.Error as err:
            self._reader = self._resident = None
            self._store.close()
            reason = str(err).splitlines()[0]
            if self._store.examine():
                raise Unavailable(f"The index was damaged ({reason}): try again, and it is built anew.") from err
            raise Unavailable(f"The index cannot be used ({reason}): run `atlas index --rebuild`.") from err

    @contextmanager
    def _opened(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The index for one step of the embedding."""
        with self._mutex, self._explained(), self._store.open() as con:
            yield con

    def _embed(self, progress: Progress | None = None) -> int:
        """Make the vectors that wait; how many. What stands in the way is said, words rank all the same."""
        try:
            return self._embedding.catch_up(self._opened, progress)
        except Unavailable as err:
            self._store.said.append(str(err))
            return 0

    @contextmanager
    def _converged(self, look: Survey, head: str) -> Iterator[tuple[duckdb.DuckDBPyConnection, dict[str, str]]]:
        """The open database, brought up to the look, and its meta table.

        A slow model works while the index is closed, so it is opened again after it.
        """
        with self._store.open() as con:
            _, meta = self._converge(*self._still(look, head))
            if not self._embedding.soon:
                yield con, meta
                return
        self._embed()
        with self._store.open() as con:
            yield con, self._converge(*self._still(look, head))[1]

    def _still(self, look: Survey, head: str) -> tuple[Survey, str]:
        """The look, taken again if others had the index meanwhile.

        Theirs was newer: with ours, what they had just taken in would be taken out again, and then in by the next.
        Eight writers and four searchers did little else.
        """
        return (self._folder.look(), head_commit(self.config.root)) if self._store.waited else (look, head)

    def _converge(
        self,
        look: Survey,
        head: str,
        *,
        full: bool = False,
        progress: Progress | None = None,
        hold: listing.Hold | None = None,
    ) -> tuple[dict[str, int], dict[str, str]]:
        """Bring the open database up to the look: what was done, and the meta table after it.

        Most looks find nothing new, and load neither parser nor embedder.
        """
        con, done = self._store.con, {}
        meta = get_meta(con)
        seen = look.digest
        if not full and (meta.get("look"), meta.get("head")) == (seen, head):
            new, meta = self._settled(con, meta)
            self._store.show(seen, head)
            return {"embedded": new}, meta
        known = listing.listing(con)
        changes = listing.diff(look, known, full=full)
        if hold is not None and changes:
            changes = hold(look, known, changes, partial(listing.unreadable, con))
        if not changes and not changes.held:
            set_meta(con, {"look": seen})
            meta = {**meta, "look": seen}
        if changes or meta.get("head") != head:
            shelf = import_module("atlas.shelf").Shelf(con)
            run = import_module("atlas.index").Refresh(
                self.config, con, look, known, changes, shelf=shelf, lineage=self._lineage, head=head, progress=progress
            )
            done = run.run()
            meta = get_meta(con)
        done["held"] = len(changes.held)
        done["embedded"], meta = self._settled(con, meta)
        self._store.show(meta.get("look", ""), meta.get("head", ""))
        return done, meta

    @property
    def waited(self) -> float:
        """Seconds for which another process had the index when it was last opened."""
        return self._store.waited

    def is_current(self, look: Survey | None = None) -> bool:
        """Whether another process has brought the index up to this look (or one taken now). Takes no lock."""
        seen = seen_as((look or self._folder.look()).digest, head_commit(self.config.root))
        return seen == self._store.seen()

    def _settled(self, con: duckdb.DuckDBPyConnection, meta: dict[str, str]) -> tuple[int, dict[str, str]]:
        """Settle which model answers: how many passages it embedded now, and the meta table after it."""
        new = self._embedding.settle(con, meta)
        if new:
            meta = get_meta(con)
        if self._store.generation() != generation(meta):
            self._store.publish()
        return new, meta

    def _read(
        self, con: duckdb.DuckDBPyConnection, meta: Mapping[str, str], head: str, rows: Rows | None = None
    ) -> Reader:
        return Reader(con, self._embedding.matrix(), generation(meta), head, self._embedding.mix(), rows)

    def _copy(self, con: duckdb.DuckDBPyConnection, meta: Mapping[str, str]) -> Reader:
        """Bring the copy in memory up to the database: whole the first time, then what was appended since."""
        old = self._reader
        if old is not None and old.generation == generation(meta):
            old.head = meta.get("head", "")
            return old
        grown = old is not None and old.generation.partition(":")[0] == meta["token"]
        copy, self._resident = self._resident, None  # who is interrupted in the middle starts over
        if copy is None or not grown or self._rewritten != meta.get("rewritten"):
            copy = import_module("atlas.resident").Resident(con)
        copy.take()
        self._resident = copy
        self._rewritten = meta.get("rewritten")
        return self._read(con, meta, meta.get("head", ""), self._resident)
