"""The folder as it is now, without scanning it each time: the kernel tells what changed since the last look.

Linux queues an event within the system call that made the change, so reading the queue, without waiting, misses nothing
that was done before: no thread, no delay. A folder is listened to before it is listed, so nothing falls between the
two. Where events cannot be relied on (another system, a network disk, no watches left, a lost event) every look scans.
"""

from __future__ import annotations

import errno
import os
import sys
import time
import weakref
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from atlas.config import ENDINGS, IGNORED_FOLDERS, MARKER
from atlas.errors import NotAVault
from atlas.survey import Survey, again, survey

if TYPE_CHECKING:
    from atlas.config import Config

#: Seconds after which a look scans whatever was heard, for what no event tells: a disk mounted over a folder, a change
#: through a hard link made outside since the last scan.
_SCAN_AGAIN = 60.0
#: File systems whose changes all pass through this kernel.
_LOCAL = frozenset({"bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "ntfs3", "overlay", "ramfs",
                    "reiserfs", "tmpfs", "vfat", "xfs", "zfs"})  # fmt: skip
#: MODIFY, ATTRIB, CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE, DELETE_SELF, MOVE_SELF; of a folder, not a link.
_MASK = 0xFCE | 0x01000000 | 0x02000000 | 0x04000000
#: UNMOUNT, Q_OVERFLOW, DELETE_SELF, MOVE_SELF: what was heard is not all there was.
_LOST = 0x2000 | 0x4000 | 0x400 | 0x800
_IGNORED, _IS_FOLDER, _CREATE = 0x8000, 0x40000000, 0x100


class Folder:
    """The notes of a vault's folder. `look` gives the same object as long as nothing changed. Not safe for threads."""

    def __init__(self, config: Config, *, listen: bool) -> None:
        self._config = config
        self._wanted = listen and sys.platform == "linux"
        self._ears: _Ears | None = None
        self._last: Survey | None = None
        self._scanned = 0.0

    def look(self) -> Survey:
        """Every note with its stat, as of now; raises NotAVault."""
        if not (self._config.root / MARKER).is_file():
            # An unmounted disk leaves an empty folder behind; taking that for "all notes deleted" lost whole stores.
            raise NotAVault(str(self._config.root))
        last, self._last = self._last, None  # an event is told once: who is interrupted after it has to scan
        heard = self._ears.heard() if self._ears is not None else None
        now = None
        if last is not None and heard is not None and time.monotonic() - self._scanned < _SCAN_AGAIN:
            touched = heard.union(last.shared)
            now = again(self._config, last, touched) if touched else last
        self._last = now if now is not None else self._scan(last)
        return self._last

    def close(self) -> None:
        """Stop listening; the next look scans."""
        if self._ears is not None:
            self._ears.close()
        self._ears = self._last = None

    def _scan(self, last: Survey | None) -> Survey:
        if self._wanted and (self._ears is None or not self._ears.usable):
            self.close()
            self._ears = _Ears(self._config.root) if is_local(self._config.root) else None
        self._scanned = time.monotonic()
        if self._ears is None or not self._ears.usable:
            self._wanted = False  # where there are none left, there will be none a moment later either
            return survey(self._config)
        self._ears.begin()
        found = survey(self._config, entering=self._ears.watch)
        self._ears.end()
        return last if last == found else found


class _Ears:
    """The kernel's queue of events for the folders of one vault."""

    def __init__(self, root: Path) -> None:
        self._root, self._pid = root, os.getpid()
        self._folders: dict[int, str] = {}
        self._entered: set[int] = set()
        self._open = True
        try:
            self._place = root.stat()
            self._queue = import_module("inotify_simple").INotify()
        except OSError:  # a user may have 128 of them, and a folder may go away at any time
            self._open = False
            return
        # An engine that is dropped without being closed must not leave its queue behind.
        self._finalizer = weakref.finalize(self, self._queue.close)

    @property
    def usable(self) -> bool:
        """Whether they hear: not in a child process, which shares its parent's queue and would take its events."""
        return self._open and self._pid == os.getpid()

    def close(self) -> None:
        """Let go of the queue."""
        if self._open:
            self._finalizer()
        self._open = False

    def begin(self) -> None:
        """Before a scan: forget what was heard, and note which folders it enters."""
        self._entered = set()
        self._queue.read(timeout=0)

    def watch(self, folder: str) -> None:
        """Listen to a folder ("" or a path ending in "/") from now on."""
        if not self.usable:
            return
        try:
            number = self._queue.add_watch(self._root / folder, _MASK)
        except OSError as err:
            if err.errno not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):  # gone, or its parent tells when it opens
                self.close()
            return
        self._folders[number] = folder
        self._entered.add(number)

    def end(self) -> None:
        """After a scan: stop listening to the folders it did not enter."""
        for number in [n for n in self._folders if self.usable and n not in self._entered]:
            del self._folders[number]
            try:
                self._queue.rm_watch(number)
            except OSError:
                continue  # its folder is gone, and the watch with it

    def heard(self) -> frozenset[str] | None:
        """The notes touched since the last call; None if more may have changed than can be named."""
        if not self.usable:
            return None
        if not self._in_place():
            self.close()
            return None
        touched = set()
        for event in self._queue.read(timeout=0):
            folder = self._folders.get(event.wd)
            if event.mask & _LOST:
                return None
            if folder is None or event.mask & _IGNORED or event.name.startswith("."):
                continue
            if event.mask & _IS_FOLDER:
                if event.name not in IGNORED_FOLDERS:
                    return None
            elif event.name.lower().endswith(ENDINGS):
                touched.add(folder + event.name)
            elif event.mask & _CREATE and self._is_second_name(folder + event.name):
                return None  # perhaps of a note, which can now change unheard
        return frozenset(touched)

    def _is_second_name(self, path: str) -> bool:
        try:
            return (self._root / path).lstat().st_nlink > 1
        except OSError:
            return False

    def _in_place(self) -> bool:
        """Whether the folder is still the one that is listened to: a folder above it may have been renamed."""
        try:
            place = self._root.stat()
        except OSError:
            return False
        return (place.st_dev, place.st_ino) == (self._place.st_dev, self._place.st_ino)


def is_local(root: Path) -> bool:
    """Whether the folder, and all that is mounted below it, lies on disks of this machine."""
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return False
    here, deepest, kinds = str(root).rstrip("/") + "/", "", [""]
    for line in lines:
        before, _, after = line.partition(" - ")
        place = before.split(" ")[4].encode().decode("unicode_escape").rstrip("/") + "/"
        kind = after.split(" ")[0]
        if place.startswith(here) and place != here:
            kinds.append(kind)
        elif here.startswith(place) and len(place) >= len(deepest):
            deepest, kinds[0] = place, kind
    return _LOCAL.issuperset(kinds)
