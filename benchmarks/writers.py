"""Many at once on one vault: 8 processes store, 4 search, beside a watcher and a person who commits.

    python benchmarks/writers.py [--writers 8] [--each 100]

Counts what a user would lose: memories not stored, errors, commits missing, rows wrong in the index at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _common import git, identify, keep

from atlas import MemoryEngine
from atlas.errors import AtlasError
from atlas.template import create

SEARCHERS = 4
#: Seconds between two searches of one searcher, and between two commits of the person.
THINKING, COMMITTING = 1.0, 0.5


def text(who: int, number: int) -> str:
    """A memory nobody else stores."""
    return f"Station {who:02d} wrote down reading {number:03d}: the river stood at {who * 1000 + number} centimetres."


def write(vault: str, who: int, each: int) -> dict[str, Any]:
    """Store memories one by one: how many, how long each took, what went wrong."""
    stored, took, errors = 0, [], []
    with MemoryEngine(vault, create=False, resident=False) as engine:
        for number in range(each):
            began = time.perf_counter()
            try:
                done = engine.ingest(text(who, number))
                stored += len(done.memories)
                if not done.applied.committed:
                    errors.append(done.applied.note)
            except (AtlasError, OSError) as err:
                errors.append(str(err))
            took.append(time.perf_counter() - began)
    return {"stored": stored, "took": took, "errors": errors}


def search(vault: str, who: int, done: str) -> dict[str, Any]:
    """Search until told to stop, every second engine with its index in memory; what was found once must be found."""
    looks, known, took, errors = 0, False, [], []
    with MemoryEngine(vault, create=False, resident=who % 2 == 0) as engine:
        while not Path(done).exists():
            began = time.perf_counter()
            try:
                found = any(text(who, 0) in hit.text for hit in engine.retrieve(text(who, 0), k=10))
                if known and not found:
                    errors.append("a memory that was found is gone")
                known, looks = known or found, looks + 1
            except (AtlasError, OSError) as err:
                errors.append(str(err))
            took.append(time.perf_counter() - began)
            time.sleep(THINKING)
    return {"looks": looks, "took": took, "errors": errors}


def commits(vault: Path, done: Path) -> dict[str, Any]:
    """A person who edits a note of their own and runs `git add -A` and `git commit` in a loop."""
    made = 0
    diary = vault / "diary.md"
    while not done.exists():
        with diary.open("a", encoding="utf-8") as file:
            file.write(f"Line {made} of the diary.\n")
        subprocess.run(["git", "add", "-A"], cwd=vault, capture_output=True, check=False)
        ran = subprocess.run(["git", "commit", "-qm", f"diary {made}"], cwd=vault, capture_output=True, check=False)
        made += ran.returncode == 0
        time.sleep(COMMITTING)
    return {"made": made, "lines": len(diary.read_text(encoding="utf-8").splitlines())}


def child(role: str, *words: str) -> subprocess.Popen[str]:
    """A process of one role; it answers with one JSON object."""
    return subprocess.Popen([sys.executable, __file__, "--role", role, *words], stdout=subprocess.PIPE, text=True)


def answer(process: subprocess.Popen[str], seconds: float = 600) -> dict[str, Any]:
    """What a child found; raises if it died."""
    out, _ = process.communicate(timeout=seconds)
    return json.loads(out)


def run(writers: int, each: int) -> dict[str, Any]:
    """The whole of it, once."""
    with tempfile.TemporaryDirectory() as folder:
        vault, done = Path(folder, "vault"), Path(folder, "done")
        vault.mkdir()
        git(vault, "init", "--quiet", "--initial-branch=main")
        identify(vault)
        create(vault)
        watcher = subprocess.Popen(
            [sys.executable, "-m", "atlas", "--vault", str(vault), "watch", "--json"],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        began = time.perf_counter()
        searchers = [child("search", str(vault), str(n), str(done)) for n in range(SEARCHERS)]
        person = child("commit", str(vault), "0", str(done))
        pens = [child("write", str(vault), str(n), str(each)) for n in range(writers)]
        wrote = [answer(pen) for pen in pens]
        seconds = time.perf_counter() - began
        done.touch()
        looked, person_did = [answer(s) for s in searchers], answer(person)
        watcher.send_signal(signal.SIGTERM)
        said, _ = watcher.communicate(timeout=30)
        return {
            "writers": writers, "each": each, "searchers": SEARCHERS,
            "search_pause_s": THINKING, "commit_pause_s": COMMITTING,
            "seconds": round(seconds, 1),
            **counted(vault, wrote, writers * each),
            "errors": [e for found in (*wrote, *looked) for e in found["errors"]],
            "write_ms_median": round(1000 * statistics.median([t for found in wrote for t in found["took"]]), 1),
            "search_ms_median": round(1000 * statistics.median([t for f in looked for t in f["took"]] or [0]), 1),
            "searches": sum(found["looks"] for found in looked),
            "persons_commits": person_did["made"], "diary_lines": person_did["lines"],
            "watcher_lines": len(said.splitlines()), "watcher_exit": watcher.returncode,
        }  # fmt: skip


def counted(vault: Path, wrote: list[dict[str, Any]], expected: int) -> dict[str, Any]:
    """What is there at the end: files, the index, Git."""
    files = [place.read_text(encoding="utf-8") for place in (vault / "memories").rglob("*.md")]
    with MemoryEngine(vault, create=False) as engine:
        indexed = len({hit.path for hit in engine.retrieve("river reading of the station", k=5000)})
        waiting = engine.status()["waiting"]
    dirty = git(vault, "status", "--porcelain").splitlines()
    return {
        "stored": sum(found["stored"] for found in wrote), "files": len(files), "indexed": indexed,
        "lost": expected - sum(any(text_ in f for f in files) for text_ in all_texts(expected, wrote)),
        "waiting": len(waiting), "fsck": git(vault, "fsck", "--strict", "--no-dangling").splitlines(),
        "uncommitted": [line for line in dirty if line[3:].startswith("memories/")],
        "locks_left": [str(p.name) for p in (vault / ".git").rglob("*.lock")],
    }  # fmt: skip


def all_texts(expected: int, wrote: list[dict[str, Any]]) -> list[str]:
    """Every text that was to be stored."""
    each = expected // len(wrote)
    return [text(who, n) for who in range(len(wrote)) for n in range(each)]


def main() -> None:
    """Run a role, or all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--role", choices=["write", "search", "commit"])
    parser.add_argument("words", nargs="*")
    asked = parser.parse_args()
    if not asked.role:
        keep("writers", run(asked.writers, asked.each), data="made-up memories")
        return
    vault, who, rest = asked.words
    roles = {
        "write": lambda: write(vault, int(who), int(rest)),
        "search": lambda: search(vault, int(who), rest),
        "commit": lambda: commits(Path(vault), Path(rest)),
    }
    print(json.dumps(roles[asked.role]()))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
