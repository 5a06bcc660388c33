"""Looking at the folder: which memory files lie in it, without reading more than is asked for.

Content decides, by Git blob id; size and times only hint that a file need not be read again.
"""

from __future__ import annotations

import errno
import hashlib
import os
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from stat import S_ISREG
from typing import Any, NamedTuple

from atlas.config import DEBRIS, ENDINGS, IGNORED_FOLDERS, IGNORED_PATHS, MARKER, Config
from atlas.errors import NotAVault
from atlas.memory import Finding

_PLAIN_ENDING = ".md"
#: What iCloud leaves in the place of `n.md` when it takes the content off this disk: `.n.md.icloud`.
_EVICTED_ENDING = ".icloud"
#: Flags of a file whose content is elsewhere: macOS's SF_DATALESS; Windows's OFFLINE, RECALL_ON_OPEN and
#: RECALL_ON_DATA_ACCESS. Reading it would fetch it, and one by one that is the whole cloud.
_DATALESS, _RECALLED = 0x4000_0000, 0x1000 | 0x4_0000 | 0x40_0000
_CLOUDS = hasattr(os.stat_result, "st_flags") or hasattr(os.stat_result, "st_file_attributes")
_EVICTED = "its content is in the cloud, not on this disk: what the index knows of it stays until it is here again"


class Stat(NamedTuple):
    """What the file system says of a file without reading it. Times are nanoseconds."""

    size: int
    mtime: int
    ctime: int
    inode: int


#: The four fields of a Stat; a tuple, not a Stat: of 100,000 notes, 0.1 s.
Fields = tuple[int, int, int, int]


class Sheet:
    """Files as they were listed: the names by folder, and the four numbers of each in one row of an array.

    Most looks find what the last one found, and only have to say so: 100,000 paths and tuples would take 0.2 s to make.
    """

    def __init__(self) -> None:
        self.folders: list[tuple[str, list[str]]] = []
        self.numbers = array("q")

    def __len__(self) -> int:
        return len(self.numbers) // 4

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sheet) and (self.folders, self.numbers) == (other.folders, other.numbers)

    __hash__ = None  # type: ignore[assignment]

    def folder(self, prefix: str) -> list[str]:
        """Begin a folder; the list that takes the names of its files."""
        names: list[str] = []
        self.folders.append((prefix, names))
        return names

    def paths(self) -> set[str]:
        """The path of every file."""
        return {prefix + name for prefix, names in self.folders for name in names}

    def files(self) -> dict[str, Fields]:
        """Path → fields of its stat."""
        paths = (prefix + name for prefix, names in self.folders for name in names)
        every = iter(self.numbers)
        return dict(zip(paths, zip(every, every, every, every, strict=True), strict=True))

    @classmethod
    def of(cls, files: Mapping[str, Fields]) -> Sheet:
        """The sheet of these files."""
        sheet = cls()
        sheet.folder("").extend(files)
        sheet.numbers.extend(chain.from_iterable(files.values()))
        return sheet


@dataclass(frozen=True)
class Survey:
    """One look at the folder: the files, what was passed over and why.

    `unknown` are folders (ending in "/") that could not be read: their files are neither there nor gone. `shared` are
    files with another name somewhere else (hard links), through which they can change unheard. `evicted` are files
    whose content a cloud service keeps elsewhere: neither there to be read nor gone.
    """

    sheet: Sheet
    skipped: tuple[Finding, ...]
    unknown: tuple[str, ...]
    shared: tuple[str, ...] = ()
    evicted: frozenset[str] = frozenset()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Survey):
            return NotImplemented
        rest = (self.skipped, self.unknown) == (other.skipped, other.unknown) and {*self.shared} == {*other.shared}
        return rest and self.evicted == other.evicted and (self.sheet == other.sheet or self.files == other.files)

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def files(self) -> dict[str, Fields]:
        """The fields of each file's `Stat` by vault-relative path."""
        return self.sheet.files()

    def missing(self, path: str) -> bool:
        """Whether a file that was there is gone, as far as this look could see."""
        return path not in self.files and path not in self.evicted and not path.startswith(self.unknown)

    @cached_property
    def digest(self) -> str:
        """Stands for all the files seen, so that seeing them again need not be compared one by one."""
        elsewhere = (*self.unknown, *sorted(self.evicted))
        seen = hashlib.blake2b("\0".join(elsewhere).encode("utf-8", "surrogateescape"), digest_size=16)
        for prefix, names in self.sheet.folders:
            seen.update("\0".join(("", prefix, *names)).encode())
        seen.update(self.sheet.numbers.tobytes())
        return seen.hexdigest()


