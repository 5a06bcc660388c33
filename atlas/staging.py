"""The user's staging area: private copies to build a commit in, and the exchange of single entries in the real one.

A commit is built in a copy of the user's index in which everything staged is put back to HEAD. Nothing the user
staged can get into it, and the copy keeps Git's cached trees, so the cost does not grow with the vault.

    draft(repo)        a private copy, gone at the end of the block
    exchange(repo, …)  set entries in the user's own index, each only if it is still what was expected

Paths here are from the top of the working tree.
"""

from __future__ import annotations

import os
import random
import secrets
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from atlas.errors import GitRefused
from atlas.git import Repository, fields, raw

#: More paths than this are looked up in a listing of the whole vault: a command line has a length limit.
_FEW = 100
#: Attempts to exchange without holding the lock while preparing; after these, prepare under the lock.
_OPTIMISTIC = 3
#: How the names of private index files begin.
_PRIVATE = "index-"
_ATTEMPTS = 20


class Entry(NamedTuple):
    """One file in a tree or an index: its mode and blob id."""

    mode: str
    blob: str


#: Stands for a path with a merge conflict: equal to nothing that is ever expected.
UNMERGED = Entry("unmerged", "")


@dataclass(frozen=True, slots=True)
class Draft:
    """A private copy of the user's index. `stamp` identifies the file that was copied, None if there was none."""

    repo: Repository
    file: Path
    stamp: tuple[int, ...] | None

    def staged(self, head: str) -> dict[str, tuple[Entry | None, Entry | None]]:
        """Where the index departs from the commit: path → (the commit's entry, the index's)."""
        # `git add -N` leaves an entry that stands for nothing yet; unless it is invisible here it looks staged.
        words = ("diff-index", "--cached", "--ita-invisible-in-index", "--no-renames", "-z")
        rows = fields(self.repo.run(*words, head or self.repo.empty_tree, env=self._env))
        found = {}
        for facts, path in zip(rows[::2], rows[1::2], strict=True):
            mode, new_mode, blob, new_blob, state = facts[1:].split(" ")
            theirs = UNMERGED if state == "U" else _entry(new_mode, new_blob)
            found[path] = (_entry(mode, blob), theirs)
        return found

    def put(self, entries: Mapping[str, Entry | None]) -> None:
        """Set these entries; None removes one."""
        nothing = Entry("0", "0" * len(self.repo.empty_tree))
        lines = [b"%b\t%b\0" % (" ".join(entry or nothing).encode(), raw(path)) for path, entry in entries.items()]
        self.repo.run(*_QUIET, "update-index", "-z", "--index-info", data=b"".join(lines), env=self._env)

    def tree(self, head: str, changing: Collection[str]) -> str:
        """Store the index as a tree; its id. GitRefused if it departs from the commit in other paths than these.

        `update-index` says nothing when it passes over a path it does not allow (`.git/x`), or when it drops a file
        `a` to make room for `a/b`: a commit that holds exactly what it should is looked at, not assumed.
        """
        tree = self.repo.run(*_QUIET, "write-tree", env=self._env).decode().strip()
        base = head or self.repo.empty_tree
        changed = fields(self.repo.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, tree))
        wrong = set(changed) ^ set(changing)
        if wrong:
            raise GitRefused("build the commit", f"{min(wrong)!r} has no place in it; move the file and try again")
        return tree

    def replace(self, patience: float, *, locked: bool = False) -> bool:
        """Make this copy the user's index, unless that has changed since it was copied.

        The copy itself becomes the lock file, so taking the lock, looking and letting go are three system calls.
        """
        index, lock = self.repo.git_dir / "index", self.repo.git_dir / "index.lock"
        if locked:
            if _stamp(index) == self.stamp:
                self.file.replace(index)
                return True
            return False
        mark = _take(self.file, lock, patience)
        try:
            if _stamp(index) != self.stamp:
                return False
            if mark == _mark(self.file):
                lock.replace(index)
            else:
                self.file.replace(index)
            return True
        finally:
            _let_go(lock, mark)

    @property
    def _env(self) -> dict[str, str]:
        return {"GIT_INDEX_FILE": str(self.file)}


#: The user's `post-index-change` hook is about the user's index, not about a copy of it.
_QUIET = ("-c", f"core.hooksPath={os.devnull}")


@contextmanager
def draft(repo: Repository) -> Iterator[Draft]:
    """A private copy of the user's index, removed at the end of the block."""
    file = _private(repo)
    try:
        yield Draft(repo, file, _copy(repo.git_dir / "index", file))
    finally:
        file.unlink(missing_ok=True)
        file.with_name(file.name + ".lock").unlink(missing_ok=True)  # left by a Git that was stopped at its time limit


