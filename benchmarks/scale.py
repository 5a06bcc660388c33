"""What grows with the vault, and how: made-up vaults of several sizes, and a history of 1,100 commits.

    python benchmarks/scale.py [--sizes 1000,10000,100000]

Of each vault: building the index, 200 different searches of one open engine, the same product of matrix and vector by
bare NumPy, searches that are a process each, and an edit until it is found. Of the history: a search in the vault as it
was 1,000 commits ago, against the same search of today.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _common
import _notes
import numpy as np

from atlas import MemoryEngine
from atlas.live import Filters
from atlas.memory import WHOLE_VAULT

QUERIES, COLD_RUNS, EDITS = 200, 9, 9
HISTORY_NOTES, HISTORY_COMMITS, BACK = 2000, 1100, 1000


def main(sizes: list[int]) -> None:
    """Measure every size and the history; keep the figures."""
    figures: dict[str, Any] = {"sizes": {str(size): measured(size) for size in sizes}, "as of": past()}
    smallest = figures["sizes"][str(min(sizes))]["build"]["ms a note"]
    for found in figures["sizes"].values():
        found["build"]["against the smallest"] = round(found["build"]["ms a note"] / smallest, 2)
    vault = f"made-up notes of {_notes.FEWEST_WORDS} to {_notes.MOST_WORDS} words, seed {_notes.SEED}"
    _common.keep("scale", figures, data=vault, queries=QUERIES)


def measured(size: int) -> dict[str, Any]:
    """The figures of a vault of this size."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        vault = _repository(Path(folder) / "vault")
        _notes.write(vault, size)
        _common.git(vault, "add", "-A")
        _common.git(vault, "commit", "--quiet", "-m", "notes")
        written = time.perf_counter() - began
        figures = {"written seconds": round(written, 1), "build": _build(vault, size)}
        queries = Path(folder) / "queries.json"
        queries.write_text(json.dumps(_notes.queries(QUERIES, size)), encoding="utf-8")
        figures["warm"] = _child("--warm", str(vault), str(queries))
        cold = [_common.atlas("search", query, cwd=vault) for query in _notes.queries(COLD_RUNS, size)]
        figures["cold search"] = _common.spread([run["wall"] for run in cold]) | {
            "peak MB": max(run["peak MB"] for run in cold)
        }
    print(size, json.dumps(figures), file=sys.stderr, flush=True)
    return figures


def _repository(vault: Path) -> Path:
    """An empty vault under Git, adopted."""
    vault.mkdir()
    _common.git(vault, "init", "--quiet", "--initial-branch=main")
    _common.identify(vault)
    _common.atlas("init", cwd=vault)
    return vault


def _build(vault: Path, size: int) -> dict[str, Any]:
    """The index from nothing, a process each time; once only for a vault that takes minutes."""
    runs = [_common.atlas("index", "--rebuild", cwd=vault) for _ in range(3 if size <= 10_000 else 1)]
    assert runs[0]["out"]["memories"] == size
    seconds = statistics.median(run["out"]["seconds"] for run in runs)  # without the start of the process
    return {
        "index seconds": round(seconds, 2),
        "cpu seconds": round(min(run["cpu"] for run in runs), 2),
        **_common.spread([run["wall"] for run in runs]),
        "notes a second": round(size / seconds),
        "ms a note": round(1000 * seconds / size, 3),
        "peak MB": max(run["peak MB"] for run in runs),
        "index MB": round(sum(f.stat().st_size for f in (vault / ".atlas").iterdir() if f.is_file()) / 1e6, 1),
    }


def _child(*words: str) -> dict[str, Any]:
    """Run a part of this script as a process of its own, so that its memory is its own; what it prints."""
    run = _common.process([sys.executable, __file__, *words], cwd=Path.cwd())
    return {**run["out"], "peak MB": run["peak MB"]}


