"""What the next commit would hold, judged by its staged bytes. It changes nothing: no add, no stash, no write."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from atlas import git
from atlas.config import Config
from atlas.memory import Finding
from atlas.process import Ran, refused
from atlas.survey import ignorer, is_memory

if TYPE_CHECKING:
    from atlas.checks import Checked

#: Where the id of a note may stand, as bytes: what most notes have not need not be parsed.
_ID_LINE = re.compile(rb"""^id:[ \t]*["']?([0-9A-Za-z]{26})""", re.MULTILINE)
_NOTHING = frozenset("0")
#: The kind `checks` gives an id of another scheme than Atlas's.
_FOREIGN = "foreign-id"


class Staged(NamedTuple):
    """One staged note: its blob, and that of HEAD at the same path ("" for none)."""

    path: str
    blob: str
    before: str


def findings(config: Config, repository: git.Repository) -> list[Finding]:
    """What is wrong with the staged notes; paths are the vault's own."""
    index = index_of_hook(repository)
    notes = staged(config, repository, index)
    held = dict(repository.blobs(blob for note in notes for blob in (note.blob, note.before)))
    notes = [note for note in notes if note.blob in held]
    search = _Search(repository, index, notes, held)
    # Imported while Git looks for the ids: a commit waits for the longer of the two, not for both.
    check = import_module("atlas.checks").check
    most = config.max_note_bytes
    checked: dict[str, Checked] = {n.path: check(n.path, held[n.blob], most, held.get(n.before)) for n in notes}
    said = [finding for found in checked.values() for finding in found.findings]
    if any(finding.kind == _FOREIGN for finding in said) and _numbers_notes(repository):
        said = [finding for finding in said if finding.kind != _FOREIGN]
    ids = {path: found.id for path, found in checked.items()}
    return sorted([*said, *_used_twice(ids, search)], key=lambda f: (f.path, f.line, f.kind))


def _numbers_notes(repository: git.Repository) -> bool:
    """Whether HEAD has a note with an id of another scheme than Atlas's: then that is how this vault does it."""
    is_id = import_module("atlas.checks").is_id
    ran = repository.call("grep", "-h", "-a", "-E", "-e", "^id:", "HEAD", *repository.within)
    lines = (line.partition(":")[2].strip(" \t\r\"'") for line in git.text_of(ran.out).splitlines())
    return any(line and not is_id(line) for line in lines)


def staged(config: Config, repository: git.Repository, index: str) -> list[Staged]:
    """The notes that the index holds and HEAD does not, in this version.

    In a merge, what the other side already committed is theirs to answer for: only what is in neither is judged.
    """
    rows = _changed(repository, index, "HEAD")
    if (repository.git_dir / "MERGE_HEAD").exists():
        theirs = _changed(repository, index, "MERGE_HEAD")
        rows = {path: row for path, row in rows.items() if path in theirs}
    ignored = ignorer(config.ignore)
    return [row for path, row in rows.items() if is_memory(path) and not ignored(path)]


def _changed(repository: git.Repository, index: str, base: str) -> dict[str, Staged]:
    """Regular files in the index whose content is not that of `base`."""
    words = ("diff-index", "--cached", "-z", "--no-renames")
    env = {"GIT_INDEX_FILE": index} if index else None
    ran = repository.call(*words, base, *repository.within, env=env)
    if ran.code and not repository.head():  # before the first commit
        ran = repository.call(*words, repository.empty_tree, *repository.within, env=env)
    if ran.code:
        raise refused(words, ran)
    rows = git.fields(ran.out)
    found = {}
    for facts, name in zip(rows[::2], rows[1::2], strict=True):
        old_mode, mode, before, blob, _ = facts.split(" ")
        path = repository.own(name)
        if path and mode.startswith("100"):
            known = old_mode.startswith(":100") and not set(before) <= _NOTHING
            found[path] = Staged(path, blob, before if known else "")
    return found


def index_of_hook(repository: git.Repository) -> str:
    """The index a hook is asked about: for `git commit -a` and `git commit PATH` it is not the repository's own.

    Only one that lies in this repository counts: the hook of another one may have started us.
    """
    named = os.environ.get("GIT_INDEX_FILE", "")
    place = (repository.top / named).resolve()
    return str(place) if named and place.is_relative_to(repository.git_dir.resolve()) else ""


class _Search:
    """Git looking through the index for ids that come with this commit; most commits bring none, and start none."""

    def __init__(
        self, repository: git.Repository, index: str, notes: Sequence[Staged], held: Mapping[str, bytes]
    ) -> None:
        brought = {n.path: {*_ids(held[n.blob])} - {*_ids(held.get(n.before, b""))} for n in notes}
        self.brought = {path: ids for path, ids in brought.items() if ids}
        self._repository, self._index = repository, index
        self._ran: Ran | None = None
        self._thread = threading.Thread(target=self._look) if self.brought else None
        if self._thread:
            self._thread.start()

    def _look(self) -> None:
        wanted = "|".join(re.escape(id) for id in sorted({*chain(*self.brought.values())}))
        pattern = f"""^id:[[:space:]]*["']?({wanted})"""
        words = ("grep", "--cached", "-z", "-l", "-a", "-E", "-e", pattern, *self._repository.within)
        env = {"GIT_INDEX_FILE": self._index} if self._index else None
        self._ran = self._repository.call(*words, env=env)

    def owners(self, known: Iterable[str]) -> Iterator[tuple[str, str]]:
        """(path, id) of the other notes of the index that have such an id in their metadata."""
        if self._thread is None:
            return
        self._thread.join()
        if self._ran is None or self._ran.code > 1:
            raise refused(("grep",), self._ran or Ran(1, b"", ""))
        ours = set(known)
        named = map(self._repository.own, git.fields(self._ran.out))
        others = [path for path in named if path and path not in ours and is_memory(path)]
        if not others:
            return
        check = import_module("atlas.checks").check
        for path, data in self._read(others):
            yield path, check(path, data, len(data)).id

    def _read(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        env = {"GIT_INDEX_FILE": self._index} if self._index else None
        full = [self._repository.full(path) for path in paths]
        rows = git.fields(self._repository.run("ls-files", "-s", "-z", "--full-name", "--", *full, env=env))
        blobs = {}
        for row in rows:
            facts, _, name = row.partition("\t")
            blobs[self._repository.own(name) or ""] = facts.split(" ")[1]
        held = dict(self._repository.blobs(blobs.values()))
        yield from ((path, held[blob]) for path, blob in blobs.items() if path and blob in held)


def _ids(data: bytes) -> list[str]:
    return [match.decode() for match in _ID_LINE.findall(data)]


def _used_twice(ids: Mapping[str, str], search: _Search) -> list[Finding]:
    """Ids that come with this commit and are taken. An editor's "duplicate this note" copies the id."""
    if not search.brought:
        return []
    is_conflict_copy = import_module("atlas.identity").is_conflict_copy
    owners: dict[str, str] = {}
    for path, id in search.owners(ids):
        owners.setdefault(id, path)
    found = []
    # Who had the id before keeps it; then never the conflict copy.
    for path in sorted(ids, key=lambda p: (ids[p] in search.brought.get(p, ()), is_conflict_copy(p), len(p), p)):
        id = ids[path]
        owner = owners.setdefault(id, path) if id else path
        if owner != path and id in search.brought.get(path, ()):
            found.append(Finding(path, 1, "duplicate-id", f"has the id of {owner}; remove the `id:` line here"))
    return found
