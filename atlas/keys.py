"""What stands for a text in the index: numbers for terms and paths, one column for a list of words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from atlas.words import fold

#: Separates the items of a list kept in one column; no tag or name can contain it.
SEP = "\x1f"


@lru_cache(maxsize=200_000)
def term_hash(term: str) -> int:
    """The number that stands for a term in the postings (64 bits of BLAKE2b; no dictionary to keep in step)."""
    return int.from_bytes(hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def key(text: str) -> int:
    """A number that stands for a text and orders it the same way in every index (63 bits of BLAKE2b)."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def plain(name: str) -> str:
    """A name as it is compared: case, accents, spacing and the ending of a note's file do not count.

    >>> plain("Café  Noir.md")
    'cafe noir'
    """
    folded = fold(" ".join(name.replace("\\", "/").replace("’", "'").split())).strip("/")
    for ending in (".md", ".markdown"):
        folded = folded.removesuffix(ending).rstrip()
    return folded


def handle(name: str) -> int:
    """The number a name is known by.

    >>> handle("Café  Noir.md") == handle("cafe noir"), handle("cafe") == handle("cafe noir")
    (True, False)
    """
    return key(plain(name).encode("utf-8", "replace").decode())


def path_handles(path: str) -> tuple[int, ...]:
    """What a file answers to: its name, and its name with each of the folders above it, up to the whole path."""
    parts = path.split("/")
    return tuple(dict.fromkeys(handle("/".join(parts[first:])) for first in range(len(parts) - 1, -1, -1)))


def joined(items: Iterable[str]) -> str:
    """A list as one column, with a separator at both ends so that an item can be looked for exactly."""
    inner = SEP.join(items)
    return f"{SEP}{inner}{SEP}" if inner else ""


def parted(column: str) -> tuple[str, ...]:
    """The list that `joined` made a column of."""
    return tuple(column.strip(SEP).split(SEP)) if column else ()
