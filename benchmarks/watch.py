"""A watcher: from a save to the line it prints, idle cost, and a checkout of 500 notes and back.

    python benchmarks/watch.py

The vault is 4,000 made-up notes under Git; the watcher is `atlas watch --json`, a process of its own. A save counts as
searchable when its line is read and a look at the index, which does not look at the folder, finds the text.
"""

from __future__ import annotations

import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import _common
import _notes
import duckdb
from filelock import FileLock

NOTES, SAVES, FOLDERS, MANY = 4000, 24, 20, 500
IDLE_SECONDS, SETTLED_SECONDS = 60, 14


class Watching:
    """The watcher's process and its lines, each with the moment it was read."""

    def __init__(self, vault: Path) -> None:
        self.vault = vault
        words = [sys.executable, "-m", "atlas", "watch", "--json"]
        self.process = subprocess.Popen(words, cwd=vault, stdout=subprocess.PIPE, text=True)
        self.lines: queue.SimpleQueue[tuple[float, dict[str, Any]]] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put((time.perf_counter(), json.loads(line)))

    def next(self, seconds: float = 60) -> tuple[float, dict[str, Any]]:
        """The next line, and when it was read."""
        return self.lines.get(timeout=seconds)

    def drain(self) -> int:
        """Take the lines that came meanwhile; how many."""
        count = 0
        while not self.lines.empty():
            self.lines.get()
            count += 1
        return count

    def figures(self) -> dict[str, float]:
        """CPU seconds so far, and resident memory in MB."""
        proc = Path(f"/proc/{self.process.pid}")
        fields = (proc / "stat").read_text().rpartition(")")[2].split()
        rss = next(line for line in (proc / "status").read_text().splitlines() if line.startswith("VmRSS"))
        ticks = os.sysconf("SC_CLK_TCK")
        return {"cpu": (int(fields[11]) + int(fields[12])) / ticks, "MB": int(rss.split()[1]) / 1024}


def holds(vault: Path, query: str, value: str) -> int:
    """The answer of the index as it is on disk to a query for one number."""
    file = vault / ".atlas" / "index.duckdb"
    with FileLock(vault / ".atlas" / "index.lock", poll_interval=0.002), duckdb.connect(str(file), read_only=True) as c:
        ((found,),) = c.execute(query, [value]).fetchall()
    return int(found)


def has_text(vault: Path, token: str) -> bool:
    """Whether a passage of a listed note has these characters."""
    query = "SELECT count(*) FROM listing JOIN chunks USING (note) WHERE contains(text, ?)"
    return holds(vault, query, token) > 0


# ------------------------------------------------------------------ six ways to save


def in_place(note: Path, text: str) -> float:
    """Over the old bytes, then cut to length."""
    with note.open("r+b") as file:
        file.write(text.encode())
        file.truncate()
    return time.perf_counter()


def truncate_and_write(note: Path, text: str) -> float:
    """Emptied, then written."""
    with note.open("w", encoding="utf-8") as file:
        file.flush()
        time.sleep(0.02)
        file.write(text)
    return time.perf_counter()


def rename_over(note: Path, text: str) -> float:
    """A temporary file renamed over the note."""
    temp = note.with_name(f".{note.name}.tmp1")
    temp.write_text(text, encoding="utf-8")
    temp.replace(note)
    return time.perf_counter()


def rename_away(note: Path, text: str) -> float:
    """vim: a trial file, the note renamed away, a new one, the backup deleted."""
    trial, backup = note.with_name("4913"), note.with_name(f"{note.name}~")
    trial.write_text("")
    trial.unlink()
    note.rename(backup)
    note.write_text(text, encoding="utf-8")
    saved = time.perf_counter()
    backup.unlink()
    return saved


def two_renames(note: Path, text: str) -> float:
    """JetBrains: the new text beside it, the note renamed away, the new one to its place."""
    new, old = note.with_name(f"{note.name}___jb_tmp___"), note.with_name(f"{note.name}___jb_old___")
    new.write_text(text, encoding="utf-8")
    note.rename(old)
    new.rename(note)
    saved = time.perf_counter()
    old.unlink()
    return saved


def delete_and_recreate(note: Path, text: str) -> float:
    """Deleted, and written anew 300 ms later."""
    note.unlink()
    time.sleep(0.3)
    note.write_text(text, encoding="utf-8")
    return time.perf_counter()


