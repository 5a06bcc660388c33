"""What runs beside everything: watchers, of which one serves and the other steps back."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock


@contextmanager
def two_watchers(root: Path, folder: Path) -> Iterator[list[str]]:
    """Two `atlas watch` on one vault, until the end of the block; then what they did wrong, in words."""
    wrong: list[str] = []
    files = [folder / f"watcher-{n}" for n in range(2)]
    running = [_watch(root, file) for file in files]
    try:
        yield wrong
    finally:
        for watcher in running:
            if watcher.poll() is None:
                watcher.send_signal(signal.SIGTERM)
        codes = sorted(watcher.wait(30) for watcher in running)
        if codes != [0, 4]:
            wrong.append(f"two watchers ended with {codes}, not with 0 and 4")
        for file in files:
            lines = [json.loads(line) for line in file.read_text().splitlines()]
            wrong += [f"a watcher said {line}" for line in lines if line["event"] in {"error", "root-missing"}]


def _watch(root: Path, file: Path) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "atlas", "--vault", str(root), "watch", "--json"]
    with file.open("wb") as out:
        return subprocess.Popen(words, stdout=out, stderr=subprocess.DEVNULL)


def settle(root: Path) -> None:
    """Wait until no hook refreshes behind Git's back any more."""
    (root / ".atlas").mkdir(exist_ok=True)
    with FileLock(root / ".atlas" / "hooks.lock", timeout=60):
        pass