def blob_id(data: bytes) -> str:
    """The id Git gives these bytes (SHA-1 of "blob <length>", NUL, content).

    >>> blob_id(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def text_id(data: bytes) -> str:
    """The blob id of the bytes with LF line ends, which is what Git stores under `core.autocrlf`.

    A re-checkout that turns LF into CRLF must not look like 5,000 edits (it did, and re-embedded them all).
    """
    return blob_id(data.replace(b"\r\n", b"\n"))


def survey(config: Config, entering: Callable[[str], None] | None = None) -> Survey:
    """Every memory file with its stat. Symbolic links are not followed: loops end, and nothing outside is read.

    `entering` is told of every folder just before it is listed.
    """
    if not (config.root / MARKER).is_file():
        # An unmounted disk leaves an empty folder behind; taking that for "all notes deleted" lost whole stores.
        raise NotAVault(str(config.root))
    found = _Found(Sheet(), [], [], [], set())
    put, plain = found.sheet.numbers.extend, not config.ignore and not _CLOUDS
    ignored = ignorer(config.ignore)
    folders = [""]
    while folders:
        prefix = folders.pop()
        if entering is not None:
            entering(prefix)
        names = found.sheet.folder(prefix)
        try:
            with os.scandir(config.root / prefix if prefix else config.root) as entries:
                for entry in entries:
                    # Runs for every file of every search: no call, no object that can be spared.
                    name = entry.name
                    if name[0] == "." or name[:2] == DEBRIS:
                        _placeholder(name, prefix, ignored, found)
                        continue
                    if plain and name.endswith(_PLAIN_ENDING) and name.isascii():
                        st = entry.stat(follow_symlinks=False)
                        if S_ISREG(st.st_mode):
                            put((st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino))
                            names.append(name)
                            if st.st_nlink > 1:
                                found.shared.append(prefix + name)
                            continue
                    _look(entry, prefix, ignored, found, folders)
        except OSError as err:
            found.unknown.append(prefix)
            found.skipped.append(Finding(prefix, 0, "unreadable", f"the folder cannot be read: {err.strerror}"))
    unseen = _unseen(found)
    return Survey(found.sheet, tuple(found.skipped), tuple(found.unknown), tuple(found.shared), unseen)


def again(config: Config, last: Survey, touched: Iterable[str]) -> Survey | None:
    """The last look, with these files of its folders looked at again; None if that takes a whole look."""
    files, ignored = dict(last.files), ignorer(config.ignore)
    alone: set[str] = set()
    odd = {finding.path for finding in last.skipped}
    for path in touched:
        if path in odd or not _is_utf8(path):
            return None
        if ignored(path) or not is_memory(path):
            continue
        place = config.root / path
        try:
            st = place.lstat()
        except OSError as err:
            if err.errno != errno.ENOENT or place.with_name(f".{place.name}{_EVICTED_ENDING}").exists():
                return None
            files.pop(path, None)
            alone.add(path)
            continue
        if not S_ISREG(st.st_mode) or (st.st_nlink > 1 and path not in last.shared) or is_dataless(st):
            return None
        files[path] = (st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino)
        if st.st_nlink == 1:
            alone.add(path)
    shared = tuple(path for path in last.shared if path not in alone)
    same = files == last.files and shared == last.shared
    return last if same else replace(last, sheet=Sheet.of(files), shared=shared)


class _Found(NamedTuple):
    sheet: Sheet
    skipped: list[Finding]
    unknown: list[str]
    shared: list[str]
    evicted: set[str]


def _look(
    entry: os.DirEntry[str], prefix: str, ignored: Callable[[str], bool], found: _Found, folders: list[str]
) -> None:
    """One entry of a folder: a folder to go into, a note, or nothing of ours."""
    name = entry.name
    path = prefix + name
    is_note = name.lower().endswith(ENDINGS)
    if entry.is_symlink():
        if is_note or entry.is_dir():
            found.skipped.append(Finding(path, 0, "link", "a symbolic link is not followed"))
    elif entry.is_dir(follow_symlinks=False):
        if is_entered(path) and not ignored(path + "/"):
            folders.append(path + "/")
    elif is_note and not ignored(path):
        _note(entry, path, found)


def _note(entry: os.DirEntry[str], path: str, found: _Found) -> None:
    if not _is_utf8(path):
        shown = os.fsencode(path).decode("utf-8", "replace")
        reason = "the file name is not valid UTF-8; rename it to have it indexed"
        found.skipped.append(Finding(shown, 0, "name", reason))
        return
    try:
        st = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return  # gone between the listing and the look: the next look decides
    if S_ISREG(st.st_mode) and is_dataless(st):
        found.evicted.add(path)
    elif S_ISREG(st.st_mode):
        found.sheet.numbers.extend((st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino))
        found.sheet.folders[-1][1].append(entry.name)
        if st.st_nlink > 1:
            found.shared.append(path)


def _placeholder(name: str, prefix: str, ignored: Callable[[str], bool], found: _Found) -> None:
    """Note which file a name stands for that is iCloud's placeholder `.n.md.icloud`."""
    if not name.endswith(_EVICTED_ENDING):
        return
    path = prefix + name[1:].removesuffix(_EVICTED_ENDING)
    if is_memory(path) and _is_utf8(path) and not ignored(path):
        found.evicted.add(path)


