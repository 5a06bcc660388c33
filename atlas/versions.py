"""Every version a memory has had: in every branch, tag and stash of the repository, under every name.

A version is a blob at a path. It is the memory's if its metadata has the memory's id, or if commits lead from it to one
that has: a change at the same path, or a rename. A note whose own id is another is never one, whatever led to it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atlas import markdown, objects
from atlas.config import ENDINGS
from atlas.errors import NotText
from atlas.git import Repository, fields, text_of
from atlas.objects import PLAIN, Object
from atlas.source import decode

#: A blob at a path from the top of the working tree.
Version = tuple[str, str]

_HOURS = 6 * 3600.0
_STASH = "refs/stash"
#: Where notes on commits are: files by the names of commits, and no files of the vault.
NOTES = "refs/notes/"


@dataclass(frozen=True, slots=True)
class Ref:
    """A ref, and what it names: an id and the kind of object."""

    name: str
    id: str
    kind: str


@dataclass(frozen=True, slots=True)
class Past:
    """What the repository holds: its objects, refs, stashes (newest first), and every version of every file.

    `steps` has for each version those that a commit made of it, or made it of.
    """

    objects: tuple[Object, ...]
    refs: tuple[Ref, ...]
    stashes: tuple[str, ...]
    steps: Mapping[Version, Collection[Version]]

    @property
    def tips(self) -> tuple[str, ...]:
        """All from which something is reachable."""
        return tuple(dict.fromkeys([*(ref.id for ref in self.refs), *self.stashes]))


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of one or several memories: `found`, their bytes by blob id, and the paths they ever lay at."""

    ids: frozenset[str]
    found: frozenset[Version] = frozenset()
    contents: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path, from the top."""
        return tuple(sorted({path for path, _ in self.found}))


def look(repo: Repository) -> Past:
    """Read what there is."""
    refs = refs_of(repo)
    stashes = [line.split(" ", 2)[1] for line in stash_log(repo)]
    tips = [ref.id for ref in refs if ref.kind in ("commit", "tag") and not ref.name.startswith(NOTES)]
    return Past(tuple(objects.every(repo)), refs, tuple(reversed(stashes)), _steps(repo, [*tips, *stashes]))


def refs_of(repo: Repository) -> tuple[Ref, ...]:
    """Every ref that is no other name of another; HEAD too where it is detached."""
    form = "--format=%(refname)%00%(objectname)%00%(objecttype)%00%(symref)"
    rows = (text_of(row).split("\0") for row in repo.run("for-each-ref", form).split(b"\n") if row)
    return tuple(Ref(name, id, kind) for name, id, kind, symbolic in rows if not symbolic)


def stash_log(repo: Repository) -> list[str]:
    """The lines of Git's log of stashes, oldest first: all but the newest stash are named nowhere else."""
    file = repo.common_dir / "logs" / _STASH
    return [line for line in text_of(file.read_bytes()).split("\n") if line] if file.is_file() else []


def _steps(repo: Repository, tips: Sequence[str]) -> dict[Version, set[Version]]:
    steps: dict[Version, set[Version]] = defaultdict(set)
    if not tips:
        return steps
    options = ("--raw", "-M", "-m", "--root", "--no-abbrev", "-z", "--format=", "--stdin")
    data = "".join(f"{tip}\n" for tip in tips).encode()
    rows = iter(fields(repo.run("log", *options, data=data, env=PLAIN, seconds=_HOURS)))
    for row in rows:
        facts = row.lstrip("\n")
        if not facts.startswith(":"):
            continue
        _, _, old, new, status = facts.split(" ")
        was = next(rows)
        path = next(rows) if status[0] in "RC" else was
        before, after = (was, old), (path, new)
        if status[0] in "AD":
            steps[after if status[0] == "A" else before].update()
            continue
        steps[before].add(after)
        steps[after].add(before)
    return steps


def find(repo: Repository, past: Past, ids: Collection[str], here: Iterable[Version] = ()) -> Versions:
    """The versions of the memories that have these ids. `here`: where those without a written id lie, or last lay."""
    written = _written(repo, past, ids)
    start = {version for version in past.steps if version[1] in written} | set(here)
    found = _connected(repo, past, start, written.keys(), ids)
    contents = {**written, **dict(repo.blobs(blob for _, blob in found))}
    fuller = {str(full) for data in contents.values() if (full := meta(data).get("full"))} - contents.keys()
    more = {version for version in past.steps if version[1] in fuller}
    if more:
        found |= _connected(repo, past, more, written.keys(), ids)
        contents |= dict(repo.blobs(blob for _, blob in found))
    return Versions(frozenset(ids), frozenset(found), contents)


def meta(data: bytes) -> Mapping[str, Any]:
    """The metadata of a note, as typed; nothing where it cannot be read."""
    try:
        return markdown.parse(decode(data).text, "").meta
    except NotText:
        return {}


def _written(repo: Repository, past: Past, ids: Collection[str]) -> dict[str, bytes]:
    """The blobs whose metadata has one of these ids, reachable or not."""
    wanted = re.compile(b"|".join(re.escape(id.encode()) for id in ids))
    blobs = (one for one in past.objects if one.kind == "blob")
    return {
        one.id: data for one, data in objects.read(repo, blobs) if wanted.search(data) and meta(data).get("id") in ids
    }


def _connected(
    repo: Repository, past: Past, start: Iterable[Version], sure: Collection[str], ids: Collection[str]
) -> set[Version]:
    """What steps lead to, not past a note that has an id of its own."""
    found: set[Version] = set()
    frontier = set(start)
    while frontier:
        doubtful = {blob for path, blob in frontier if blob not in sure}
        others = {blob for blob, data in repo.blobs(doubtful) if (meta(data).get("id") or "") not in ("", *ids)}
        ours = {(path, blob) for path, blob in frontier if blob not in others and path.lower().endswith(ENDINGS)}
        found |= ours
        frontier = {after for version in ours for after in past.steps.get(version, ())} - found
    return found
