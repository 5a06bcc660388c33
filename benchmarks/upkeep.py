"""What upkeep costs: a run with nothing due, a run of forgetting, taking it back.

    python benchmarks/upkeep.py [--notes 10000] [--forgotten 2000]

Made-up notes, stored as an agent would. Every row is a process of its own, as a person or a hook starts one. Beside a
run with nothing due stands a search in the same vault; beside a run of forgetting, Git alone committing the same files.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import _common
import _notes

from atlas import MemoryEngine
from atlas.ingest import Request

RUNS, FORGETTING = 9, 3
START = datetime(2026, 1, 1, 9, tzinfo=UTC)
#: Days over which the memories were stored, and days after which all of them have faded.
SPREAD, LATER = 300, 700
KINDS = ("episode", "fact", "fact", "decision")


def main(size: int, forgotten: int) -> None:
    """Measure both and keep the figures."""
    with tempfile.TemporaryDirectory() as temp:
        figures = {
            "nothing due": idle(_vault(Path(temp) / "large", size)),
            "forgetting": forgetting(_vault(Path(temp) / "small", forgotten), Path(temp)),
        }
    _common.keep("upkeep", figures, data=f"{size:,} and {forgotten:,} made-up notes, stored over {SPREAD} days")


def idle(vault: Path) -> dict[str, Any]:
    """Seconds of `atlas maintain` after a run that did what was due, and of a search."""
    _at(START + timedelta(days=SPREAD))
    began = time.perf_counter()
    due = _common.atlas("maintain", "--yes", cwd=vault)["out"]["ran"]
    first = time.perf_counter() - began
    settling = 0
    while _common.atlas("maintain", "--yes", cwd=vault)["out"]["ran"] and settling < RUNS:
        settling += 1
    taken: dict[str, list[float]] = {"maintain": [], "search": []}
    for _ in range(RUNS):
        run = _common.atlas("maintain", cwd=vault)
        assert run["out"]["ran"] == [], run["out"]
        taken["maintain"].append(run["wall"])
        taken["search"].append(_searched(vault))
    ratio = statistics.median(taken["maintain"]) / statistics.median(taken["search"])
    return {
        "first run": {"seconds": round(first, 2), "tasks": {r["task"]: len(r["changed"]) for r in due}},
        "runs until nothing was due": settling + 1,
        **{name: _common.spread(seconds) for name, seconds in taken.items()},
        "maintain / search": round(ratio, 2),
    }


def _searched(vault: Path) -> float:
    """Seconds of a search, which leaves no trace: else the next run would have a reading to count."""
    taken = float(_common.atlas("search", "where is the vault", cwd=vault)["wall"])
    for file in (vault / ".atlas" / "journal").glob("*.jsonl"):
        file.unlink()
    return taken


def forgetting(vault: Path, temp: Path) -> dict[str, Any]:
    """Seconds of a run that takes every memory a rung down, of Git alone, and of undoing the run."""
    _at(START + timedelta(days=SPREAD + LATER))
    rows: dict[str, list[float]] = {"forget": [], "git alone": [], "undo": []}
    stepped = commits = 0
    for run in range(FORGETTING):
        copy = temp / f"run-{run}"
        shutil.copytree(vault, copy)
        before = _commits(copy)
        done = _common.atlas("forget", "--yes", cwd=copy)
        stepped, commits = len(done["out"]["plan"]), _commits(copy) - before
        rows["forget"].append(done["wall"])
        rows["git alone"].append(_git_alone(vault, copy, temp / f"git-{run}"))
        rows["undo"].append(_common.atlas("undo", cwd=copy)["wall"])
        assert not _common.git(copy, "diff", "--stat", f"HEAD~{commits + 1}", "--", ":!usage")
        shutil.rmtree(copy)
    medians = {name: statistics.median(seconds) for name, seconds in rows.items()}
    return {
        "memories": stepped,
        "commits": commits,
        **{name: _common.spread(seconds) for name, seconds in rows.items()},
        "forget / git alone": round(medians["forget"] / medians["git alone"], 2),
    }


def _git_alone(vault: Path, done: Path, copy: Path) -> float:
    """Seconds Git takes to commit the files that a run changed."""
    shutil.copytree(vault, copy)
    for entry in copy.iterdir():
        if entry.name not in (".git", ".atlas"):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    shutil.copytree(done, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git", ".atlas"))
    began = time.perf_counter()
    _common.git(copy, "add", "-A")
    _common.git(copy, "commit", "--quiet", "-m", "forget")
    taken = time.perf_counter() - began
    shutil.rmtree(copy)
    return taken


def _commits(vault: Path) -> int:
    return int(_common.git(vault, "rev-list", "--count", "HEAD"))


def _vault(folder: Path, size: int) -> Path:
    """A vault of so many memories, stored evenly over `SPREAD` days."""
    _at(START + timedelta(days=SPREAD))
    folder.mkdir()
    _common.git(folder, "init", "--quiet")
    _common.identify(folder)
    _common.atlas("init", cwd=folder)
    with (folder / "atlas.toml").open("a") as file:  # on the vault's own clock, a pause ages nothing
        file.write(f"\n[forget]\nidle_days = {LATER}\n")
    _common.git(folder, "add", "-A")
    _common.git(folder, "commit", "--quiet", "-m", "a vault in which pauses count")
    with MemoryEngine(folder) as engine:
        engine.ingest_many(list(_requests(size)))
    return folder


def _requests(size: int) -> Iterator[Request]:
    for number, (_, text) in enumerate(_notes.notes(size)):
        when = START + timedelta(days=SPREAD * number / size)
        body = text.partition("\n---\n")[2] or text
        yield Request(body, kind=KINDS[number % len(KINDS)], created=when, whole=True)


def _at(moment: datetime) -> None:
    """Set the clock of every process that is started from here."""
    os.environ["ATLAS_NOW"] = moment.isoformat()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--forgotten", type=int, default=2_000)
    chosen = parser.parse_args()
    main(chosen.notes, chosen.forgotten)
