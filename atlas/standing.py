"""Whether a watcher runs, and what it says of itself: a lock that only one can have, and a small file beside it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Any

from filelock import FileLock, Timeout

from atlas.config import MARKER, Config, now
from atlas.errors import Unavailable
from atlas.vault import write_elsewhere

_LOCK, _FILE = "watch.lock", "watch.json"
#: Seconds for a starting watcher to get the lock: `state` holds it for a moment when it asks whether one runs.
_STARTING = 1.0


@dataclass
class Standing:
    """What others are told of a watcher. `waiting` counts what it saw once and does not believe yet.

    `last_error` stays after it is mended; `failed` is when it came.
    """

    pid: int
    started: str
    mode: str = "events"
    reason: str = ""
    refreshed: str = ""
    lag: float = 0.0
    refreshes: int = 0
    waiting: int = 0
    last_error: str = ""
    failed: str = ""


class Post:
    """The place of the one watcher of a vault."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = FileLock(config.state / _LOCK)
        self._saved: dict[str, Any] = {}
        self._inode = 0
        self.standing = Standing(os.getpid(), now().isoformat(timespec="seconds"))

    def take(self) -> None:
        """Take the place, afresh if it is held: its file may be that of a folder since removed. Raises Unavailable."""
        self.leave()
        self._config.state.mkdir(exist_ok=True)
        try:
            self._lock.acquire(timeout=_STARTING)
        except Timeout:
            who = _read(self._config).get("pid", "unknown")
            said = f"Another watcher (process {who}) has this vault: one is enough; stop it to start one here."
            raise Unavailable(said) from None
        self._inode = (self._config.state / _LOCK).stat().st_ino

    @property
    def held(self) -> bool:
        """Whether the lock is still that of this vault: who removes `.atlas` removes it too."""
        try:
            return (self._config.state / _LOCK).stat().st_ino == self._inode
        except OSError:
            return False

    def leave(self) -> None:
        """Let another have it."""
        self._lock.release()
        self._saved = {}

    def save(self) -> None:
        """Write the standing if it changed, and only where the vault is: a folder removed must not come back."""
        standing = asdict(self.standing)
        if standing != self._saved and (self._config.root / MARKER).is_file() and self._config.state.is_dir():
            write_elsewhere(self._config.state / _FILE, (json.dumps(standing) + "\n").encode())
            self._saved = standing


def state(config: Config) -> dict[str, Any]:
    """Whether a watcher runs, as its lock says, and what it last wrote of itself."""
    if not _runs(config):
        return {"running": False}
    known = _read(config)
    wanted = ("pid", "mode", "reason", "lag", "last_error", "failed", "refreshed", "refreshes", "waiting")
    told = {name: known[name] for name in wanted if name in known}
    return {"running": True, "since": known.get("started", ""), **told}


def _runs(config: Config) -> bool:
    """Whether somebody has the lock. The system frees it when its holder dies, so a killed watcher is none."""
    file = config.state / _LOCK
    if not file.exists():
        return False
    try:
        with FileLock(file, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def _read(config: Config) -> dict[str, Any]:
    try:
        found = json.loads((config.state / _FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
