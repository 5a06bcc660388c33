"""What every benchmark prints and keeps: the machine, the versions, the commit, the data's hash, the figures."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from atlas import MemoryEngine, models, rank

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
_PACKAGES = (
    "duckdb", "numpy", "gitpython", "tokenizers", "wordllama", "pystemmer", "onnxruntime", "sentence-transformers",
)  # fmt: skip


def machine() -> dict[str, Any]:
    """Cores, processor, system, Python and package versions."""
    cpu = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "cpu": cpu,
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "git": subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.split()[2],
        "packages": _versions(),
    }


def _versions() -> dict[str, str]:
    """What decides the figures, as far as it is installed."""
    found = {}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _lines(file: str) -> list[str]:
    place = Path(file)
    return place.read_text(encoding="utf-8").splitlines() if place.exists() else []


def commit() -> str:
    """The commit that is measured, marked when the package differs from it."""
    words = ["git", "-C", str(ROOT)]
    head = subprocess.run([*words, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    changed = subprocess.run([*words, "status", "--porcelain", "atlas"], capture_output=True, text=True, check=True)
    return head + ("+changes" if changed.stdout else "")


def sha256(file: Path) -> str:
    """The hash that names a data file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def config(engine: MemoryEngine) -> dict[str, Any]:
    """What the engine ranks with: the model that made its vectors, and the weights of the fusion."""
    embedding = engine.config.embedding
    embedder = models.load(models.choice(engine.config))
    return {
        "embedding": embedding,
        "model": embedder.name if embedder else "",
        "weights": asdict(replace(rank.DEFAULT, **models.MIX.get(embedding, {}))),
    }


def keep(name: str, figures: dict[str, Any], **facts: Any) -> None:
    """Print the figures and write them to `benchmarks/results/NAME.json`."""
    result = {
        "benchmark": name.partition("-")[0],
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit(),
        "machine": machine(),
        **facts,
        "figures": figures,
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(result, indent=2, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(text)


def timed(work: Callable[[], object], repeats: int) -> list[float]:
    """Wall seconds of each of `repeats` runs."""
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return taken


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Median, least and most of some runs, in seconds."""
    return {
        "median": round(statistics.median(seconds), 4),
        "least": round(min(seconds), 4),
        "most": round(max(seconds), 4),
        "runs": len(seconds),
    }


def atlas(*words: str, cwd: Path) -> dict[str, Any]:
    """Run the command line as a process of its own; see `process`."""
    return process([sys.executable, "-m", "atlas", *words, "--json"], cwd=cwd)


def process(words: Sequence[str], cwd: Path) -> dict[str, Any]:
    """Run a program that prints JSON: that, the wall and CPU seconds it took, and the most memory it had."""
    # As installed: with compiled modules, whatever this shell wants.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        child = subprocess.Popen(words, cwd=cwd, stdout=out, stderr=err, env=environment)
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            sys.exit(f"{' '.join(words)} exited with {child.returncode}: {err.read().decode()}")
        peak = used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
        return {"out": json.load(out), "wall": wall, "cpu": used.ru_utime + used.ru_stime, "peak MB": round(peak)}


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a data archive; the folder that holds its one top folder's content."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    inside = [p for p in folder.iterdir() if p.is_dir()]
    return inside[0] if len(inside) == 1 else folder


def git(folder: Path, *words: str) -> str:
    """Run Git with a benchmark's own identity."""
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.test"]
    return subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True).stdout


def identify(vault: Path) -> None:
    """Give a vault's repository a benchmark's own identity."""
    git(vault, "config", "user.email", "bench@example.test")
    git(vault, "config", "user.name", "bench")
