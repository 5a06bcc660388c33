"""What Git knows of renames, for the identities of notes that have no id written in them."""

from __future__ import annotations

from pathlib import Path

from atlas import git, history
from atlas.config import ENDINGS
from atlas.identity import Lineage


def lineage(root: Path, since: str) -> tuple[Lineage, bool]:
    """Renames after the commit `since` and HEAD's tree; and whether `since` was of no use, so these are all renames."""
    repository, _ = git.look(root)
    if repository is None or not repository.head():
        return Lineage(), True
    known = bool(since) and repository.call("merge-base", "--is-ancestor", since, "HEAD").code == 0
    renames = history.renames(repository, since if known else "")
    return Lineage(tuple((r.old, r.new) for r in renames), repository.tree("HEAD", ENDINGS)), not known
