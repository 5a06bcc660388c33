"""Memory files: reading one, and writing without losing anybody's text."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE
from typing import BinaryIO

from atlas.config import Config
from atlas.errors import Conflict, NotFound
from atlas.memory import Change
from atlas.paths import check_path, inside
from atlas.survey import blob_id

#: How the names of files begin that are written before they get their own.
TEMPORARY = ".atlas-tmp-"


def read(config: Config, path: str) -> bytes:
    """The bytes of one memory file; raises NotFound, OutsideVault."""
    place = inside(config.root, check_path(path, existing=True))
    try:
        return place.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise NotFound("memory file", path) from None


def names_taken(config: Config) -> Callable[[str], bool]:
    """A test whether anything lies at a path, comparing as a case-insensitive disk would.

    Each folder is listed once, so the test is for one batch of new names: a month can hold thousands of memories.
    """
    folded: dict[Path, set[str]] = {}

    def taken(path: str) -> bool:
        place = inside(config.root, check_path(path, existing=True))
        if place.parent not in folded:
            names = place.parent.iterdir() if place.parent.is_dir() else ()
            folded[place.parent] = {found.name.casefold() for found in names}
        return place.name.casefold() in folded[place.parent]

    return taken


def write(config: Config, path: str, data: bytes, before: str | None, folders: set[Path] | None = None) -> None:
    """Put `data` at `path` if the file still has blob id `before` (None: if no file is there).

    The bytes are on disk (fsync) before the name points at them; a reader sees the old or the new file, whole. So is
    the name, unless `folders` takes its folder, for `settle`. Raises Conflict holding both sides, and then nothing was
    changed.
    """
    place = inside(config.root, check_path(path, existing=before is not None))
    place.parent.mkdir(parents=True, exist_ok=True)
    with _temporary(place, data) as temp:
        if before is None:
            _create(temp, place, path, data)
        else:
            _replace(temp, place, path, data, before)
    _settle_later(place.parent, folders)


def remove(config: Config, path: str, before: str, folders: set[Path] | None = None) -> None:
    """Remove the file if it still has blob id `before`; the caller commits, so the bytes stay in history.

    `folders` as in `write`.
    """
    place = inside(config.root, check_path(path, existing=True))
    found = _bytes(place)
    if found is None or blob_id(found) != before:
        raise Conflict(path, None, found)
    place.unlink()
    _settle_later(place.parent, folders)


def settle(folders: Iterable[Path]) -> None:
    """Make the new names in these folders survive a power cut: each once, not once for each of 2,000 files."""
    for folder in folders:
        _sync_folder(folder)


def _settle_later(folder: Path, folders: set[Path] | None) -> None:
    if folders is None:
        _sync_folder(folder)
    else:
        folders.add(folder)


def write_elsewhere(place: Path, data: bytes) -> None:
    """Write a file outside the memories (an export), whole or not at all."""
    with _temporary(place, data) as temp:
        temp.replace(place)


def made_elsewhere(place: Path, fill: Callable[[BinaryIO], None]) -> None:
    """Write a file outside the memories that is too large to be held, whole or not at all: `fill` writes it."""
    temp = place.parent / f"{_temporary_name(place)}-{secrets.token_hex(6)}"
    try:
        with temp.open("xb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        temp.replace(place)
    finally:
        temp.unlink(missing_ok=True)


def folder_elsewhere(place: Path, files: Iterable[tuple[str, bytes]]) -> int:
    """Make a folder outside the vault that holds these files, whole or not at all; how many. It must not hold any."""
    temp = place.parent / f"{_temporary_name(place)}-{secrets.token_hex(6)}"
    count = 0
    try:
        temp.mkdir()
        for path, data in files:
            target = inside(temp, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            count += 1
        if place.is_dir():
            place.rmdir()  # fails if somebody has put a file there meanwhile
        temp.replace(place)
    finally:
        shutil.rmtree(temp, ignore_errors=True)
    return count


def sweep(config: Config, changes: Sequence[Change] = ()) -> list[str]:
    """Remove temporary files that killed writers left behind. Call only under the vault's write lock.

    `changes` are those they were making: what one swapped out and did not live to look at is put back, if it is a
    save of somebody else's.
    """
    for change in changes:
        _finish_swap(config, change)
    swept = []
    for folder, names, files in os.walk(config.root):
        names[:] = [n for n in names if not n.startswith(".")]
        for name in files:
            if name.startswith(TEMPORARY):
                Path(folder, name).unlink(missing_ok=True)
                swept.append(name)
    return swept


def _finish_swap(config: Config, change: Change) -> None:
    place = config.root / change.path
    if change.data is None or change.before is None or not place.is_file():
        return
    for temp in place.parent.glob(f"{_temporary_name(place)}-*"):
        was = temp.read_bytes()
        if not change.data.startswith(was) and blob_id(was) != change.before and place.read_bytes() == change.data:
            temp.replace(place)


def _temporary_name(place: Path) -> str:
    """What the names of a file's own temporary files begin with."""
    return TEMPORARY + hashlib.sha256(os.fsencode(place.name)).hexdigest()[:12]


@contextmanager
def _temporary(place: Path, data: bytes) -> Iterator[Path]:
    temp = place.parent / f"{_temporary_name(place)}-{secrets.token_hex(6)}"
    try:
        with temp.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            temp.chmod(S_IMODE(place.stat().st_mode))
        yield temp
    finally:
        temp.unlink(missing_ok=True)


def _create(temp: Path, place: Path, path: str, data: bytes) -> None:
    """Give the temporary file its name without ever replacing another."""
    try:
        os.link(temp, place)
    except FileExistsError:
        raise Conflict(path, data, _bytes(place)) from None
    except OSError:  # a disk without hard links (FAT, some network shares)
        if place.exists():
            raise Conflict(path, data, _bytes(place)) from None
        temp.replace(place)


def _replace(temp: Path, place: Path, path: str, data: bytes, before: str) -> None:
    """Swap the new file in, then look at what came out.

    Compare-then-rename leaves a gap in which an editor's save is overwritten unseen. Swapping the two names in one
    step keeps whatever was there: if it is not what was read, it is swapped back and the caller told.
    """
    found = _bytes(place)
    if found is None or blob_id(found) != before:
        raise Conflict(path, data, found)
    if not _exchange(temp, place):
        temp.replace(place)
        return
    was = temp.read_bytes()
    if blob_id(was) != before:
        _put_back(temp, place, was, data)
        raise Conflict(path, data, was)


def _put_back(temp: Path, place: Path, theirs: bytes, ours: bytes) -> None:
    """Swap `theirs` back in for `ours`. A save that comes between two swaps is newer, and is swapped back in turn."""
    while True:
        _exchange(temp, place)
        out = temp.read_bytes()
        if out == ours:
            return
        theirs, ours = out, theirs


def _exchange(one: Path, two: Path) -> bool:
    """Swap two names in one step (Linux `renameat2`, RENAME_EXCHANGE); False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    at_cwd, swap = -100, 2
    if call is None:
        return False
    if call(at_cwd, os.fsencode(one), at_cwd, os.fsencode(two), swap) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(two))


def _bytes(place: Path) -> bytes | None:
    try:
        return place.read_bytes()
    except FileNotFoundError:
        return None


def _sync_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut; folders cannot be opened for this on Windows."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
