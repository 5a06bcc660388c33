"""Forgotten memories brought back: what restoring one would write, by the blob that its file or tombstone names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from atlas import ladder, markdown, tombstones
from atlas.errors import NotFound, NotText, UsageError
from atlas.memory import Change, Record, Rung
from atlas.source import decode
from atlas.survey import blob_id
from atlas.tombstones import Tombstone

if TYPE_CHECKING:
    from atlas.git import Repository

Read = Callable[[str], bytes | None]
#: So many last letters of an id name a memory of which a tombstone is left.
_FEWEST = 5


class Named(Protocol):
    """A memory the index knows."""

    @property
    def path(self) -> str: ...
    @property
    def id(self) -> str: ...


def plan(
    repository: Repository, root: Path, name: str, find: Callable[[str], Named], read: Read
) -> tuple[list[Change], Record] | None:
    """What brings the detail of a forgotten memory back; None if it is none that was forgotten.

    Raises UsageError where the words of a person stand in the way, or another file lies where it was.
    """
    try:
        card = find(name)
    except NotFound:
        stone = _stone(root, name)
        return None if stone is None else _from_tombstone(repository, root, stone, read)
    present = read(card.path)
    full = None if present is None else _full(repository, present)
    if present is None or full is None:
        return None
    home = ladder.home(card.path)
    changes = moved(card.path, present, ladder.up(present, full, card.path), read)
    return changes, Record("restore", f"Restore {home}", f"from blob {blob_id(full)}", memories=(card.id,))


def _full(repository: Repository, present: bytes) -> bytes | None:
    """All that a memory held which has stepped down; None if it has not, or if Git lacks it."""
    try:
        note = markdown.parse(decode(present).text, "")
    except NotText:
        return None
    full = note.meta.get("full")
    if ladder.rung(note) == Rung.L2 or not isinstance(full, str):
        return None
    return dict(repository.blobs([full])).get(full)


def _from_tombstone(
    repository: Repository, root: Path, stone: Tombstone, read: Read
) -> tuple[list[Change], Record] | None:
    data = dict(repository.blobs([stone.full])).get(stone.full)
    if data is None:
        return None
    home = ladder.home(stone.path)
    if read(home) is not None:
        raise UsageError(f"Another file lies at {home}: move it (`atlas mv {home} …`) and restore again.")
    changes = [Change(home, data, memory=stone.id)]
    for path in tombstones.files(root):
        held = read(path)
        if held is not None and any(one.id == stone.id for one in tombstones.read(held)):
            changes.append(Change(path, tombstones.without(held, stone.id), blob_id(held)))
    return changes, Record("restore", f"Restore {home}", f"from blob {stone.full}", memories=(stone.id,))


def moved(path: str, present: bytes, data: bytes, read: Read) -> list[Change]:
    """The file, brought back, at its old place, or where it lies if that is taken."""
    home = ladder.home(path)
    if home == path or read(home) is not None:
        return [Change(path, data, blob_id(present))]
    return [Change(path, None, blob_id(present)), Change(home, data)]


def _stone(root: Path, name: str) -> Tombstone | None:
    """The tombstone a person means, by id, its last letters, or the path the memory had."""
    for one in tombstones.standing(root).values():
        paths = (one.path, ladder.home(one.path))
        if name == one.id or any(name in (path, path.removesuffix(".md")) for path in paths):
            return one
        if len(name) >= _FEWEST and name.isalnum() and one.id.endswith(name.upper()):
            return one
    return None
