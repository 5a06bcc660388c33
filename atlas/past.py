"""The way back: a memory as it was, and what undoing or restoring would write. Plans only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from atlas import derive, git, history, markdown, tombstones
from atlas.commits import OP
from atlas.config import ENDINGS, now
from atlas.errors import AtlasError, NotFound, NotText, UsageError
from atlas.identity import derived_id
from atlas.memory import WHOLE_VAULT, Change, Entry, Memory, Record, Scope
from atlas.paths import is_record
from atlas.source import decode
from atlas.survey import blob_id

Read = Callable[[str], bytes | None]

#: Operations that undo passes over when nobody says which commit: there is nothing in them to take back.
_PLAIN = ("init", "keep", "usage", "purge")
#: How many versions of a file are looked at for the one with the most detail.
_VERSIONS = 200
#: How many entries are looked at, at most, for those of a scope or since a moment.
MOST = 10_000


class Named(Protocol):
    """A memory the index knows."""

    @property
    def path(self) -> str: ...
    @property
    def id(self) -> str: ...


Find = Callable[[str], Named]


@dataclass(frozen=True, slots=True)
class Gone:
    """A memory that is in history only: its last path and the last commit that held it."""

    path: str
    id: str
    commit: str


def entries(repository: git.Repository, name: str | None, find: Find, limit: int) -> list[Entry]:
    """The history of the vault, or of a memory that is here or gone; raises NotFound, Ambiguous."""
    if name is None:
        return history.log(repository, limit=limit)
    try:
        card = find(name)
    except NotFound:
        gone = find_gone(repository, name)
        return history.log(repository, path=gone.path, memory=gone.id, limit=limit)
    return history.log(repository, path=card.path, memory=card.id, limit=limit)


def memory_at(repository: git.Repository, name: str, as_of: str, find: Find, scope: Scope = WHOLE_VAULT) -> Memory:
    """The memory as a revision or date had it, wherever in the scope it lay then; raises NotFound."""
    commit = history.resolve(repository, as_of, now())
    tree = {path: blob for path, blob in repository.tree(commit, ENDINGS).items() if scope.contains(path)}
    path = _path_at(repository, commit, tree, name, find)
    data = repository.read(commit, path)
    return derive.memory(markdown.written_id(data) or derived_id(path), path, data)


def changed(repository: git.Repository, since: str) -> list[Entry]:
    """What happened after a date, "2 weeks ago" or a revision; raises NotFound for anything else."""
    try:
        start = history.resolve(repository, since, now(), day_ends=False)
    except NotFound:
        if history.moment(since, now()) is None:
            raise
        start = ""  # a moment before the first commit
    return history.log(repository, since=start, limit=MOST)


def within(found: Sequence[Entry], scope: Scope) -> list[Entry]:
    """Those of the entries that concern a scope, each without what it says of anything outside."""
    if not scope.prefix:
        return list(found)
    mine = [(entry, tuple(path for path in entry.paths if scope.contains(path))) for entry in found]
    return [
        entry if paths == entry.paths else replace(entry, paths=paths, memories=(), subject=entry.op, reason="")
        for entry, paths in mine
        if paths
    ]


def _path_at(repository: git.Repository, commit: str, tree: dict[str, str], name: str, find: Find) -> str:
    wanted = [name, f"{name}.md"]
    try:
        wanted.append(find(name).path)
    except NotFound:
        gone = find_gone(repository, name)
        wanted.append(gone.path)
    for rename in history.renames(repository):
        if rename.new == wanted[-1]:
            wanted.append(rename.old)
    for path in wanted:
        if path in tree:
            return path
    raise NotFound(f"memory at {commit[:9]}", name, "It may not have existed by then; `atlas log` shows its history.")


def find_gone(repository: git.Repository, name: str) -> Gone:
    """A memory that only history has, by id or by path; raises NotFound."""
    tree = repository.tree("HEAD", ENDINGS) if repository.head() else {}
    for entry in history.log(repository, memory=name, limit=_VERSIONS) or history.log(repository, limit=_VERSIONS):
        for path in entry.paths:
            if path in tree or not path.lower().endswith(ENDINGS):
                continue
            for rev in (entry.commit, f"{entry.commit}^"):
                data = _read_at(repository, rev, path)
                id = "" if data is None else markdown.written_id(data)
                if data is not None and name in (path, path.removesuffix(".md"), id, derived_id(path)):
                    return Gone(path, id or derived_id(path), repository.run("rev-parse", rev).decode().strip())
    raise NotFound("memory", name, "`atlas log` lists what history holds.")


def find_missing(repository: git.Repository, root: Path, name: str) -> Gone | None:
    """A memory that HEAD has and the folder has not, by id or by path; None if there is none of that name."""
    for path in repository.tree("HEAD", ENDINGS) if repository.head() else ():
        if (root / path).exists():
            continue
        id = markdown.written_id(repository.read("HEAD", path))
        if name in (path, path.removesuffix(".md"), id, derived_id(path)):
            return Gone(path, id or derived_id(path), repository.head())
    return None


def undo(
    repository: git.Repository, commit: str | None, read: Read, only: Sequence[str] = ()
) -> tuple[list[Change], Record]:
    """What reverting a commit of Atlas would write, or the part of it that concerns the memories named `only`.

    Raises UsageError if there is none, GitRefused on overlap, NotFound for a memory that the commit did not touch.
    """
    sha = commit or _last_not_undone(repository)
    if not sha:
        raise UsageError("There is no commit of Atlas to undo: `atlas log` shows the history.")
    sha = history.resolve(repository, sha, now())
    files = history.revert_files(repository, sha, read)
    if only:
        files, ids = _part(sha, files, read, only)
        record = Record("undo", f"Undo a part of {sha[:9]}", f"reverts {', '.join(only)} of {sha}", memories=ids)
        return _changes(files, read), record
    entry = next((e for e in history.log(repository, limit=_VERSIONS) if e.commit == sha), None)
    subject = entry.subject if entry else sha[:9]
    memories = tuple(entry.memories) if entry else ()
    record = Record("undo", f"Undo: {subject}", f"reverts {sha}", memories=memories)
    return _changes(files, read), record


def _part(
    sha: str, files: dict[str, bytes | None], read: Read, only: Sequence[str]
) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
    """Of the files that undoing would write, those of these memories; and their ids."""
    found: dict[str, bytes | None] = {}
    ids: dict[str, str] = {}
    for path, data in files.items():
        if is_record(path):
            continue
        sides = [side for side in (data, read(path)) if side is not None]
        written = next((id for side in sides if (id := markdown.written_id(side))), "")
        for name in {written, derived_id(path), path, path.removesuffix(".md")} & set(only):
            found[path] = data
            ids[name] = written or derived_id(path)
    for name in only:
        if name not in ids:
            raise NotFound("memory in this commit", name, f"`git show --stat {sha[:9]}` lists what it changed.")
    return {**found, **_stones(files, read, set(ids.values()))}, tuple(ids.values())


def _stones(files: dict[str, bytes | None], read: Read, ids: set[str]) -> dict[str, bytes | None]:
    """The files of tombstones without those of memories that come back."""
    found: dict[str, bytes | None] = {}
    for path in filter(is_record, files):
        held = read(path)
        for id in ids:
            held = held and tombstones.without(held, id)
        if held != read(path):
            found[path] = held
    return found


def _last_not_undone(repository: git.Repository) -> str:
    """The newest commit of Atlas that no later undo took back, and that is no undo itself."""
    undone: set[str] = set()
    for entry in history.log(repository, limit=_VERSIONS):
        if entry.op == "undo":
            undone.add(entry.reason.removeprefix("reverts "))
        elif entry.op not in _PLAIN and entry.commit not in undone and _is_ours(repository, entry):
            return entry.commit
    return ""


def _is_ours(repository: git.Repository, entry: Entry) -> bool:
    return f"{OP}: " in repository.run("show", "--no-patch", "--format=%B", entry.commit).decode("utf-8", "replace")


def restore(repository: git.Repository, name: str, find: Find, read: Read) -> tuple[list[Change], Record]:
    """What brings a memory back: the file if it is gone, else the fullest earlier text if it had more detail."""
    try:
        card = find(name)
    except NotFound:
        gone = find_gone(repository, name)
        record = Record("restore", f"Restore {gone.path}", f"from {gone.commit}", memories=(gone.id,))
        return _changes({gone.path: repository.read(gone.commit, gone.path)}, read), record
    commit, data = _fullest(repository, card.path, card.id)
    present = read(card.path)
    if data is None or present is None or len(_detail(data)) <= len(_detail(present)):
        raise UsageError(f"{card.path} has all the detail it ever had: there is nothing to restore.")
    record = Record("restore", f"Restore the detail of {card.path}", f"from {commit}", memories=(card.id,))
    return _changes({card.path: data}, read), record


def _fullest(repository: git.Repository, path: str, id: str) -> tuple[str, bytes | None]:
    """The version of a memory with the longest detail, the newest of equals, and its commit."""
    best: tuple[str, bytes | None] = ("", None)
    for entry in history.log(repository, path=path, memory=id, limit=_VERSIONS):
        for there in entry.paths:
            data = _read_at(repository, entry.commit, there)
            if data is None or (there != path and markdown.written_id(data) != id):
                continue
            if best[1] is None or len(_detail(data)) > len(_detail(best[1])):
                best = (entry.commit, data)
    return best


def _detail(data: bytes) -> str:
    try:
        return markdown.parse(decode(data).text, "").detail
    except NotText:
        return ""


def _read_at(repository: git.Repository, rev: str, path: str) -> bytes | None:
    try:
        return repository.read(rev, path)
    except AtlasError:
        return None


def _changes(files: dict[str, bytes | None], read: Read) -> list[Change]:
    """The files to be written, as changes against what is on disk now."""
    out = []
    for path, data in files.items():
        present = read(path)
        out.append(Change(path, data, None if present is None else blob_id(present)))
    return out
