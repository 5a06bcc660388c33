"""The frozen tier: memories that Git's history alone holds in full, as a listing that is searched like a commit's.

A memory that has stepped down names the blob that holds all of it, a tombstone too; rows are keyed by blob, so what was
ever indexed is not derived again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from atlas import tombstones
from atlas.identity import Lineage
from atlas.store import FROZEN

if TYPE_CHECKING:
    import duckdb

    from atlas.search import Look, Reader

_BLOB = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
#: A forgotten memory matches a question if it has words worth this share of it.
_SHARE = 0.6


@dataclass(frozen=True)
class Frozen:
    """The frozen memories of a vault: path → the Git blob that holds all of each."""

    root: Path
    full: Mapping[str, str]

    @property
    def commit(self) -> str:
        """What stands for this listing."""
        said = "\n".join(f"{path}\0{blob}" for path, blob in sorted(self.full.items()))
        return FROZEN + hashlib.blake2b(said.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()

    def tree(self) -> Mapping[str, str]:
        """Path → Git's blob id."""
        return self.full

    def blobs(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The bytes of blobs; those the repository lacks are left out."""
        wanted = list(ids)
        repository = import_module("atlas.git").find(self.root) if wanted else None
        if repository is not None:
            yield from repository.blobs(wanted)

    def lineage(self) -> Lineage:
        """No renames: every one of these has its id written in it."""
        return Lineage()


def listing(con: duckdb.DuckDBPyConnection, root: Path) -> Frozen:
    """What is frozen now: memories that have stepped down, and those of which a tombstone is left."""
    query = "SELECT l.path, json_extract_string(n.meta, '$.full') FROM listing l JOIN notes n USING (note) "
    rows = con.execute(query + "WHERE contains(n.meta, '\"rung\"') AND contains(n.meta, '\"full\"')").fetchall()
    found = {path: full for path, full in rows if _BLOB.fullmatch(full or "")}
    stones = tombstones.standing(root)
    if stones:
        here = {ident for (ident,) in con.execute("SELECT ident FROM listing").fetchall()}
        found.update((one.path, one.full) for one in stones.values() if one.id not in here and one.path not in found)
    return Frozen(root, found)


def matching(reader: Reader, look: Look) -> list[str]:
    """The ids of the memories that hold words worth most of the question, by path."""
    worth = np.array(list(look.terms.values()))
    if not worth.sum():
        return []
    postings, field = look.postings, look.live.field
    held = np.unique(np.stack([field.note[postings.chunk], postings.term]), axis=1)
    share = np.bincount(held[0], weights=worth[held[1]], minlength=len(look.live.paths)) / worth.sum()
    keys = [int(look.live.paths[n]) for n in np.flatnonzero(share >= _SHARE)]
    rows = reader.rows.listed(keys, look.filters.moment)
    return [row.id for row in sorted(rows.values(), key=lambda row: row.path)]
