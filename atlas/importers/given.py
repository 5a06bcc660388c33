"""What an import is given: a file, a zip archive or a folder, read-only, a piece at a time, and bounded.

Links are not followed, a name that leads out is not opened, and an archive that unpacks without end is let go.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from stat import S_ISLNK, S_ISREG
from typing import BinaryIO, cast

from atlas.errors import NotText, UsageError
from atlas.importers import Skipped
from atlas.source import decode
from atlas.survey import is_entered

#: A member of an archive may unpack to so many times its size, once it is over so many bytes: JSON has 5 to 20.
MOST_TIMES, FREE_BYTES = 200, 64_000_000
#: Files of an archive or a folder that are looked at.
MOST_FILES = 500_000
#: Bytes of a beginning by which a format is known.
HEAD = 65_536
_PIECE = 1 << 20
_ENCRYPTED, _UTF8 = 0x1, 0x800
_LONE = re.compile("[\udc80-\udcff]")
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OUTWARD = "its name leads out of the archive"


@dataclass
class Given:
    """One thing to be imported. `files` are its regular files by name, in order, with their sizes in bytes.

    `hidden` are the names at its top that begin with a dot, `skipped` what is not opened. `columns` say which column
    of a table is which field. `consumed` counts the bytes read so far, of `size`; `broken` has files that end in
    damage. `packed` are their sizes in an archive.
    """

    place: Path
    files: Mapping[str, int]
    hidden: frozenset[str]
    skipped: tuple[Skipped, ...]
    columns: Mapping[str, str]
    _opener: Callable[[str], BinaryIO]
    is_file: bool = False
    consumed: int = 0
    broken: dict[str, str] = field(default_factory=dict)
    packed: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the file or folder."""
        return self.place.name

    @property
    def size(self) -> int:
        """All bytes of its files."""
        return sum(self.files.values())

    def open(self, name: str) -> BinaryIO:
        """One file as a stream, counted and bounded; where it is damaged it ends, and `broken` says so."""
        return io.BufferedReader(cast("io.RawIOBase", _Counted(self, name, self._opener(name))), _PIECE)

    def read(self, name: str, most: int) -> bytes | None:
        """A whole file, or None if it has more than `most` bytes."""
        with self.open(name) as stream:
            data = stream.read(most + 1)
        return data if len(data) <= most else None

    def head(self, name: str) -> str:
        """The beginning of a file as text; "" if it is none."""
        before = self.consumed
        with self.open(name) as stream:
            data = stream.read(HEAD)
        self.consumed = before
        self.broken.pop(name, None)
        mark = next((encoding for sign, encoding in _MARKS if data.startswith(sign)), "")
        encoding = mark or _bare_utf16(data) or "utf-8"
        text = data.decode(encoding, "replace").removeprefix("\ufeff")
        return "" if "\0" in text else text

    def text(self, name: str) -> io.TextIOWrapper:
        """A file as a stream of text. A byte that is none in its encoding becomes a lone surrogate."""
        return io.TextIOWrapper(self.open(name), encoding=self._encoding(name), errors="surrogateescape", newline="")

    def _encoding(self, name: str) -> str:
        """By the mark, or by reading all of it: UTF-8 unless most of what is not ASCII is wrong in it."""
        before, bad, good = self.consumed, 0, 0
        with self.open(name) as stream:
            first = stream.read(HEAD)
            mark = next((encoding for sign, encoding in _MARKS if first.startswith(sign)), "") or _bare_utf16(first)
            if mark:
                self.consumed = before
                return mark
            decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
            piece = first
            while piece:
                if not piece.isascii():
                    text = decoder.decode(piece)
                    wrong = len(_LONE.findall(text))
                    bad += wrong
                    good += sum(map(len, re.findall(r"[^\x00-\x7f]+", text))) - wrong
                piece = stream.read(_PIECE)
        self.consumed = before
        return "cp1252" if bad > good else "utf-8"


class _Counted(io.RawIOBase):
    """The bytes of a file. Damage ends it; so does unpacking beyond reason."""

    def __init__(self, given: Given, name: str, stream: BinaryIO) -> None:
        self._given, self._name, self._stream = given, name, stream
        self._packed = given.packed.get(name, 0)
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as err:
            self._given.broken[self._name] = f"it is damaged ({err}): export it again"
            return 0
        self._read += len(data)
        if self._packed and self._read > max(FREE_BYTES, MOST_TIMES * self._packed):
            self._given.broken[self._name] = f"it unpacks to over {MOST_TIMES} times its size, as no export does"
            return 0
        self._given.consumed += len(data)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


