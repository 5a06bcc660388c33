"""Git's objects as they are stored: all of them listed and read, trees taken apart, new ones written as a pack.

`cat-file` reads, `index-pack` writes, a process for many at a time. Nothing here changes a ref.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from atlas.git import Repository, batch

#: Bytes of content read by one process, and bytes of content written by one.
_GROUP = 16_000_000
_HOURS = 6 * 3600.0
_KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
#: What stands for another object would hide it from a search for what is really stored.
PLAIN = {"GIT_NO_REPLACE_OBJECTS": "1"}
FOLDER = "40000"


class Object(NamedTuple):
    """An object as it is listed; `size` in bytes."""

    id: str
    kind: str
    size: int


class Node(NamedTuple):
    """An entry of a tree."""

    mode: str
    name: bytes
    id: str


def every(repo: Repository) -> list[Object]:
    """Every object the repository has, reachable or not, in the order it is stored in."""
    words = ("cat-file", "--batch-all-objects", "--unordered", "--batch-check")
    rows = repo.run(*words, env=PLAIN, seconds=_HOURS).decode().splitlines()
    parts = (row.split(" ") for row in rows)
    return [Object(id, kind, int(size)) for id, kind, size in parts]


def read(repo: Repository, wanted: Iterable[Object]) -> Iterator[tuple[Object, bytes]]:
    """The bytes of these objects, in order. One process reads some 16 MB, so memory stays bounded."""
    group: list[Object] = []
    size = 0
    for one in wanted:
        group.append(one)
        size += one.size
        if size > _GROUP:
            yield from _read(repo, group)
            group, size = [], 0
    yield from _read(repo, group)


def _read(repo: Repository, group: Sequence[Object]) -> Iterator[tuple[Object, bytes]]:
    if group:
        data = "".join(f"{one.id}\n" for one in group).encode()
        out = repo.run("cat-file", "--batch", "--buffer", data=data, env=PLAIN, seconds=_HOURS)
        yield from ((one, content) for one, (_, content) in zip(group, batch(out), strict=True))


def entries(repo: Repository, data: bytes) -> list[Node]:
    """What a tree holds, in its order."""
    width = 32 if repo.object_format == "sha256" else 20
    found, at = [], 0
    while at < len(data):
        space, end = data.index(b" ", at), data.index(b"\0", at)
        found.append(Node(data[at:space].decode(), data[space + 1 : end], data[end + 1 : end + 1 + width].hex()))
        at = end + 1 + width
    return found


def tree(nodes: Iterable[Node]) -> bytes:
    """The tree of these entries, in the order Git wants."""
    ordered = sorted(nodes, key=lambda node: node.name + b"/" if node.mode == FOLDER else node.name)
    return b"".join(b"%s %s\0%s" % (n.mode.encode(), n.name, bytes.fromhex(n.id)) for n in ordered)


def id_of(repo: Repository, kind: str, data: bytes) -> str:
    """The id that Git gives an object."""
    content = b"%s %d\0" % (kind.encode(), len(data)) + data
    return hashlib.new(repo.object_format, content, usedforsecurity=False).hexdigest()


class Writer:
    """New objects, gathered and written together. An id is known at once, the object is there after `flush`.

    With `writes` off nothing is kept: their ids alone are wanted.
    """

    def __init__(self, repo: Repository, *, writes: bool = True) -> None:
        self._repo, self._writes = repo, writes
        self._waiting: dict[str, bytes] = {}
        self._size = 0

    def put(self, kind: str, data: bytes) -> str:
        """Take an object; its id."""
        id = id_of(self._repo, kind, data)
        if self._writes and id not in self._waiting:
            self._waiting[id] = _header(_KINDS[kind], len(data)) + zlib.compress(data)
            self._size += len(data)
        if self._size > 4 * _GROUP:
            self.flush()
        return id

    def flush(self) -> None:
        """Write what waits, as one pack."""
        if not self._waiting:
            return
        pack = (
            b"PACK" + (2).to_bytes(4, "big") + len(self._waiting).to_bytes(4, "big") + b"".join(self._waiting.values())
        )
        pack += hashlib.new(self._repo.object_format, pack, usedforsecurity=False).digest()
        self._repo.run("index-pack", "--stdin", data=pack, env=PLAIN, seconds=_HOURS)
        self._waiting.clear()
        self._size = 0


def _header(kind: int, size: int) -> bytes:
    """How an entry of a pack begins: its kind and its size, seven bits a byte, the first with four."""
    byte, size = (kind << 4) | (size & 15), size >> 4
    out = bytearray()
    while size:
        out.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    out.append(byte)
    return bytes(out)
