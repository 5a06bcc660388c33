"""Speed on a vault of Markdown notes: first index, nothing changed, one file changed, cold and warm search, branches.

    python benchmarks/vault.py [PATH/vault.tar.xz]

Without a path, the vault is 4,000 made-up notes. Whole processes are timed for the command line; "in process" is one
open engine. Every figure is the median of its runs; the survey of the folder is part of every search.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import _common
import _notes

from atlas import MemoryEngine

QUERY = "kanban board plugin"
COLD_RUNS, WARM_RUNS = 9, 50
NOTES = 4000
BRANCH_NOTES = 500


def main(archive: Path | None) -> None:
    """Run everything on one vault and keep the figures."""
    with tempfile.TemporaryDirectory() as temp:
        vault = _common.unpack(archive, Path(temp)) if archive else _notes.write(Path(temp) / "vault", NOTES)
        _common.git(vault, "init", "--quiet", "--initial-branch=main")
        _common.git(vault, "add", "-A")
        _common.git(vault, "commit", "--quiet", "-m", "notes")
        figures = {**adoption(vault), **index_speed(vault), **search_speed(vault), **branches(vault)}
    facts = (
        {"data": archive.name, "sha256": _common.sha256(archive)} if archive else {"data": f"{NOTES:,} made-up notes"}
    )
    _common.keep("vault" if archive else "vault-generated", figures, **facts)


def adoption(vault: Path) -> dict[str, Any]:
    """What `atlas init` leaves in `git status`, and how long it takes with the first index."""
    first = _common.atlas("init", cwd=vault)
    status = _common.git(vault, "status", "--porcelain").split("\n")
    return {
        "adopted": {
            "memories": first["out"]["memories"],
            "git status": [line for line in status if line],
            "init seconds": round(first["wall"], 2),
        }
    }


def index_speed(vault: Path) -> dict[str, Any]:
    """First index, nothing changed, one file changed: whole processes."""
    first = [_common.atlas("index", "--rebuild", cwd=vault) for _ in range(3)]
    nothing = [_common.atlas("index", cwd=vault) for _ in range(COLD_RUNS)]
    note = next(vault.rglob("[A-Za-z]*.md"))
    changed = []
    for n in range(COLD_RUNS):
        note.write_bytes(note.read_bytes() + f"\nedit {n}\n".encode())
        changed.append(_common.atlas("index", cwd=vault))
    assert all(run["out"]["changed"] == 1 for run in changed)
    return {
        "first index": {**_common.spread([r["wall"] for r in first]), "cpu": round(min(r["cpu"] for r in first), 2)},
        "peak memory MB": max(run["peak MB"] for run in first),
        "nothing changed": _common.spread([r["wall"] for r in nothing]),
        "one file changed": _common.spread([r["wall"] for r in changed]),
        "problems": [f"{s['path']}:{s['line']}: {s['reason']}" for s in first[0]["out"]["skipped"]],
    }


def search_speed(vault: Path) -> dict[str, Any]:
    """Cold: a process a search. Warm: one engine, the survey of the folder included."""
    cold = [_common.atlas("search", QUERY, cwd=vault) for _ in range(COLD_RUNS)]
    with MemoryEngine(vault) as engine:
        engine.retrieve(QUERY)
        warm = _common.timed(lambda: engine.retrieve(QUERY), WARM_RUNS)
        note = next(vault.rglob("[A-Za-z]*.md"))

        def edit_and_find() -> None:
            note.write_bytes(note.read_bytes() + b"\nzebrafinch\n")
            assert engine.retrieve("zebrafinch", k=1)[0].path == note.relative_to(vault).as_posix()

        edited = _common.timed(edit_and_find, 9)
    return {
        "cold search": {**_common.spread([r["wall"] for r in cold]), "first hit": cold[0]["out"]["hits"][0]["path"]},
        "warm search in process": _common.spread(warm),
        "edit then search in process": _common.spread(edited),
    }


def branches(vault: Path) -> dict[str, Any]:
    """Switching between two branches that differ in 500 notes, both seen before."""
    _common.git(vault, "add", "-A")
    _common.git(vault, "commit", "--quiet", "-m", "vault")
    _common.git(vault, "switch", "--quiet", "-c", "other")
    notes = (n for n in sorted(vault.rglob("[A-Za-z]*.md")) if not any(p.startswith(".") for p in n.parts))
    for note in islice(notes, BRANCH_NOTES):
        note.write_bytes(note.read_bytes() + b"\nOn the other branch.\n")
    _common.git(vault, "commit", "--quiet", "-am", "other")
    _common.atlas("index", cwd=vault)
    runs = []
    for n in range(6):
        _common.git(vault, "switch", "--quiet", ("main", "other")[n % 2])
        runs.append(_common.atlas("index", cwd=vault))
    assert all(r["out"]["changed"] == BRANCH_NOTES for r in runs)
    return {
        "branch switch": {
            **_common.spread([r["wall"] for r in runs]),
            "notes": BRANCH_NOTES,
            "derived": sum(r["out"]["derived"] for r in runs),
            "embedded": sum(r["out"]["embedded"] for r in runs),
        }
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
