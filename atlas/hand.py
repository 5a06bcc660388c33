"""The one hand that writes: gate, files, commit, index, in that order, under one lock for all processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout
from ulid import ULID

from atlas import commits, gateway, git, pending, vault
from atlas.catalog import Catalog
from atlas.config import now
from atlas.errors import AtlasError, Conflict, NotCommitted, NotFound, Unavailable
from atlas.memory import WHOLE_VAULT, Applied, Change, Finding, Record

if TYPE_CHECKING:
    from atlas.config import Config
    from atlas.snapshot import Index


class Hand:
    """Applies changes to one vault. `repository` is asked anew each time: a person may run `git init` meanwhile."""

    def __init__(self, config: Config, index: Index, repository: Callable[[], git.Repository | None]) -> None:
        self.config, self._index, self._repository = config, index, repository
        self._folder = config.state / "pending"
        self._filelock = FileLock(config.state / "write.lock", timeout=config.lock_seconds, poll_interval=0.01)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """The lock every writer holds from reading to committing. Entering it again is allowed."""
        try:
            self.config.state.mkdir(parents=True, exist_ok=True)
            with self._filelock:
                yield
        except Timeout:
            seconds = self.config.lock_seconds
            raise Unavailable(f"Another process has been writing for over {seconds:g} s: try again shortly.") from None

    def apply(self, changes: Sequence[Change], record: Record) -> Applied:
        """Make the changes and their commit. Raises what the gate, a changed file or a lock says; then nothing changed.

        A commit that cannot be made now is not an error here: the files are saved and `Applied.note` says why.
        """
        with self.lock():
            self.recover()
            with self._index.reader() as reader:
                gateway.check(changes, self.config.scope, Catalog(reader.con, WHOLE_VAULT), self._on_disk)
            intention = pending.note(self._folder, str(ULID()), changes, record)
            try:
                self._write(changes)
            except BaseException:
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

    def recover(self) -> list[str]:
        """Finish what an earlier writer left behind; the paths that were committed. Call under the lock."""
        done: list[str] = []
        left = pending.left(self._folder)
        if left:
            vault.sweep(self.config)
        for intention in left:
            ready = [change for change in intention.changes if self._redo(change)]
            if not ready:
                pending.fulfilled(intention)
            elif self._commit(intention, ready).committed:
                done += [change.path for change in ready]
        return done

    def waiting(self) -> list[str]:
        """Paths saved but not committed yet."""
        return [change.path for intention in pending.left(self._folder) for change in intention.changes]

    def _redo(self, change: Change) -> bool:
        """Whether the file is, or can still be made, what the change wanted."""
        found = self._on_disk(change.path)
        now_id = None if found is None else vault.blob_id(found)
        if now_id == (None if change.data is None else vault.blob_id(change.data)):
            return True
        if now_id != change.before:
            return False
        try:
            self._write_one(change)
        except (Conflict, OSError):
            return False
        return True

    def _write(self, changes: Sequence[Change]) -> None:
        """Write all files, or none: a conflict puts back what was written so far."""
        undo: list[Change] = []
        try:
            for change in changes:
                before = self._on_disk(change.path) if change.before is not None else None
                self._write_one(change)
                undo.append(_reverse(change, before))
        except BaseException:
            for change in reversed(undo):
                self._write_one(change)
            raise

    def _write_one(self, change: Change) -> None:
        if change.data is not None:
            vault.write(self.config, change.path, change.data, change.before)
        elif change.before is not None:
            vault.remove(self.config, change.path, change.before)

    def _commit(self, intention: pending.Intention, changes: Sequence[Change]) -> Applied:
        paths = tuple(change.path for change in changes)
        if not self.config.commit:
            pending.fulfilled(intention)
            return Applied(paths, note="committing is switched off in atlas.toml")
        try:
            repository = self._repository()
            if repository is None:
                pending.fulfilled(intention)
                return Applied(paths, note="the vault is not under Git: run `git init` in it, then `git add -A`")
            limits = commits.Limits(signing=self.config.git_seconds)
            files = {c.path: c.data for c in changes}
            made = commits.commit(repository, files, intention.record, now(), limits)
        except NotCommitted as err:
            return Applied(paths, note=err.reason)
        except AtlasError as err:
            return Applied(paths, note=str(err))
        pending.fulfilled(intention)
        return Applied(paths, made)

    def _refreshed(self, applied: Applied) -> Applied:
        """The index follows; if it cannot, the change stands all the same and says so."""
        try:
            self._index.refresh()
        except Unavailable as err:
            note = f"index degraded: {err} The next search catches up."
            return Applied(applied.paths, applied.commit, f"{applied.note} {note}".strip())
        return applied

    def _on_disk(self, path: str) -> bytes | None:
        try:
            return vault.read(self.config, path)
        except NotFound:
            return None


def _reverse(change: Change, before: bytes | None) -> Change:
    after = None if change.data is None else vault.blob_id(change.data)
    return Change(change.path, before, after)