@contextmanager
def opened(place: Path, columns: Mapping[str, str] | None = None) -> Iterator[Given]:
    """What lies at a place, open for an import; raises UsageError, NotFound or OSError if nothing can be read there."""
    named = dict(columns or {})
    if place.is_dir():
        found = _Found()
        _walk(place, "", found)
        yield Given(place, dict(sorted(found.files.items())), frozenset(found.hidden), tuple(found.skipped), named,
                    lambda name: (place / name).open("rb"))  # fmt: skip
    elif place.is_file() and zipfile.is_zipfile(place):
        with _archive(place) as archive:
            yield _unpacked(place, archive, named)
    elif not S_ISREG(place.stat().st_mode):
        raise UsageError(f"{place} is no file that can be read twice: save it as a file, and import that.")
    else:
        yield Given(place, {place.name: place.stat().st_size}, frozenset(), (), named, lambda _: place.open("rb"), True)


@dataclass
class _Found:
    files: dict[str, int] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    skipped: list[Skipped] = field(default_factory=list)


def _walk(root: Path, prefix: str, found: _Found) -> None:
    """The regular files below a folder. Folders of editors and of Git are none of ours."""
    folders = [prefix]
    while folders:
        at = folders.pop()
        try:
            entries = sorted(os.scandir(root / at), key=lambda entry: entry.name)
        except OSError as err:
            found.skipped.append(Skipped(at, f"the folder cannot be read ({err.strerror})"))
            continue
        for entry in entries:
            if entry.name.startswith("."):
                found.hidden |= set() if at else {entry.name}
            elif entry.is_symlink():
                found.skipped.append(Skipped(at + entry.name, "a link is not followed"))
            elif entry.is_dir():
                folders += [f"{at}{entry.name}/"] if is_entered(at + entry.name) else []
            elif S_ISREG((stat := entry.stat(follow_symlinks=False)).st_mode):
                found.files[at + entry.name] = stat.st_size
        if len(found.files) > MOST_FILES:
            raise UsageError(f"{root} holds over {MOST_FILES:,} files: name the folder of the notes.")


def _archive(place: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(place)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as err:
        raise UsageError(f"{place.name} is a damaged zip archive ({err}): export it again.") from None


def _unpacked(place: Path, archive: zipfile.ZipFile, columns: Mapping[str, str]) -> Given:
    """The members of an archive by name; the one folder that holds all of them is not part of their names."""
    found = _Found()
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist()[:MOST_FILES]:
        name = _name(info)
        reason = "" if info.is_dir() else _refused(info, name, members)
        if reason:
            found.skipped.append(Skipped(name, reason))
        elif not info.is_dir() and not name.startswith("__MACOSX/"):
            members[name] = info
    tops = {name.partition("/")[0] for name in members}
    top = f"{next(iter(tops))}/" if len(tops) == 1 and all("/" in name for name in members) else ""
    shown = {name.removeprefix(top): info for name, info in members.items()}
    hidden = {name.partition("/")[0] for name in shown if name.startswith(".")}
    files = {n: i for n, i in shown.items() if not any(part.startswith(".") for part in n.split("/")) and _ours(n)}
    sizes = {name: info.file_size for name, info in sorted(files.items())}
    packed = {name: info.compress_size for name, info in files.items()}
    opener = partial(_member, archive, files)
    return Given(place, sizes, frozenset(hidden), tuple(found.skipped), columns, opener, packed=packed)


def _member(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], name: str) -> BinaryIO:
    try:
        stream: BinaryIO = archive.open(members[name])  # type: ignore[assignment]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as err:
        return _Unopened(str(err))  # type: ignore[return-value]
    return stream


class _Unopened(io.RawIOBase):
    """A member whose own header is damaged: it fails where it is read, like any other damage."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def read(self, size: int = -1) -> bytes:  # noqa: ARG002 - as streams are read
        raise EOFError(self._reason)


def _name(info: zipfile.ZipInfo) -> str:
    """The name as it was meant: many programs write UTF-8 and do not say so, and it is then read as DOS text."""
    if info.flag_bits & _UTF8:
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def _refused(info: zipfile.ZipInfo, name: str, members: Mapping[str, zipfile.ZipInfo]) -> str:
    """Why a member is not opened, or ""."""
    parts = name.replace("\\", "/").split("/")
    if ".." in parts or name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
        return _OUTWARD
    if S_ISLNK(info.external_attr >> 16):
        return "a link is not followed"
    if info.flag_bits & _ENCRYPTED:
        return "it is encrypted: unpack the archive and import the folder"
    return "the archive holds two files of this name" if name in members else ""


def _ours(name: str) -> bool:
    folder, _, _ = name.rpartition("/")
    return not folder or is_entered(folder)


def _bare_utf16(data: bytes) -> str:
    """UTF-16 without a mark, by its zeros."""
    if b"\0" not in data[:4096]:
        return ""
    try:
        encoding = decode(data[:4096]).encoding
    except NotText:
        return ""
    return encoding if encoding.startswith("utf-16") else ""
