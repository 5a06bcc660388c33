"""The errors of Atlas. Each carries its facts as attributes; the sentence is said once, at the door.

    AtlasError                    1   base: refused, or found problems
    ├── UsageError                2   the call's words are wrong
    ├── NotFound                  1   no memory, revision or file of that name
    ├── Ambiguous                 1   a name that fits several memories
    ├── NotAVault                 1   no atlas.toml here or above
    ├── OutsideVault              1   a path that leaves the vault, or enters Git's or Atlas's own folders
    ├── Unparsable                1   a file whose metadata cannot be read; it is never rewritten
    ├── NotText                   1   a file that is not text
    ├── Conflict                  1   the file changed since it was read; holds both sides
    ├── Outdated                  1   a change meant for another version of the memory than the one there is
    ├── SecretFound               1   text that looks like a credential
    ├── Protected                 1   a memory that is not forgotten, and what would have to be done first
    ├── DuplicateId               1   two files claim one id
    ├── GitRefused                1   Git said no; holds what it said
    ├── NotCommitted              3   saved on disk, not committed, and why
    └── Unavailable               4   a lock or the index cannot be had in time

The number is the exit code of the command line.
"""

from __future__ import annotations

from collections.abc import Sequence


class AtlasError(Exception):
    """Base of every error Atlas raises on purpose. `str()` is one sentence with the next step."""

    exit_code = 1


class UsageError(AtlasError):
    """An argument that cannot be meant."""

    exit_code = 2


class NotFound(AtlasError):
    """Nothing has this name."""

    def __init__(self, what: str, name: str, hint: str = "") -> None:
        self.what, self.name, self.hint = what, name, hint
        super().__init__(f"No {what} is called {name!r}." + (f" {hint}" if hint else ""))


class Ambiguous(AtlasError):
    """A name that several memories answer to."""

    def __init__(self, name: str, candidates: Sequence[str]) -> None:
        self.name, self.candidates = name, tuple(candidates)
        shown = ", ".join(self.candidates[:5])
        super().__init__(f"{name!r} could be any of {shown}: say which by its path or id.")


class NotAVault(AtlasError):
    """The folder is not an Atlas vault."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        super().__init__(f"There is no atlas.toml in {folder} or above it: run `atlas init` there first.")


class OutsideVault(AtlasError):
    """A path that would leave the vault or enter a reserved folder."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path!r} is not a place for a memory: {reason}.")


class Unparsable(AtlasError):
    """A file whose metadata does not parse. Atlas leaves its bytes alone."""

    def __init__(self, path: str, line: int, reason: str) -> None:
        self.path, self.line, self.reason = path, line, reason
        super().__init__(f"{path}:{line}: {reason}; repair it by hand, then try again.")


class NotText(AtlasError):
    """A file that cannot be read as text."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"This is not text: {reason}.")


class Conflict(AtlasError):
    """The file is no longer the one that was read. Nothing was written; both sides are here.

    `ours` is what was to be written, `theirs` what is on disk now (None: the file is gone).
    """

    def __init__(self, path: str, ours: bytes | None, theirs: bytes | None) -> None:
        self.path, self.ours, self.theirs = path, ours, theirs
        super().__init__(f"{path} changed while it was being edited: nothing was written; read it again and retry.")


class Outdated(AtlasError):
    """A change that was meant for another version of the memory. Nothing was written.

    `expected` is the version (a Git blob id) that was asked for, `version` the one there is.
    """

    def __init__(self, path: str, expected: str, version: str) -> None:
        self.path, self.expected, self.version = path, expected, version
        super().__init__(
            f"{path} is at version {version} now, not {expected}: nothing was written; read it again, then retry."
        )


class SecretFound(AtlasError):
    """Text that looks like a credential. The value itself is never repeated."""

    def __init__(self, path: str, line: int, kind: str) -> None:
        self.path, self.line, self.kind = path, line, kind
        super().__init__(f"{path}:{line} looks like a secret ({kind}): nothing was stored; remove it and try again.")


class Protected(AtlasError):
    """A memory that is not to be forgotten; `how` is what would have to be done first."""

    def __init__(self, path: str, reason: str, how: str) -> None:
        self.path, self.reason, self.how = path, reason, how
        super().__init__(f"{path} is not forgotten: {reason}; {how}.")


class DuplicateId(AtlasError):
    """Two files claim the same id."""

    def __init__(self, id: str, paths: Sequence[str]) -> None:
        self.id, self.paths = id, tuple(paths)
        others = ", ".join(self.paths)
        super().__init__(f"The id {id} is already used by {others}: remove the `id:` line from the copy.")


class GitRefused(AtlasError):
    """Git refused; `said` is its own sentence."""

    def __init__(self, doing: str, said: str) -> None:
        self.doing, self.said = doing, said
        super().__init__(f"Git could not {doing}: {said}")


class NotCommitted(AtlasError):
    """The files are saved; the commit is still to be made. `paths` are relative to the vault."""

    exit_code = 3

    def __init__(self, reason: str, paths: Sequence[str] = ()) -> None:
        self.reason, self.paths = reason, tuple(paths)
        super().__init__(f"Saved, not committed: {reason}")


class Unavailable(AtlasError):
    """A lock, or the index, could not be had within the time allowed."""

    exit_code = 4
