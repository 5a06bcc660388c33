"""What Git knows that the index needs: renames, for notes without a written id, and the tree of a commit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from atlas import git, history
from atlas.config import ENDINGS, now
from atlas.errors import NotFound, UsageError
from atlas.identity import Lineage
from atlas.survey import is_memory


@dataclass(frozen=True, slots=True)
class Moment:
    """A commit of one repository, and when it was made: microseconds since 1970."""

    repository: git.Repository
    commit: str
    made: float

    def tree(self) -> dict[str, str]:
        """The notes there were, path → Git's blob id."""
        return {p: blob for p, blob in self.repository.tree(self.commit, ENDINGS).items() if is_memory(p)}

    def blobs(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The bytes of blobs."""
        return self.repository.blobs(ids)

    def lineage(self) -> Lineage:
        """All renames on the way to HEAD, newest first."""
        return Lineage(tuple((r.old, r.new) for r in history.renames(self.repository)))


def moment(root: Path, name: str) -> Moment:
    """The commit a revision, tag or date means; raises NotFound, GitRefused, UsageError."""
    repository = git.find(root)
    if repository is None:
        raise UsageError("This vault is not under Git, so it has no past: run `git init` in it.")
    commit = history.resolve(repository, name, now())
    return Moment(repository, commit, float(repository.run("show", "--no-patch", "--format=%ct", commit)) * 1e6)


def lineage(root: Path, since: str) -> tuple[Lineage, bool]:
    """Renames after the commit `since` and HEAD's tree; and whether `since` was of no use, so these are all renames."""
    repository, _ = git.look(root)
    if repository is None:
        return Lineage(), True
    try:
        tree = repository.tree("HEAD", ENDINGS)
    except NotFound:  # no commit yet
        return Lineage(), True
    renames, known = history.renames_since(repository, since)
    return Lineage(tuple((r.old, r.new) for r in renames), tree), not known


def removed(repository: git.Repository) -> dict[str, tuple[str, ...]]:
    """Every note that some commit took away from its path: the blob ids it had when it went, newest first."""
    if not repository.head():
        return {}
    options = ("--raw", "--no-renames", "--diff-filter=D", "--no-abbrev", "-z", "--format=")
    rows = iter(git.fields(repository.run("log", *options, "HEAD", *repository.within)))
    found: dict[str, tuple[str, ...]] = {}
    for row in rows:
        if not row.startswith(":"):
            continue
        path = repository.own(next(rows))
        if path and is_memory(path):
            found[path] = (*found.get(path, ()), row.split(" ")[2])
    return found


def frozen(repository: git.Repository, here: Collection[str]) -> set[str]:
    """The notes that Git's history alone still has, by the paths they had; `here` are those of the notes there are."""
    gone = removed(repository).keys() - set(here)
    return gone - {rename.old for rename in history.renames(repository)} if gone else set()
