"""Notes left in conflict: which may be merged now, and from which three versions. Plans only.

    the index's stages ──► a person has not begun? ──► merge ──► Plan
    marks in a file ─────► what did both come from? ─► merge ──► Plan

A file that is neither what Git left nor one of the two sides is somebody's half-finished resolution, and stays.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from atlas import markers
from atlas.config import ENDINGS
from atlas.errors import NotFound, NotText
from atlas.git import Repository
from atlas.memory import Applied, Finding
from atlas.merge import Merged, merge, repaired, standing
from atlas.note import split
from atlas.source import NEWLINE, decode
from atlas.vault import write_elsewhere

#: The findings of a note that hold a conflict.
KINDS = frozenset({"conflict-markers", "conflict-value"})
#: How Git may have written a conflict.
_STYLES = ((), ("--diff3",), ("--zdiff3",))
_ALGORITHMS = ((), ("--diff-algorithm=histogram",))
_LABEL = re.compile(rb"^([<|>]{7}) [^\n]*$", re.MULTILINE)
#: `git merge-file` ends with the number of conflicts; from here on the code means that it failed.
_MERGE_FAILED = 128
#: How many merges that touched a note are looked at for the one that left marks in it.
_MERGES = 50


@dataclass(frozen=True, slots=True)
class Plan:
    """One note to be written: its bytes as they are, and what is to stand there."""

    path: str
    before: bytes
    merged: Merged


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What became of notes in conflict. `merged` have no conflict left, `conflicts` names each one that is.

    `left` are notes that were not touched, and why.
    """

    merged: tuple[str, ...]
    conflicts: tuple[Finding, ...]
    left: tuple[Finding, ...]
    applied: Applied


def outcome(plans: Sequence[Plan], left: Sequence[Finding], applied: Applied) -> Reconciled:
    """What these plans come to."""
    clean = tuple(plan.path for plan in plans if not plan.merged.conflicts)
    return Reconciled(clean, tuple(f for plan in plans for f in plan.merged.conflicts), tuple(left), applied)


# ------------------------------------------------------------------ a merge under way


def unmerged(
    repo: Repository, stages: Mapping[str, Mapping[int, str]], read: Callable[[str], bytes | None]
) -> tuple[list[Plan], list[Finding]]:
    """The merges of these notes, and those that are left to a person."""
    held = dict(repo.blobs(blob for one in stages.values() for blob in one.values()))
    plans: list[Plan] = []
    left: list[Finding] = []
    for path, blobs in sorted(stages.items()):
        found = read(path)
        why = _why_not(path, blobs, found)
        if why or found is None:
            left.append(Finding(path, 0, "unmerged", why))
            continue
        base, ours, theirs = (held.get(blobs.get(n, ""), b"") for n in (1, 2, 3))
        merged = merge(base, ours, theirs, path)
        if _untouched(repo, found, (base, ours, theirs), merged.data):
            plans.append(Plan(path, found, _as_on_disk(merged, found, ours)))
        else:
            said = "somebody has begun to resolve it: finish by hand, or `git checkout --merge` it and run this again"
            left.append(Finding(path, 0, "unmerged", said))
    return plans, left


def _why_not(path: str, blobs: Mapping[int, str], found: bytes | None) -> str:
    """Why a note cannot be merged, "" if it can."""
    if not path.lower().endswith(ENDINGS):
        return "it is no note: resolve it by hand, then `git add` it"
    if 2 not in blobs or 3 not in blobs:
        return "one side deleted or renamed it, the other changed it: `git add` it to keep it, or `git rm` it"
    return "" if found is not None else "it is not in the folder: `git checkout --merge` it and run this again"


def _untouched(repo: Repository, found: bytes, versions: tuple[bytes, bytes, bytes], merged: bytes) -> bool:
    """Whether a file is one of the sides, the merge, or the text with marks that Git writes of these versions."""
    seen = _comparable(found)
    if seen in {_comparable(data) for data in (*versions[1:], merged)}:
        return True
    return b"<<<<<<<" in found and any(seen == text for text in _as_git(repo, versions))