def warm(vault: Path, queries: list[str]) -> dict[str, Any]:
    """One open engine: how long until it answers first, then each query once, then edits until they are found."""
    with MemoryEngine(vault) as engine:
        (opening,) = _common.timed(lambda: engine.retrieve(queries[0]), 1)
        engine.retrieve(queries[1])
        taken = [_common.timed(lambda q=query: engine.retrieve(q), 1)[0] for query in queries]
        return {
            "first search": round(opening, 4),
            "search": _common.spread(taken) | {"p95": round(float(np.quantile(taken, 0.95)), 4)},
            "vectors": _vectors(engine, queries),
            "edit to found": _common.spread(_common.timed(_edit(engine, vault), EDITS)),
        }


def _vectors(engine: MemoryEngine, queries: list[str]) -> dict[str, float]:
    """The vector part of a search against a bare product of the same matrix and the same vectors, in milliseconds."""
    asked = [vector for query in queries if (vector := engine._index.query_vector(query)) is not None]  # noqa: SLF001
    with engine._index.reader() as reader:  # noqa: SLF001
        matrix = np.array(reader.matrix, dtype=np.float32)
        live = reader.live(Filters(WHOLE_VAULT))
        ours, bare = [], []
        for vector in asked:  # in turn, so that a busy moment falls on both
            ours += _common.timed(lambda v=vector: reader.cosine(live, v), 1)
            bare += _common.timed(lambda v=vector: matrix @ v, 1)
    mine, theirs = statistics.median(ours), statistics.median(bare)
    return {
        "rows": len(matrix),
        "cosines ms": round(1000 * mine, 3),
        "bare product ms": round(1000 * theirs, 3),
        "ratio": round(mine / theirs, 2),
    }


def _edit(engine: MemoryEngine, vault: Path) -> Callable[[], None]:
    """Each call changes a note as an editor would, and asks for what it wrote there."""
    notes = sorted(vault.rglob("area-*/*.md"))
    count = 0

    def edit_and_find() -> None:
        nonlocal count
        count += 1
        note, word = notes[count * len(notes) // (EDITS + 1)], f"zebrafinch{count}"
        note.write_bytes(note.read_bytes() + f"\n{word}\n".encode())
        found = engine.retrieve(word, k=1)
        assert found[0].path == note.relative_to(vault).as_posix(), f"{word} is not found"

    return edit_and_find


def past() -> dict[str, Any]:
    """A search of the vault as it was, the first time and later, against one of today, in an open engine."""
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        vault.mkdir()
        _common.git(vault, "init", "--quiet", "--initial-branch=main")
        _common.identify(vault)
        _notes.history(vault, HISTORY_NOTES, HISTORY_COMMITS)
        _common.atlas("init", cwd=vault)
        return _child("--past", str(vault))


def as_of(vault: Path) -> dict[str, Any]:
    """The same 20 queries of both, in turn, once each has been asked."""
    queries = _notes.queries(20, HISTORY_NOTES)
    with MemoryEngine(vault) as engine:
        engine.retrieve(queries[0])
        commit = f"HEAD~{BACK}"
        (first,) = _common.timed(lambda: engine.retrieve(queries[0], as_of=commit), 1)
        now, then = [], []
        for query in queries:
            now += _common.timed(lambda q=query: engine.retrieve(q), 1)
            then += _common.timed(lambda q=query: engine.retrieve(q, as_of=commit), 1)
        ratio = statistics.median(then) / statistics.median(now)
        return {
            "notes": HISTORY_NOTES,
            "commits back": BACK,
            "first time": round(first, 4),
            "later": _common.spread(then),
            "at HEAD": _common.spread(now),
            "ratio": round(ratio, 2),
        }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000", help="how many notes, commas between")
    parser.add_argument("--warm", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--past", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.warm:
        place, questions = map(Path, wanted.warm)
        print(json.dumps(warm(place, json.loads(questions.read_text(encoding="utf-8")))))
    elif wanted.past:
        print(json.dumps(as_of(Path(wanted.past))))
    else:
        main([int(size) for size in wanted.sizes.split(",")])
