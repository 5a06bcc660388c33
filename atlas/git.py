"""The repository of a vault: where it is, what state it is in, and what it holds.

Git's plumbing, with `-z` wherever names are listed. `commits.py` writes, `history.py` reads the past.

    look(folder)    the repository of a vault, or why Git cannot be used there; never raises
    find(folder)    the same, raising GitRefused
    Repository      frozen: its places, its state, its trees and blobs
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from atlas.config import ENDINGS, MARKER
from atlas.errors import GitRefused, NotFound
from atlas.paths import is_record
from atlas.process import SECONDS, Ran, call, refused

#: Operations under way, by the file or folder Git keeps meanwhile. The first that exists is named.
OPERATIONS = (
    ("rebase-merge", "a rebase"),
    ("rebase-apply/applying", "applying patches (`git am`)"),
    ("rebase-apply", "a rebase"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("sequencer/todo", "a series of cherry-picks or reverts"),
    ("BISECT_LOG", "a bisect"),
)

#: How Git says that an object or a path in a revision is not there.
_ABSENT = ("Not a valid object name", "invalid object name", "does not exist in", "exists on disk, but not in")
_ID = re.compile(r"[0-9a-f]{40,64}")
_UNMERGED = frozenset({"DD", "AU", "UD", "UA", "DU", "AA", "UU"})
_BATCH = 500


class Position(NamedTuple):
    """Where HEAD is: the full name of the branch ("" when detached) and the commit ("" before the first)."""

    branch: str
    head: str


def look(folder: Path) -> tuple[Repository | None, str]:
    """The repository that holds `folder`, or None and why Git cannot be used there ("" when there simply is none)."""
    where = folder.resolve()
    flags = ("--is-bare-repository", "--is-inside-git-dir", "--show-object-format", "--show-cdup", "--absolute-git-dir")
    ran = call(where, "rev-parse", *flags)
    if ran.code:
        return None, "" if "not a git repository (or any" in ran.said else ran.said
    bare, within, object_format, rest = text_of(ran.out).removesuffix("\n").split("\n", 3)
    if bare == "true":
        return None, f"{rest} is a bare repository, without files to work on: clone it and use the clone"
    if within == "true":
        return None, f"{where} lies inside Git's own folder {rest}"
    up, git_dir = rest.split("\n", 1)
    top = (where / up).resolve()
    if not where.is_relative_to(top):
        return None, f"the working tree of {git_dir} is {top}, which does not hold {where}"
    prefix = "".join(part + "/" for part in where.relative_to(top).parts)
    repository = Repository(where, top, Path(git_dir), _common(Path(git_dir)), prefix, object_format)
    if prefix and repository.ignored([""]):
        return None, ""  # the larger repository was told to leave this folder alone, so it is not under Git
    return repository, ""


def find(folder: Path) -> Repository | None:
    """The repository that holds `folder`, None if there is none; GitRefused (bare, other owner, …) in Git's words."""
    repository, reason = look(folder)
    if reason:
        raise GitRefused(f"use {folder}", reason)
    return repository


def ensure_repository(folder: Path) -> Repository:
    """The repository that holds `folder`, made there (branch main) if there was none; raises GitRefused."""
    found = find(folder)
    if found is None:
        ran = call(folder, "init", "--quiet", "--initial-branch=main")
        found = find(folder) if ran.code == 0 else None
        if found is None:
            raise GitRefused(f"make a repository in {folder}", ran.said)
    return found


