"""Tombstones: a line for each memory that was forgotten down to nothing, in a file per run below `archive/tombstones`.

A file per run, so that undoing the run removes it, and two devices never write the same one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = "archive/tombstones"


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What stays of a memory: its id, the path it had, the Git blob that holds all of it, the ISO day it went."""

    id: str
    path: str
    full: str
    day: str

    @property
    def line(self) -> str:
        """The line it is written as."""
        fields = {"id": self.id, "path": self.path, "full": self.full, "day": self.day}
        return json.dumps(fields, ensure_ascii=False) + "\n"


def read(data: bytes) -> Iterator[Tombstone]:
    """The tombstones in a file; lines that are none are passed over."""
    for line in data.splitlines():
        try:
            one = json.loads(line)
            fields = [one[key] for key in ("id", "path", "full", "day")]
        except (ValueError, KeyError, TypeError):
            continue
        if all(isinstance(field, str) for field in fields):
            yield Tombstone(*fields)


def files(root: Path) -> list[str]:
    """The vault paths of the files that hold tombstones, the newest last."""
    folder = root / FOLDER
    return sorted(f"{FOLDER}/{file.name}" for file in folder.glob("*.jsonl")) if folder.is_dir() else []


def standing(root: Path) -> dict[str, Tombstone]:
    """Every tombstone of the vault, by the id of the memory; the newest of two."""
    return {one.id: one for path in files(root) for one in read((root / path).read_bytes())}


def without(data: bytes, id: str) -> bytes | None:
    """A file without the tombstone of a memory; None if nothing is left of it."""
    lines = data.splitlines(keepends=True)
    left = b"".join(line for line in lines if all(one.id != id for one in read(line)))
    return left or None
