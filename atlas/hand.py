"""The one hand that writes: gate, files, commit, index, in that order, under one lock for all processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout
from ulid import ULID

from atlas import gateway, git, pending, vault
from atlas.catalog import Catalog
from atlas.committer import Committer
from atlas.errors import AtlasError, Conflict, NotFound, Unavailable
from atlas.memory import WHOLE_VAULT, Applied, Change, Finding, Record
from atlas.survey import blob_id

if TYPE_CHECKING:
    from atlas.config import Config
    from atlas.search import Reader
    from atlas.snapshot import Index

#: Seconds after which a commit that failed is a reason not to try the next one at once.
_LONG = 1.0


@dataclass(frozen=True, slots=True)
class Passed:
    """Changes that went through the gate. Made by `Hand.checked` only."""

    changes: tuple[Change, ...]


class Hand:
    """Applies changes to one vault. `repository` is asked anew each time: a person may run `git init` meanwhile."""

    def __init__(self, config: Config, index: Index, repository: Callable[[], git.Repository | None]) -> None:
        self.config, self._index, self._repository = config, index, repository
        self._committer = Committer(config, repository)
        self._folder = config.state / "pending"
        # Whoever is next waits here: a writer in a loop would take the lock again before others look, for minutes.
        self._next = FileLock(config.state / "next.lock", timeout=config.lock_seconds, poll_interval=0.01)
        self._filelock = FileLock(config.state / "write.lock", timeout=config.lock_seconds, poll_interval=0.005)
        self._stuck = ""

    @contextmanager
    def lock(self) -> Iterator[None]:
        """The lock every writer holds from reading to committing. Entering it again is allowed.

        What an earlier writer left is finished first, so that nothing is planned without knowing of it.
        """
        if self._filelock.is_locked:  # by this thread; others are counted apart
            yield
            return
        try:
            self.config.state.mkdir(parents=True, exist_ok=True)
            with self._next:
                self._filelock.acquire()
        except Timeout:
            seconds = self.config.lock_seconds
            raise Unavailable(f"Another process has been writing for over {seconds:g} s: try again shortly.") from None
        try:
            self._stuck = ""
            self._stuck = self._recover()
            yield
        finally:
            self._filelock.release()

    def checked(self, changes: Sequence[Change], reader: Reader) -> Passed:
        """The changes, once the gate has let all of them through: for a planner that has a reader open anyway."""
        gateway.check(changes, self.config.scope, Catalog(reader.con, WHOLE_VAULT), self._on_disk)
        return Passed(tuple(changes))

    def apply(self, asked: Sequence[Change] | Passed, record: Record) -> Applied:
        """Make the changes and their commit. Raises what the gate, a changed file or a lock says; then nothing changed.

        A commit that cannot be made now is not an error here: the files are saved and `Applied.note` says why.
        """
        with self.lock():
            if not isinstance(asked, Passed):
                with self._index.reader() as reader:
                    asked = self.checked(asked, reader)
            changes = asked.changes
            self._committer.keep(dict(self._present(changes)), record, stuck=self._stuck)
            intention = pending.note(self._folder, str(ULID()), changes, record)
            try:
                self._write(changes)
            except BaseException:  # Ctrl-C too: all was put back, so nothing is left to be fulfilled
                pending.fulfilled(intention)
                raise
            applied = self._commit(intention, changes)
        return self._refreshed(applied)

    def sifted(self, changes: Sequence[Change]) -> tuple[list[Change], list[Finding]]:
        """The changes that pass the gate one by one, and why the others do not."""
        passed: list[Change] = []
        refused: list[Finding] = []
        with self._index.reader() as reader:
            known = Catalog(reader.con, WHOLE_VAULT)
            for change in changes:
                try:
                    gateway.check([change], self.config.scope, known, self._on_disk)
                    passed.append(change)
                except AtlasError as err:
                    refused.append(Finding(change.path, 0, "refused", str(err)))
        return passed, refused

    def _recover(self) -> str:
        """Finish what earlier writers left behind. Why it took too long to go on, "" if it did not.

        A signer that hangs is waited for once, not once for every change that waits for it.
        """
        pending.sweep(self._folder)
        left = pending.left(self._folder)
        if left:
            vault.sweep(self.config, [change for intention in left for change in intention.changes])
        began = time.monotonic()
        for place, intention in enumerate(left):
            later = {(change.path, change.before) for after in left[place + 1 :] for change in after.changes}
            ready = [change for change in intention.changes if self._redo(change) or self._followed(change, later)]
            if not ready:
                pending.fulfilled(intention)
                continue
            applied = self._commit(intention, ready)
            if not applied.committed and time.monotonic() - began > _LONG:
                return applied.note
        return ""

    def waiting(self) -> list[str]:
        """Paths saved but not committed yet."""
        return [change.path for intention in pending.left(self._folder) for change in intention.changes]

    def _redo(self, change: Change) -> bool:
        """Whether the file is, or can still be made, what the change wanted."""
        try:
            found = self._on_disk(change.path)
        except (AtlasError, OSError):  # its folder became a link, or cannot be read: no reason to refuse other writes
            return False
        now_id = None if found is None else blob_id(found)
        if now_id == (None if change.data is None else blob_id(change.data)):
            return True
        if now_id != change.before:
            return False
        try:
            self._write_one(change)
        except (Conflict, OSError):
            return False
        return True

    def _followed(self, change: Change, later: Collection[tuple[str, str | None]]) -> bool:
        """Whether a later change goes on from this one, and HEAD is still where it began: each gets its own commit."""
        if change.data is None or (change.path, blob_id(change.data)) not in later:
            return False
        try:
            repository = self._repository()
            head = blob_id(repository.read("HEAD", change.path)) if repository else None
        except NotFound:
            head = None
        except AtlasError:
            return True  # Git cannot be used now, so it waits
        return head == change.before

    def _write(self, changes: Sequence[Change]) -> None:
        """Write all files, or none: a conflict puts back what was written so far."""
        undo: list[Change] = []
        folders: set[Path] = set()
        try:
            for change in changes:
                before = self._on_disk(change.path) if change.before is not None else None
                self._write_one(change, folders)
                undo.append(_reverse(change, before))
            vault.settle(folders)
        except BaseException:  # a conflict, a full disk or Ctrl-C: whichever it was, half of it must not stay
            for change in reversed(undo):
                self._write_one(change)
            raise

    def _write_one(self, change: Change, folders: set[Path] | None = None) -> None:
        if change.data is not None:
            vault.write(self.config, change.path, change.data, change.before, folders)
        elif change.before is not None:
            vault.remove(self.config, change.path, change.before, folders)

    def _commit(self, intention: pending.Intention, changes: Sequence[Change]) -> Applied:
        if self._stuck:
            return Applied(tuple(change.path for change in changes), note=self._stuck)
        applied, settled = self._committer.commit(changes, intention.record)
        if settled:
            pending.fulfilled(intention)
        return applied

    def _refreshed(self, applied: Applied) -> Applied:
        """The index follows; if it cannot, the change stands all the same and says so.

        Where another writer waits, it is left to that one, who has to bring the index up to date before it can plan:
        eight writers would otherwise each do it twice.
        """
        if self._awaited():
            return applied
        try:
            if not self._index.is_current():
                self._index.refresh()
        except Unavailable as err:
            note = f"index degraded: {err} The next search catches up."
            return Applied(applied.paths, applied.commit, f"{applied.note} {note}".strip())
        return applied

    def _awaited(self) -> bool:
        """Whether another writer waits for the lock."""
        try:
            with self._next.acquire(timeout=0):
                return False
        except Timeout:
            return True

    def _present(self, changes: Sequence[Change]) -> Iterator[tuple[str, bytes]]:
        """The files to be changed, as they are."""
        for change in changes:
            data = self._on_disk(change.path) if change.before is not None else None
            if data is not None:
                yield change.path, data

    def _on_disk(self, path: str) -> bytes | None:
        try:
            return vault.read(self.config, path)
        except NotFound:
            return None


def _reverse(change: Change, before: bytes | None) -> Change:
    after = None if change.data is None else blob_id(change.data)
    return Change(change.path, before, after)