@dataclass(frozen=True, slots=True)
class Repository:
    """A vault's repository. Paths given and returned are relative to the vault, in Git's spelling.

    `folder` is the vault, `top` the working tree that holds it, `prefix` the vault's path below `top` ("" or "a/b/");
    `git_dir` is this working tree's own Git folder, `common_dir` the one all linked working trees share.
    """

    folder: Path
    top: Path
    git_dir: Path
    common_dir: Path
    prefix: str = ""
    object_format: str = "sha1"

    def call(
        self,
        *words: str,
        data: bytes | None = None,
        env: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
        literal: bool = True,
    ) -> Ran:
        """Run Git at the top of the working tree; see the module's `call`."""
        return call(self.top, *words, data=data, env=env, seconds=seconds, literal=literal)

    def run(
        self, *words: str, data: bytes | None = None, env: Mapping[str, str] | None = None, seconds: float = SECONDS
    ) -> bytes:
        """What Git answers; raises GitRefused with what it said instead."""
        ran = self.call(*words, data=data, env=env, seconds=seconds)
        if ran.code:
            raise refused(words, ran)
        return ran.out

    def full(self, path: str) -> str:
        """The path from the top of the working tree."""
        return self.prefix + path

    def own(self, full: str) -> str | None:
        """The vault's spelling of a path from the top, None if it lies outside the vault."""
        return full.removeprefix(self.prefix) if full.startswith(self.prefix) else None

    @property
    def within(self) -> tuple[str, ...]:
        """The pathspec of the vault: nothing for a vault that is the whole working tree."""
        return ("--", self.prefix) if self.prefix else ()

    # ------------------------------------------------------------------ state

    def position(self) -> Position:
        """Where HEAD is."""
        ran = self.call("rev-parse", "HEAD", "--symbolic-full-name", "HEAD")
        if ran.code:
            return Position(text_of(self.run("symbolic-ref", "--quiet", "HEAD")).strip(), "")
        head, _, branch = text_of(ran.out).rstrip("\n").partition("\n")
        return Position("" if branch == "HEAD" else branch, head)

    def head(self) -> str:
        """The commit HEAD names, "" before the first."""
        return self.position().head

    def operation(self) -> str:
        """The operation of the user's that is under way, in words, "" if none. Mostly looks at files only."""
        for name, words in OPERATIONS:
            # `post-merge` runs before MERGE_HEAD is removed: what HEAD has as an ancestor is merged.
            if (self.git_dir / name).exists() and not (name == "MERGE_HEAD" and self._merged()):
                return words
        # Under the reftable format, CHERRY_PICK_HEAD and REVERT_HEAD are no files.
        if (self.common_dir / "reftable").is_dir():
            return next((words for name, words in OPERATIONS if name.endswith("_HEAD") and self.names(name)), "")
        return ""

    def _merged(self) -> bool:
        try:
            heads = (self.git_dir / "MERGE_HEAD").read_text(encoding="ascii").split()
        except FileNotFoundError:  # ended this moment
            return True
        return all(self.call("merge-base", "--is-ancestor", head, "HEAD").code == 0 for head in heads)

    def names(self, name: str) -> bool:
        """Whether `name` is a reference that exists."""
        return self.call("rev-parse", "--quiet", "--verify", name).code == 0

    def blocked(self, where: Position | None = None) -> str:
        """Why no commit may be made now, "" if one may."""
        busy = self.operation()
        if busy:
            return f"{busy} is under way; it is committed after that has ended"
        if not (where or self.position()).branch:
            return "HEAD is detached, so a commit would belong to no branch; run `git switch` to a branch"
        return ""

    def uncommitted(self) -> tuple[str, ...]:
        """Files of the vault that differ from HEAD or are new: memories, `atlas.toml`, ledger and usage.

        Ignored files, links, and files with a merge conflict (their text is two texts) are not among them.
        """
        options = ("--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all")
        rows = fields(self.run("status", *options, *self.within))
        changed = ((row[:2], self.own(row[3:])) for row in rows)
        return tuple(path for state, path in changed if path and state not in _UNMERGED and is_kept(path))

    def tracked(self) -> tuple[str, ...]:
        """Every path of the vault in the user's index."""
        names = fields(self.run("ls-files", "-z", *self.within))
        return tuple(dict.fromkeys(path for path in map(self.own, names) if path))

    def ignored(self, paths: Iterable[str]) -> frozenset[str]:
        """Which of these paths Git was told to ignore and does not track. "" stands for the vault itself."""
        # This command refuses --literal-pathspecs, and `:` at the start would be magic; `./` makes it a plain name.
        wanted = {"./" + self.full(path): path for path in paths}
        data = b"".join(raw(name) + b"\0" for name in wanted)
        ran = self.call("check-ignore", "-z", "--stdin", data=data, literal=False)
        if ran.code > 1:
            raise refused(("check-ignore",), ran)
        return frozenset(wanted[name] for name in fields(ran.out))

    def unmerged(self) -> dict[str, dict[int, str]]:
        """Files of the vault that a merge left in conflict, path → blob id by stage: 1 base, 2 ours, 3 theirs.

        A stage is missing where that side has no such file. Links and submodules are left out.
        """
        found: dict[str, dict[int, str]] = {}
        for row in fields(self.run("ls-files", "--unmerged", "-z", *self.within)):
            facts, _, name = row.partition("\t")
            mode, blob, stage = facts.split(" ")
            path = self.own(name)
            if path and mode.startswith("100"):
                found.setdefault(path, {})[int(stage)] = blob
        return found

    def staged(self, index: str = "", head: str = "HEAD") -> dict[str, str]:
        """What the index holds that HEAD does not, path → blob id ("" when removed), the vault's part.

        `index` is the file to judge: in a hook, the value of GIT_INDEX_FILE, relative to the top.
        """
        base = head if self.names(head) else self.empty_tree
        env = {"GIT_INDEX_FILE": index} if index else None
        rows = fields(self.run("diff-index", "--cached", "-z", "--no-renames", base, *self.within, env=env))
        pairs = ((self.own(path), row.split(" ")) for row, path in zip(rows[::2], rows[1::2], strict=True))
        return {path: "" if set(new[3]) == {"0"} else new[3] for path, new in pairs if path}

    # ---------------------------------------------------------------- reading

    @property
    def empty_tree(self) -> str:
        """The id of the tree without entries; Git knows it without storing it."""
        sha256 = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
        return sha256 if self.object_format == "sha256" else "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

    def tree(self, rev: str = "HEAD", endings: tuple[str, ...] = ()) -> dict[str, str]:
        """The vault's files at a revision, path → blob id; links and submodules left out. Raises NotFound.

        `endings` (lower case) keeps only the names that end so.
        """
        ran = self.call("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", rev, *self.within)
        if ran.code:
            raise _absent(("ls-tree",), ran, "revision", rev)
        files = {}
        for row in fields(ran.out):
            facts, _, name = row.partition("\t")
            mode, _, blob = facts.split(" ")
            path = self.own(name)
            if path and mode.startswith("100") and (not endings or path.lower().endswith(endings)):
                files[path] = blob
        return files

    def read(self, rev: str, path: str) -> bytes:
        """The bytes Git holds for a file at a revision; raises NotFound."""
        if not rev or rev.startswith("-"):  # `:path` would be the index, `-x` an option
            raise NotFound("revision", rev)
        ran = self.call("cat-file", "blob", f"{rev}:{self.full(path)}")
        if ran.code:
            raise _absent(("cat-file",), ran, f"file at {rev}", path)
        return ran.out

    def blobs(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Each of these blobs with its bytes, in order; ids the repository does not hold are left out.

        One process reads 500 at a time: memory stays bounded, and a caller that stops early leaves nothing running.
        """
        wanted = [id for id in dict.fromkeys(ids) if _ID.fullmatch(id)]
        for start in range(0, len(wanted), _BATCH):
            data = "\n".join(wanted[start : start + _BATCH]).encode() + b"\n"
            yield from batch(self.run("cat-file", "--batch", data=data))


def is_kept(path: str) -> bool:
    """Whether a path is part of the truth that Atlas commits."""
    return path.lower().endswith(ENDINGS) or path == MARKER or path.startswith("ledger/") or is_record(path)


def _absent(words: tuple[str, ...], ran: Ran, what: str, name: str) -> NotFound | GitRefused:
    """The error for a name that may just not exist: a damaged repository must not look like an absent file."""
    missing = any(phrase in ran.said for phrase in _ABSENT)
    return NotFound(what, name) if missing else refused(words, ran)


def _common(git_dir: Path) -> Path:
    file = git_dir / "commondir"
    return (git_dir / text_of(file.read_bytes()).strip()).resolve() if file.is_file() else git_dir


def batch(out: bytes) -> Iterator[tuple[str, bytes]]:
    """The objects in the output of `cat-file --batch`: a header line, so many bytes, a line end."""
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        facts = out[at:end].decode().split(" ")
        at = end + 1
        if len(facts) == 3:
            size = int(facts[2])
            yield facts[0], out[at : at + size]
            at += size + 1


def fields(out: bytes) -> list[str]:
    """The fields of NUL-terminated output."""
    return text_of(out).split("\0")[:-1]


def text_of(raw: bytes) -> str:
    """A name as Git has it; bytes that are no UTF-8 survive the way back."""
    return raw.decode("utf-8", "surrogateescape")


def raw(text: str) -> bytes:
    """The bytes of a name as `text_of` read it."""
    return text.encode("utf-8", "surrogateescape")
