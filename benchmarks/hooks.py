"""What the hooks cost: a commit of ten notes, and a rebase of fifty commits, with and without them.

    python benchmarks/hooks.py [--notes 1000]

The vault is made-up notes. Commits with and without hooks take turns, in two copies of one repository; what runs behind
Git's back (the refresh of the index) is waited for outside the clock. `pre-commit alone` has that hook and no other.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import _common
import _notes
from filelock import FileLock

RUNS, REBASES = 21, 5
PER_COMMIT, REBASED = 10, 50


def main(size: int) -> None:
    """Measure both and keep the figures."""
    with tempfile.TemporaryDirectory() as temp:
        bare = _vault(Path(temp) / "bare", size)
        copies = {name: Path(temp) / name for name in ("hooks", "pre-commit")}
        for copy in copies.values():
            shutil.copytree(bare, copy)
            subprocess.run([sys.executable, "-m", "atlas", "hooks", "install"], cwd=copy, check=True, stdout=sys.stderr)
            subprocess.run([sys.executable, "-m", "atlas", "index"], cwd=copy, check=True, stdout=sys.stderr)
        for hook in (copies["pre-commit"] / ".git" / "hooks").glob("post-*[!e]"):
            hook.unlink()
        figures = {"commit": commits(bare, copies), "rebase": rebases(bare, copies["hooks"])}
    _common.keep("hooks", figures, data=f"{size:,} made-up notes, {PER_COMMIT} a commit")


def commits(bare: Path, copies: dict[str, Path]) -> dict[str, Any]:
    """Seconds of a commit of ten notes, edited in half of the runs, new and with ids of their own in the other."""
    taken: dict[str, list[float]] = {"bare": [], **{name: [] for name in copies}}
    for run in range(RUNS):
        for name, vault in {"bare": bare, **copies}.items():
            _change(vault, run)
            _common.git(vault, "add", "-A")
            began = time.perf_counter()
            _common.git(vault, "commit", "--quiet", "-m", f"run {run}")
            taken[name].append(time.perf_counter() - began)
            _settle(vault)
    found: dict[str, Any] = {name: _common.spread(seconds) for name, seconds in taken.items()}
    base = statistics.median(taken["bare"])
    more = {name: round(1000 * (statistics.median(taken[name]) - base)) for name in copies}
    return {**found, "ms over bare": more}


def rebases(bare: Path, hooked: Path) -> dict[str, Any]:
    """Seconds of a rebase of fifty commits onto one, in each; and how many commits there are after it."""
    taken: dict[str, list[float]] = {"bare": [], "hooks": []}
    after = set()
    for vault in (bare, hooked):
        _branch(vault)
    for _ in range(REBASES):
        for name, vault in {"bare": bare, "hooks": hooked}.items():
            _common.git(vault, "switch", "--quiet", "--detach", "many")
            _settle(vault)
            began = time.perf_counter()
            _common.git(vault, "rebase", "--quiet", "onto")
            taken[name].append(time.perf_counter() - began)
            _settle(vault)
            after.add(int(_common.git(vault, "rev-list", "--count", "onto..HEAD")))
    ratio = statistics.median(taken["hooks"]) / statistics.median(taken["bare"])
    spreads = {name: _common.spread(seconds) for name, seconds in taken.items()}
    return {**spreads, "ratio": round(ratio, 3), "commits before": REBASED, "commits after": sorted(after)}


def _vault(folder: Path, size: int) -> Path:
    _notes.write(folder, size)
    _common.git(folder, "init", "--quiet", "--initial-branch=main")
    _common.identify(folder)
    subprocess.run([sys.executable, "-m", "atlas", "init"], cwd=folder, check=True, stdout=sys.stderr)
    _common.git(folder, "add", "-A")
    _common.git(folder, "commit", "--quiet", "-m", "notes")
    return folder


def _change(vault: Path, run: int) -> None:
    if run % 2:
        for number in range(PER_COMMIT):
            id = f"01{run:04}{number:020}"
            text = f"---\nid: {id}\ntags: [run]\n---\n# New {run} {number}\n\nA note that was not there.\n"
            (vault / f"new-{run}-{number}.md").write_text(text, encoding="utf-8")
        return
    for note in sorted(vault.rglob("area-*/*.md"))[run * PER_COMMIT : (run + 1) * PER_COMMIT]:
        note.write_bytes(note.read_bytes() + f"\nEdited in run {run}.\n".encode())


def _branch(vault: Path) -> None:
    """Two branches that part here: `many`, of fifty commits, and `onto`, of one."""
    _common.git(vault, "switch", "--quiet", "-c", "onto")
    (vault / "onto.md").write_text("# Onto\n", encoding="utf-8")
    _common.git(vault, "add", "-A")
    _common.git(vault, "commit", "--quiet", "-m", "onto")
    _common.git(vault, "switch", "--quiet", "-c", "many", "HEAD~1")
    for number in range(REBASED):
        (vault / f"many-{number}.md").write_text(f"# Many {number}\n", encoding="utf-8")
        _common.git(vault, "add", "-A")
        _common.git(vault, "commit", "--quiet", "--no-verify", "-m", f"many {number}")
    _settle(vault)


def _settle(vault: Path) -> None:
    """Wait for the refresh that runs behind Git's back, so that it does not disturb the next run."""
    if (vault / ".git" / "atlas" / "stub.sh").exists():
        time.sleep(0.3)
        with FileLock(vault / ".atlas" / "hooks.lock"):
            pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--notes", type=int, default=1000)
    main(parser.parse_args().notes)
