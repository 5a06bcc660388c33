"""How editors save: six ways to put new bytes where a note was. The note may be gone, twice, or empty on the way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path


def in_place(note: Path, data: bytes) -> None:
    """Open the file, write over it, cut what is left: nano, many scripts."""
    with note.open("r+b") as file:
        file.write(data)
        file.truncate()


def truncated(note: Path, data: bytes) -> None:
    """Empty the file, then write: a shell's `>`, Obsidian."""
    with note.open("wb") as file:
        file.flush()
        time.sleep(0.002)
        file.write(data)


def renamed_over(note: Path, data: bytes) -> None:
    """Write a hidden file, rename it over the note: VS Code with atomic saves, gedit, most programs that take care."""
    temp = note.with_name(f".{note.name}.tmp1")
    temp.write_bytes(data)
    temp.replace(note)


def vim(note: Path, data: bytes) -> None:
    """Try whether the folder can be written (`4913`), rename the note away, write it anew, remove the backup."""
    probe, backup = note.with_name("4913"), note.with_name(note.name + "~")
    probe.touch()
    probe.unlink()
    note.rename(backup)
    note.write_bytes(data)
    backup.unlink()


def jetbrains(note: Path, data: bytes) -> None:
    """A safe write: new file, old one aside, new one in place, old one gone."""
    new, old = note.with_name(note.name + "___jb_tmp___"), note.with_name(note.name + "___jb_old___")
    new.write_bytes(data)
    note.rename(old)
    new.rename(note)
    old.unlink()


def recreated(note: Path, data: bytes) -> None:
    """Delete it and write it again a moment later: sync programs."""
    note.unlink()
    time.sleep(0.02)
    note.write_bytes(data)
    os.utime(note)


STYLES: tuple[Callable[[Path, bytes], None], ...] = (in_place, truncated, renamed_over, vim, jetbrains, recreated)