def exchange(
    repo: Repository,
    head: str,
    expected: Mapping[str, Entry | None],
    wanted: Mapping[str, Entry | None],
    patience: float,
) -> dict[str, Entry | None]:
    """Give the user's index the `wanted` entries, each only where it still has the `expected` one; those it was given.

    An entry that differs is something the user staged, and stays. `head` is the commit `expected` was read from.
    The new index is prepared aside and moved in only if the user's has not changed meanwhile: `git update-index` on
    the real one would overwrite what was staged between our look and its write. Somebody who stages in a tight loop
    could starve that, so after a few attempts the lock is held while preparing. Raises GitRefused.
    """
    for attempt in range(_ATTEMPTS):
        early = attempt >= _OPTIMISTIC
        with _lock(repo, patience) if early else nullcontext(), draft(repo) as copy:
            staged = copy.staged(head)
            # What does not depart from `head` has its entry, which is the expected one, or else the wanted one.
            now = {path: staged[path][1] if path in staged else expected[path] for path in wanted}
            due = {path: wanted[path] for path in wanted if now[path] == expected[path] != wanted[path]}
            due = _beside(due, [path for path, (_, theirs) in staged.items() if theirs])
            if not due:
                return {}
            copy.put(due)
            if copy.replace(patience, locked=early):
                return due
    raise GitRefused("update the staging area", f"another program changed it {_ATTEMPTS} times in a row")


def _beside(due: Mapping[str, Entry | None], staged: Collection[str]) -> dict[str, Entry | None]:
    """Without the entries that have no room: where the user staged `a/b`, Git would drop that to take in `a`."""
    folders = {folder for path in staged for folder in _folders(path)}
    files = set(staged)
    return {path: entry for path, entry in due.items() if path not in folders and files.isdisjoint(_folders(path))}


def _folders(path: str) -> Iterator[str]:
    """Every folder above a path: `a/b/c.md` → `a/b`, `a`."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def entries_at(repo: Repository, commit: str, paths: Collection[str]) -> dict[str, Entry]:
    """The entries of these paths in a commit ("": there is none yet); a path that is not there has none."""
    if not commit:
        return {}
    chosen = ("--", *paths) if len(paths) <= _FEW else ("-r", *repo.within)
    found = {}
    for row in fields(repo.run("ls-tree", "-z", "--full-tree", commit, *chosen)):
        facts, _, path = row.partition("\t")
        mode, kind, blob = facts.split(" ")
        if kind == "blob":
            found[path] = Entry(mode, blob)
    return {path: found[path] for path in paths if path in found}


def workroom(repo: Repository) -> Path:
    """Atlas's own folder inside the Git folder."""
    folder = repo.git_dir / "atlas"
    folder.mkdir(exist_ok=True)
    return folder


def sweep(repo: Repository) -> None:
    """Remove what a killed writer left, its lock on the index included. Call only while no other can be writing.

    A lock is known as Atlas's own by being the same file as a private index that is still there.
    """
    for left in workroom(repo).glob(_PRIVATE + "*"):
        _let_go(repo.git_dir / "index.lock", _mark(left))
        left.unlink(missing_ok=True)


@contextmanager
def _lock(repo: Repository, patience: float) -> Iterator[None]:
    """Hold Git's lock on the index."""
    file, lock = _private(repo), repo.git_dir / "index.lock"
    file.touch()
    try:
        mark = _take(file, lock, patience)
        try:
            yield
        finally:
            _let_go(lock, mark)
    finally:
        file.unlink(missing_ok=True)


def _take(file: Path, lock: Path, patience: float) -> int:
    """Make `file` the lock; its mark. Somebody else's is waited for, `patience` seconds, and never removed."""
    deadline = time.monotonic() + patience
    while not _linked(file, lock):
        if time.monotonic() >= deadline:
            raise GitRefused(
                "update the staging area",
                f"another Git process holds {lock}; if none is running, a killed one left it: remove that file",
            )
        time.sleep(random.uniform(0.002, 0.02))  # noqa: S311 - to fall out of step with others, not a secret
    return _mark(lock)


def _linked(file: Path, lock: Path) -> bool:
    """Give `file` the lock's name as well; False if somebody holds the lock."""
    try:
        lock.hardlink_to(file)
    except FileExistsError:
        return False
    except OSError:  # a disk without hard links (FAT, some network shares)
        try:
            lock.open("x").close()
        except FileExistsError:
            return False
    return True


def _let_go(lock: Path, mark: int) -> None:
    """Remove the lock if it is the one with this mark: after a swap, another program may hold a new one already."""
    if mark and _mark(lock) == mark:
        lock.unlink(missing_ok=True)


def _mark(file: Path) -> int:
    """What tells a file from every other, 0 if there is none."""
    try:
        return file.stat().st_ino
    except FileNotFoundError:
        return 0


def _private(repo: Repository) -> Path:
    return workroom(repo) / f"{_PRIVATE}{secrets.token_hex(6)}"


def _copy(index: Path, file: Path) -> tuple[int, ...] | None:
    """Copy the index with its time.

    Git compares the times of files with that of the index to know which it must read again. A copy that looked
    younger made Git trust entries of files edited in the same tick.
    """
    try:
        with index.open("rb") as source:
            facts = os.fstat(source.fileno())
            file.write_bytes(source.read())
    except FileNotFoundError:
        return None
    file.chmod(facts.st_mode & 0o777)
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def _stamp(index: Path) -> tuple[int, ...] | None:
    try:
        facts = index.stat()
    except FileNotFoundError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def _entry(mode: str, blob: str) -> Entry | None:
    return Entry(mode, blob) if mode != "000000" else None
