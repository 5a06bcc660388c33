"""Being told that something in the folder may have changed; never what. Events come from watchdog.

Nothing here is trusted: a listener can die unheard, or hear of less than all folders (the kernel grants each user a
number of watches, and watchdog passes over what it cannot watch). So it is asked whether it still hears everything.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

from watchdog import events
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from atlas.config import MARKER, Config
from atlas.listen import is_local
from atlas.survey import ignorer, is_entered, is_memory

#: What is heard. Neither `opened` nor `closed_no_write`: reading a note must wake nobody. Changes of a folder itself
#: say nothing that the event of the file in it does not.
_KINDS: list[type[events.FileSystemEvent]] = [
    events.FileCreatedEvent, events.FileDeletedEvent, events.FileModifiedEvent, events.FileMovedEvent,
    events.FileClosedEvent, events.DirCreatedEvent, events.DirDeletedEvent, events.DirMovedEvent,
]  # fmt: skip
#: Events this close to the last, in seconds, say nothing new: a checkout makes thousands.
_DENSE = 0.01
# Without a handler, what it logs goes to stderr.
logging.getLogger("watchdog").addHandler(logging.NullHandler())
_LIMITS = {
    errno.ENOSPC: ("max_user_watches", "524288"),
    errno.EMFILE: ("max_user_instances", "1024"),
}


def concerns(config: Config) -> Callable[[str, bool], bool]:
    """A test whether an event at a path relative to the vault ("" is the vault itself; True: a folder) matters.

    The rules are those of a survey: what is no memory there wakes nobody here.
    """
    ignored = ignorer(config.ignore)

    def matters(path: str, is_folder: bool) -> bool:
        if path in ("", MARKER):
            return True
        if is_folder:
            return is_entered(path) and not ignored(path + "/")
        return is_memory(path) and not ignored(path)

    return matters


class Alarm:
    """Calls `poke` when something in the vault may have changed, from other threads, and does nothing else there."""

    def __init__(self, config: Config, poke: Callable[[], None]) -> None:
        self._root = config.root
        self._handler = _Handler(config, poke)
        self._observer: BaseObserver | None = None
        self._threads: set[threading.Thread] = set()
        self._place = (0, 0)

    def arm(self) -> str:
        """Listen, afresh; "" or why nothing, or not everything, will be heard."""
        self.disarm()
        # It warns of each folder made within a new one, in as many words as there are folders: its thread stood still
        # at a full pipe, with its lock, and where warnings are errors it would die.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        if sys.platform == "linux" and not is_local(self._root):
            return "the folder is on a disk whose changes this system is not told of"
        before = set(threading.enumerate())
        try:
            st = self._root.stat()
            self._place = (st.st_dev, st.st_ino)
            observer = self._observer = Observer()
            observer.schedule(self._handler, str(self._root), recursive=True, event_filter=_KINDS)
            observer.start()
        except OSError as err:
            self.disarm()
            return reason(err)
        finally:
            self._threads = set(threading.enumerate()) - before
        return ""

    def disarm(self) -> None:
        """Stop listening."""
        observer, self._observer = self._observer, None
        self._threads, living = set(), self._threads
        if observer is None:
            return
        observer.stop()
        for thread in living:
            thread.join(5)

    @property
    def sound(self) -> bool:
        """Whether it listens to the folder that is there now, with all its threads alive.

        After the root was removed watchdog's observer says that it lives while its emitter is dead.
        """
        if self._observer is None or not all(thread.is_alive() for thread in self._threads):
            return False
        try:
            st = self._root.stat()
        except OSError:
            return False
        return (st.st_dev, st.st_ino) == self._place

    def deaf_to(self, folders: Iterable[str]) -> str:
        """Why one of these folders (paths ending in "/", or "") is not listened to; "" if all are."""
        watched = _watched()
        if watched is None:
            return ""
        for folder in folders:
            place = self._root / folder
            try:
                inode = place.stat().st_ino
            except OSError:
                continue
            if inode not in watched:
                return _refusal(place)
        return ""


class _Handler(events.FileSystemEventHandler):
    def __init__(self, config: Config, poke: Callable[[], None]) -> None:
        self._root, self._matters, self._poke = str(config.root), concerns(config), poke
        self._last = 0.0

    def dispatch(self, event: events.FileSystemEvent) -> None:
        now = time.monotonic()
        if now - self._last < _DENSE:
            return
        for place in (event.src_path, event.dest_path):
            path = os.fsdecode(place).removeprefix(self._root).replace(os.sep, "/").strip("/")
            if place and self._matters(path, event.is_directory):
                self._last = now
                self._poke()
                return


def reason(err: OSError) -> str:
    """Why the system refuses to tell of changes, and what to raise."""
    if sys.platform != "linux" or err.errno not in _LIMITS:
        return f"the system refuses to tell of changes: {err.strerror or err}"
    name, more = _LIMITS[err.errno]
    try:
        now = Path(f"/proc/sys/fs/inotify/{name}").read_text("ascii").strip()
    except OSError:
        now = "unknown"
    return f"the limit fs.inotify.{name} ({now}) is reached: raise it by `sudo sysctl fs.inotify.{name}={more}`"


def _watched() -> set[int] | None:
    """The inodes of the folders this process listens to; None where the system does not say."""
    found: set[int] = set()
    try:
        for handle in Path("/proc/self/fd").iterdir():
            if _target(handle) == "anon_inode:inotify":
                lines = Path("/proc/self/fdinfo", handle.name).read_text("ascii").splitlines()
                found |= {int(line.split()[2].removeprefix("ino:"), 16) for line in lines if line[:10] == "inotify wd"}
    except OSError:
        return None
    return found


def _target(handle: Path) -> str:
    try:
        return str(handle.readlink())
    except OSError:  # the one that listed the folder is closed by now
        return ""


def _refusal(place: Path) -> str:
    """What the kernel says when it is asked to watch this folder; watchdog keeps that to itself."""
    try:
        with import_module("inotify_simple").INotify() as queue:
            queue.add_watch(place, 0x100)
    except OSError as err:
        return "" if err.errno in (errno.ENOENT, errno.EACCES, errno.ENOTDIR) else reason(err)
    return f"{place} is not listened to"