STYLES: list[Callable[[Path, str], float]] = [
    in_place, truncate_and_write, rename_over, rename_away, two_renames, delete_and_recreate,
]  # fmt: skip


def save_speed(watching: Watching) -> dict[str, Any]:
    """Seconds from a save to its line, for each way to save; every line must say "changed" and no more."""
    notes = sorted(watching.vault.glob("area-*/*.md"))[: SAVES * len(STYLES)]
    found = {}
    for number, style in enumerate(STYLES):
        taken = []
        for turn, note in enumerate(notes[number * SAVES : (number + 1) * SAVES]):
            token = f"zebrafinch{number}x{turn}y"
            saved = style(note, note.read_text("utf-8") + f"\n{token}\n")
            at, line = watching.next()
            assert (line["event"], line["added"], line["changed"], line["removed"]) == ("refresh", 0, 1, 0), line
            assert has_text(watching.vault, token), (style.__name__, line)
            taken.append(at - saved)
            time.sleep(0.05 + 0.1 * (turn % 5))
        found[style.__name__.replace("_", " ")] = spread(taken)
    time.sleep(3)
    assert watching.drain() == 0
    return {"save to searchable": found}


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Median, 95th percentile, least and most."""
    return {**_common.spread(seconds), "p95": round(statistics.quantiles(seconds, n=20)[-1], 4)}


# ------------------------------------------------------------------------ the rest


def idle(watching: Watching) -> dict[str, Any]:
    """What it costs while nothing happens: CPU, memory, and the lines it prints."""
    time.sleep(SETTLED_SECONDS)
    watching.drain()
    before = watching.figures()
    time.sleep(IDLE_SECONDS)
    after = watching.figures()
    return {
        "idle": {
            "seconds": IDLE_SECONDS,
            "CPU percent": round(100 * (after["cpu"] - before["cpu"]) / IDLE_SECONDS, 3),
            "MB": round(after["MB"]),
            "refreshes": watching.drain(),
        }
    }


def checkouts(watching: Watching) -> dict[str, Any]:
    """Seconds from the start of `git switch` until all 500 notes in new folders are in the index, or none is."""
    vault = watching.vault
    _common.git(vault, "commit", "--quiet", "-am", "edits")
    _common.git(vault, "switch", "--quiet", "-c", "other")
    for n in range(MANY):
        folder = vault / f"many/{n % FOLDERS}/e"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{n}.md").write_text(f"# Many {n}\n\n{' '.join(_notes.vocabulary()[n : n + 100])}\n", "utf-8")
    _common.git(vault, "add", "-A", "many")
    _common.git(vault, "commit", "--quiet", "-m", "many")
    _common.git(vault, "switch", "--quiet", "main")
    (vault / ".atlas" / "index.duckdb").unlink()  # or the notes of the other branch would be known already
    _common.atlas("index", cwd=vault)
    time.sleep(5)
    taken: dict[str, list[float]] = {"all in": [], "all out": []}
    for branch in ("other", "main") * 3:
        began = time.perf_counter()
        _common.git(vault, "switch", "--quiet", branch)
        wanted, name = (MANY, "all in") if branch == "other" else (0, "all out")
        while holds(vault, "SELECT count(*) FROM listing WHERE starts_with(path, ?)", "many/") != wanted:
            time.sleep(0.02)
        taken[name].append(time.perf_counter() - began)
        time.sleep(4)
    firsts = {f"{name}, first time": round(runs[0], 4) for name, runs in taken.items()}
    return {f"checkout of {MANY} notes": {**{n: _common.spread(r) for n, r in taken.items()}, **firsts}}


def main() -> None:
    """Run everything on one vault and keep the figures."""
    with tempfile.TemporaryDirectory() as temp:
        vault = _notes.write(Path(temp) / "vault", NOTES)
        _common.git(vault, "init", "--quiet", "--initial-branch=main")
        _common.identify(vault)
        _common.atlas("init", cwd=vault)
        _common.git(vault, "add", "-A")
        _common.git(vault, "commit", "--quiet", "-m", "notes")
        watching = Watching(vault)
        try:
            watching.next()
            time.sleep(3)
            watching.drain()
            figures = {**save_speed(watching), **idle(watching), **checkouts(watching)}
        finally:
            watching.process.terminate()
            watching.process.wait()
    _common.keep("watch", figures, data=f"{NOTES:,} made-up notes")


if __name__ == "__main__":
    main()
