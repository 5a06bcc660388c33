"""Who is who: the id of every note, those without a written id included. Pure.

The derived identity is a function of Git history, HEAD's tree and the files, never of what the index happened to see:
so a rebuilt index names every note as the old one did.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

#: Names that sync programs give to the copy that lost: Dropbox, Syncthing, iCloud and file managers.
_CONFLICT_COPY = re.compile(
    r"\(.*conflicted copy.*\)|\.sync-conflict-\d{8}|[ _-]conflict[ _-]|\bconflict copy\b| \(\d+\)$| \d+$| copy$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Lineage:
    """What Git knows of renames: exact ones, newest first, as (old, new); and HEAD's tree, path → blob id."""

    renames: tuple[tuple[str, str], ...] = ()
    tree: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Identities:
    """`ids` gives every path its id; `clashes` says whose written id is taken, as path → the path that keeps it."""

    ids: Mapping[str, str]
    clashes: Mapping[str, str]


@lru_cache(maxsize=1 << 15)
def derived_id(path: str) -> str:
    r"""The identity of a note that has none written: 16 letters drawn from its first known path.

    Composed and decomposed spellings of a name are one note (a sync between systems flips them).

    >>> derived_id("Café.md") == derived_id("Cafe\u0301.md")
    True
    """
    digest = hashlib.sha256(unicodedata.normalize("NFC", path).encode()).digest()
    return "n" + base64.b32encode(digest[:10]).decode().lower()[:15]


def resolve(written: Mapping[str, str], blobs: Mapping[str, str], lineage: Lineage) -> Identities:
    """The id of every path in `written` (path → the id in the file, or ""); `blobs` is path → blob id on disk."""
    owners, clashes = _owners(written)
    ids = {path: id for path, id in written.items() if id and owners[id] == path}
    nameless = [path for path in sorted(written) if path not in ids]
    origins = _origins(nameless, blobs, lineage)
    taken = set(ids.values())
    for path in sorted(nameless, key=lambda p: (origins[p] != p, p)):
        id = derived_id(origins[path])
        if id in taken:
            # Two spellings of one name at once, or a new note under a name that a renamed one still answers to.
            id = "n" + base64.b32encode(hashlib.sha256(path.encode() + b"\0again").digest()[:10]).decode().lower()[:15]
        taken.add(id)
        ids[path] = id
    return Identities(ids, clashes)


def spelling_clashes(paths: Iterable[str]) -> dict[str, str]:
    """Paths that differ only in Unicode form, as path → the spelling that came first."""
    first: dict[str, str] = {}
    clashes = {}
    for path in sorted(paths):
        other = first.setdefault(unicodedata.normalize("NFC", path), path)
        if other != path:
            clashes[path] = other
    return clashes


def is_conflict_copy(path: str) -> bool:
    """Whether the name looks like a copy left by a sync program or a file manager."""
    return bool(_CONFLICT_COPY.search(path.rpartition("/")[2].rpartition(".")[0]))


def _owners(written: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Who keeps each written id: not the conflict copy, then the shorter path, then the first by name."""
    owners: dict[str, str] = {}
    shared: dict[str, list[str]] = {}
    for path, id in written.items():
        if id and owners.setdefault(id, path) != path:
            shared.setdefault(id, [owners[id]]).append(path)
    clashes: dict[str, str] = {}
    for id, paths in shared.items():
        owner, *others = sorted(paths, key=lambda p: (is_conflict_copy(p), len(p), p))
        owners[id] = owner
        clashes.update(dict.fromkeys(others, owner))
    return owners, clashes


def _origins(paths: Sequence[str], blobs: Mapping[str, str], lineage: Lineage) -> dict[str, str]:
    """The first known path of each path, following renames with unchanged content backwards."""
    now = {path: path for path in paths}
    now.update(_uncommitted_renames(paths, blobs, lineage.tree))
    names = {origin: path for path, origin in now.items()}
    for old, new in lineage.renames:
        path = names.pop(new, None)
        if path is not None:
            # A note written later under the old name keeps that name as its own first one.
            names.setdefault(old, path)
            now[path] = old
    return now


def _uncommitted_renames(paths: Sequence[str], blobs: Mapping[str, str], tree: Mapping[str, str]) -> dict[str, str]:
    """Files that HEAD has under another name, now gone from disk, with the same content: path → old path."""
    gone: dict[str, list[str]] = {}
    for old in sorted(tree, reverse=True):
        if old not in blobs:
            gone.setdefault(tree[old], []).append(old)
    pairs = {}
    for path in paths:
        if path not in tree and gone.get(blobs.get(path, "")):
            pairs[path] = gone[blobs[path]].pop()
    return pairs