def _as_git(repo: Repository, versions: tuple[bytes, bytes, bytes]) -> Iterator[bytes]:
    """The texts with marks that Git may have written."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for name, data in zip(("base", "ours", "theirs"), versions, strict=True):
            place = Path(folder, name)
            write_elsewhere(place, data)
            names.append(str(place))
        base, ours, theirs = names
        for style in _STYLES:
            for algorithm in _ALGORITHMS:
                ran = repo.call("merge-file", "-p", *style, *algorithm, ours, base, theirs)
                if 0 <= ran.code < _MERGE_FAILED:
                    yield _comparable(ran.out)


def _comparable(data: bytes) -> bytes:
    """A file without what may differ: the names behind the marks, and the kind of newline."""
    return _LABEL.sub(rb"\1", data.replace(b"\r\n", b"\n"))


def _as_on_disk(merged: Merged, found: bytes, ours: bytes) -> Merged:
    """The merge with the newlines that files have on this disk, where Git turns them on the way."""
    turned = b"\r\n" in found and b"\r\n" not in ours and b"\r\n" not in merged.data
    return Merged(merged.data.replace(b"\n", b"\r\n"), merged.conflicts) if turned else merged


# ------------------------------------------------------------------ marks that slipped in


def repairs(
    repo: Repository | None, paths: Iterable[str], read: Callable[[str], bytes]
) -> tuple[list[Plan], list[Finding]]:
    """The repairs of these notes, and those that are left to a person: not text, or unmerged still."""
    waiting = repo.unmerged() if repo else {}
    plans: list[Plan] = []
    left: list[Finding] = []
    for path in paths:
        if path in waiting:
            left.append(Finding(path, 0, "unmerged", "its merge is under way: run `atlas merge`"))
            continue
        data = read(path)
        try:
            merged = repaired(data, path, _past(repo, path, data) if repo else None)
            plans.append(Plan(path, data, merged or Merged(data, _standing(data, path))))
        except NotText as err:
            left.append(Finding(path, 0, "binary", err.reason))
    return plans, left


def _standing(data: bytes, path: str) -> tuple[Finding, ...]:
    return tuple(standing(_text(data), path))


def _past(repo: Repository, path: str, data: bytes) -> bytes | None:
    """What both sides of the marks in a note came from, by the merge that left them; None if none is known to have."""
    text = _text(data)
    blocks = markers.hunks(text, head=len(split(text).head))
    if not blocks or all(block.base is not None for block in blocks):
        return None
    for ours, theirs in _merges(repo, path):
        held = [_at(repo, rev, path) for rev in (ours, theirs)]
        sides = [_text(side) for side in held if side is not None]
        if len(sides) == 2 and (_hold(sides, blocks) or _hold(sides[::-1], blocks)):
            ran = repo.call("merge-base", ours, theirs)
            base = _at(repo, ran.out.decode().strip(), path) if ran.code == 0 else None
            return base or b""
    return None


def _hold(sides: Sequence[str], blocks: Sequence[markers.Hunk]) -> bool:
    """Whether every block is made of these two versions."""
    return all(block.one in sides[0] and block.two in sides[1] for block in blocks)


def _merges(repo: Repository, path: str) -> Iterator[tuple[str, str]]:
    """The two sides of a merge under way, then of past merges that changed a note, the latest first."""
    if not repo.head():
        return
    if repo.names("MERGE_HEAD"):
        yield "HEAD", "MERGE_HEAD"
    words = ("log", "--merges", "--full-history", f"--max-count={_MERGES}", "--format=%P", "--", repo.full(path))
    for row in repo.run(*words).decode().splitlines():
        parents = row.split()
        if len(parents) == 2:
            yield parents[0], parents[1]


def _at(repo: Repository, rev: str, path: str) -> bytes | None:
    try:
        return repo.read(rev, path)
    except NotFound:
        return None


def _text(data: bytes) -> str:
    """A file's text with line feeds; "" of what is not text."""
    try:
        return NEWLINE.sub("\n", decode(data).text)
    except NotText:
        return ""


# ------------------------------------------------------------------ what there is to say


def findings(repo: Repository) -> list[Finding]:
    """Notes that Git has two versions of."""
    said = "Git has two versions of it: run `atlas merge`, or resolve it and `git add` it"
    return [Finding(path, 0, "unmerged", said) for path in repo.unmerged() if path.lower().endswith(ENDINGS)]