def _unseen(found: _Found) -> frozenset[str]:
    """The evicted files, each named by a finding; a placeholder left beside its file means nothing."""
    unseen = frozenset(found.evicted - found.sheet.paths()) if found.evicted else frozenset()
    found.skipped.extend(Finding(path, 0, "evicted", _EVICTED) for path in sorted(unseen))
    return unseen


def is_dataless(st: Any) -> bool:
    """Whether the content behind this stat is not on this disk (macOS and Windows tell)."""
    flags, attributes = getattr(st, "st_flags", 0), getattr(st, "st_file_attributes", 0)
    return bool(flags & _DATALESS or attributes & _RECALLED)


def _is_utf8(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_memory(path: str) -> bool:
    """Whether a survey would take a file of this path, the user's own ignore patterns aside."""
    folder, _, name = path.rpartition("/")
    return is_entered(folder) and name.lower().endswith(ENDINGS) and not name.startswith((".", DEBRIS))


def is_entered(folder: str) -> bool:
    """Whether a survey would go into a folder of this path, the user's own ignore patterns aside."""
    if any(part.startswith((".", DEBRIS)) or part in IGNORED_FOLDERS for part in folder.split("/")):
        return False
    return not any(folder == ignored or folder.startswith(f"{ignored}/") for ignored in IGNORED_PATHS)


def ignorer(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """A test whether a path fits any of these patterns (gitignore syntax)."""
    if not patterns:
        return lambda _path: False
    import pathspec  # noqa: PLC0415 - 30 ms that a vault without patterns does not pay

    spec = pathspec.GitIgnoreSpec.from_lines(patterns)
    return lambda path: bool(spec.match_file(path))


def read_listed(config: Config, path: str) -> bytes | None:
    """The bytes of a file a survey found, or None if it is gone (or became a link) since; raises OSError."""
    try:
        handle = os.open(config.root / path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    except OSError as err:
        if err.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise
    with os.fdopen(handle, "rb") as file:
        return file.read()
