"""Whose words a note holds: Atlas's alone, or a person's too. Said by Git, commit by commit.

A note is Atlas's if it came into being by a commit of Atlas that remembers something, and if every later version is a
commit of Atlas too. A version that a person committed, or that only a merge or a squashed commit holds, makes it a
person's: to forget what one was not sure of would be the one mistake that counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atlas.commits import OP
from atlas.git import fields
from atlas.survey import is_memory

if TYPE_CHECKING:
    from atlas.git import Repository

#: Operations that write a note in words of an agent's or Atlas's own.
_ORIGINS = frozenset({"ingest", "feedback", "compact", "forget", "clusters"})
#: Operations whose commits hold what a person wrote, or what comes from somewhere else.
_NOT_OURS = frozenset({"keep", "import", "init", "adopt", "split", "join", "repair"})

_NOTHING = "0" * 40


@dataclass(frozen=True, slots=True)
class _Touch:
    """One file in one commit: the blob ids before and after, each all zeros where there is no file."""

    path: str
    old: str
    new: str


def ours(repository: Repository) -> frozenset[str]:
    """The paths of HEAD's notes that Atlas alone wrote."""
    if not repository.head():
        return frozenset()
    ours: dict[str, set[str]] = {}
    theirs: set[str] = set()
    for op, touches in _commits(repository):
        if not op or op in _NOT_OURS:
            theirs.update(touch.path for touch in touches)
            continue
        moved = _moved(touches) if op == "move" else {}
        for touch in touches:
            known = touch.path in ours or op in _ORIGINS or moved.get(touch.path) in ours
            if known and moved.get(touch.path) not in theirs:
                ours.setdefault(touch.path, set()).add(touch.new)
            else:
                theirs.add(touch.path)
    tree = repository.tree("HEAD")
    return frozenset(path for path, blobs in ours.items() if path not in theirs and tree.get(path) in blobs)


def _moved(touches: list[_Touch]) -> dict[str, str]:
    """New path → old path of what a commit moved: the same content, or the one file that went and the one that came."""
    gone = [touch for touch in touches if touch.new == _NOTHING]
    came = [touch for touch in touches if touch.old == _NOTHING]
    if len(gone) == len(came) == 1:
        return {came[0].path: gone[0].path}
    by_blob = {touch.old: touch.path for touch in gone}
    return {touch.path: by_blob[touch.new] for touch in came if touch.new in by_blob}


def _commits(repository: Repository) -> list[tuple[str, list[_Touch]]]:
    """(operation, "" if it is no commit of Atlas; the notes it touched), oldest first. Merges say nothing."""
    form = f"--format=//%(trailers:key={OP},valueonly,separator=%x2C)"
    options = (
        "-z",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--no-merges",
        "--no-show-signature",
        "--topo-order",
        "--reverse",
        form,
    )
    found: list[tuple[str, list[_Touch]]] = []
    tokens = iter(fields(repository.run("log", *options, "HEAD", *repository.within)))
    for token in tokens:
        word = token.lstrip("\n")
        if word.startswith("//"):
            found.append((word[2:].strip(), []))
        elif word.startswith(":"):
            _, _, old, new, _ = word[1:].split(" ")
            path = repository.own(next(tokens))
            if path and is_memory(path):
                found[-1][1].append(_Touch(path, old, new))
    return found
