"""Hook files in a folder: whose each is, put in beside somebody else's, taken out again.

A file Atlas wrote ends with a digest of the rest, so one of an older version is known from one a person has edited.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path

from atlas.template import shipped

#: What is added to the name of a hook that was there before.
BEFORE = ".before-atlas"
#: Where the framework pre-commit keeps the hook it found, and runs it from.
_LEGACY = ".legacy"
_MARK = b"# atlas-stub: "


class Whose(StrEnum):
    """Who wrote a file last."""

    NOBODY = "nobody"
    ATLAS = "atlas"
    EDITED = "edited"
    OTHER = "other"


def whose(file: Path) -> Whose:
    """Who wrote this file last. A link is somebody else's, wherever it leads."""
    if file.is_symlink():
        return Whose.OTHER
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return Whose.NOBODY
    body, mark, digest = data.rpartition(_MARK)
    if not mark:
        return Whose.OTHER
    return Whose.ATLAS if digest.strip() == _digest(body) else Whose.EDITED


def runs_atlas(folder: Path, name: str) -> bool:
    """Whether the hook in this folder leads to Atlas: by a stub, or by a line that a person added."""
    file = folder / name
    if not os.access(file, os.X_OK) or file.is_dir():
        return False
    if whose(file) in (Whose.ATLAS, Whose.EDITED) or _kept_by_framework(folder, name):
        return True
    return f"hook {name}".encode() in file.read_bytes()


def chained(folder: Path, name: str) -> bool:
    """Whether the stub of this name runs another hook first."""
    return os.access(folder / (name + BEFORE), os.X_OK)


def put(source: str, place: Path) -> str:
    """Write the shipped file `source` at `place`; what a person should know of it, "" if all is as it should be.

    Somebody else's hook is kept beside it, bytes and mode. At no moment does the name lead to nothing.
    """
    data = _stamped((shipped("hooks") / source).read_bytes())
    owner, kept = whose(place), place.with_name(place.name + BEFORE)
    if owner is Whose.EDITED:
        return f"{place} was edited since Atlas wrote it, and is left as it is; delete it to have it written anew"
    if owner is Whose.OTHER:
        if _kept_by_framework(place.parent, place.name):
            return ""
        if os.path.lexists(kept):
            return f"{place} and {kept} are both hooks of others: make them one, then run `atlas hooks install` again"
    elif owner is Whose.ATLAS and place.read_bytes() == data and os.access(place, os.X_OK):
        return ""
    place.parent.mkdir(parents=True, exist_ok=True)
    with _temporary(place, data) as temp:
        if owner is Whose.OTHER:
            _keep(place, kept)
        temp.replace(place)
    return ""


def take_out(place: Path) -> str:
    """Remove a stub, and put back what was there before it; what a person should know of it."""
    owner, kept = whose(place), place.with_name(place.name + BEFORE)
    if owner is Whose.EDITED:
        return f"{place} was edited since Atlas wrote it, and is left as it is; delete it by hand"
    if owner is Whose.OTHER:
        if os.path.lexists(kept):
            return f"{kept} was kept, since {place} is no longer the hook of Atlas: put it where it belongs"
        if _kept_by_framework(place.parent, place.name):
            place.with_name(place.name + _LEGACY).unlink()
        return ""
    if os.path.lexists(kept):
        kept.replace(place)
    else:
        place.unlink(missing_ok=True)
    return ""


def _kept_by_framework(folder: Path, name: str) -> bool:
    return whose(folder / (name + _LEGACY)) is Whose.ATLAS


def _keep(place: Path, kept: Path) -> None:
    """Give a hook its second name. A hard link first: a kill before the stub is in place leaves the hook working."""
    try:
        os.link(place, kept, follow_symlinks=False)
    except (OSError, NotImplementedError):  # a disk without hard links
        shutil.copy2(place, kept, follow_symlinks=False)


@contextmanager
def _temporary(place: Path, data: bytes) -> Iterator[Path]:
    temp = place.with_name(f"{place.name}.atlas-tmp-{os.getpid()}")
    try:
        temp.write_bytes(data)
        temp.chmod(0o755)
        yield temp
    finally:
        with suppress(FileNotFoundError):
            temp.unlink()


def _stamped(data: bytes) -> bytes:
    return data + _MARK + _digest(data) + b"\n"


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest()[:32].encode()
