"""The same question from cold to hot: a process of its own, an open engine, a session that knows it, what is in memory.

    python benchmarks/latency_comparison.py [--sizes 1000,10000,100000]

Of each made-up vault, 200 different questions: `retrieve` (ten hits) and `view` (2,000 tokens). *Cold process* is
`atlas search` and `atlas view` from outside, imports and all. *Cold tiers* is a new session for each question in an
open engine: everything shown is fetched, made safe and measured. *Warm* is a session in which the question was asked
before, and seven others, in another order; *hot* asks the one just asked again. A view is timed until it is there;
what the session does after it, off the caller's path, is waited for between questions and timed apart. Then the parts:
a look into the tiers for one prepared memory, and composing a scene out of 200 candidates.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import _common
import _notes
import numpy as np
from scale import _repository

from atlas import MemoryEngine, scene
from atlas.memory import Lod

QUESTIONS, KNOWN, COLD_RUNS, CANDIDATES, BUDGET = 200, 8, 15, 200, 2000


def main(sizes: Sequence[int]) -> None:
    """Measure every size, then the parts that do not depend on it; keep the figures."""
    figures = {"sizes": {str(size): measured(size) for size in sizes}, "composing": composing()}
    vault = f"made-up notes of {_notes.FEWEST_WORDS} to {_notes.MOST_WORDS} words, seed {_notes.SEED}"
    _common.keep("latency_comparison", figures, data=vault, questions=QUESTIONS, budget=BUDGET)


def measured(size: int) -> dict[str, Any]:
    """The figures of a vault of this size."""
    with tempfile.TemporaryDirectory() as folder:
        vault = _repository(Path(folder) / "vault")
        _notes.write(vault, size)
        _common.git(vault, "add", "-A")
        _common.git(vault, "commit", "--quiet", "-m", "notes")
        _common.atlas("index", cwd=vault)
        asked = _notes.queries(QUESTIONS, size)
        cold = {
            "search": [_common.atlas("search", text, cwd=vault)["wall"] for text in asked[:COLD_RUNS]],
            "view": [_common.atlas("view", text, cwd=vault)["wall"] for text in asked[:COLD_RUNS]],
        }
        file = Path(folder) / "questions.json"
        file.write_text(json.dumps(asked), encoding="utf-8")
        figures = {
            "cold process": {name: quantiles(walls) for name, walls in cold.items()},
            **_child_of(vault, file),
        }
    print(size, json.dumps(figures), file=sys.stderr, flush=True)
    return figures


def _child_of(vault: Path, questions: Path) -> dict[str, Any]:
    """The open engine as a process of its own."""
    run = _common.process([sys.executable, __file__, "--open", str(vault), str(questions)], cwd=Path.cwd())
    return {**run["out"], "peak MB": run["peak MB"]}


def opened(vault: Path, asked: Sequence[str]) -> dict[str, Any]:
    """One open engine."""
    with MemoryEngine(vault) as engine:
        engine.retrieve(asked[0])
        engine.view(asked[0], session="first")
        figures: dict[str, Any] = {"retrieve": quantiles([_timed(lambda t=text: engine.retrieve(t)) for text in asked])}
        cold, after = [], []
        for number, text in enumerate(asked):
            session = engine.session(f"new {number}")
            cold.append(_timed(lambda s=session, t=text: s.view(t, budget=BUDGET)))
            after.append(_timed(session.settle))
            session.forget()
        warm, hot = [], []
        for start in range(0, len(asked), KNOWN):
            known = asked[start : start + KNOWN]
            session = engine.session(f"known {start}")
            for text in known:
                session.view(text, budget=BUDGET)
            for text in random.Random(_notes.SEED).sample(known, len(known)):
                for taken in (warm, hot):
                    session.settle()
                    taken.append(_timed(lambda s=session, t=text: s.view(t, budget=BUDGET)))
        figures["view"] = {
            "cold tiers": quantiles(cold),
            "warm": quantiles(warm),
            "hot": quantiles(hot),
            "after the answer": quantiles(after),
            "cold tiers over warm": round(statistics.median(cold) / statistics.median(warm), 2),
        }
        figures["look-up of a prepared memory, µs"] = lookup(session)
        return figures


def lookup(session: Any) -> float:
    """Microseconds of one look into the tiers for a memory that is hot: the least of seven runs of 10,000."""
    tiers = session._tiers  # noqa: SLF001 - the part that is measured
    (id, blob), *_ = session.hot()
    assert tiers.get(id, blob) is not None
    return round(min(timeit.repeat(lambda: tiers.get(id, blob), number=10_000, repeat=7)) / 10_000 * 1e6, 3)


def composing() -> dict[str, Any]:
    """Composing one scene out of 200 candidates with three levels and thirty headings, 200 different ones."""
    draw = random.Random(_notes.SEED)
    given = [_candidates(draw) for _ in range(QUESTIONS)]
    taken = [_timed(lambda c=candidates: scene.compose(c, BUDGET)) for candidates in given]
    return {"candidates": CANDIDATES, "budget": BUDGET, **quantiles(taken)}


def _candidates(draw: random.Random) -> list[scene.Candidate]:
    headings = [scene.Heading(f"== {n}", draw.randint(8, 20)) for n in range(30)]
    found = []
    for number in range(CANDIDATES):
        label, summary = draw.randint(10, 25), draw.randint(25, 80)
        levels = (
            scene.Level(Lod.L0, f"label {number}", label, scene.kept(Lod.L0, draw.random())),
            scene.Level(Lod.L1, f"summary {number}", label + summary, scene.kept(Lod.L1, draw.random())),
            scene.Level(Lod.L2, f"text {number}", label + summary + draw.randint(10, 300)),
        )
        likely = scene.probability(0.9 - 0.003 * number, number + 1, 0.9)
        found.append(scene.Candidate(str(number), scene.worth(likely), levels, draw.choice(headings)))
    return found


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """Median, 95th and 99th percentile in seconds."""
    found = np.quantile(seconds, [0.5, 0.95, 0.99])
    return {**dict(zip(("p50", "p95", "p99"), (round(float(s), 5) for s in found), strict=True)), "runs": len(seconds)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000", help="how many notes, commas between")
    parser.add_argument("--open", nargs=2, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.open:
        place, questions = map(Path, wanted.open)
        print(json.dumps(opened(place, json.loads(questions.read_text(encoding="utf-8")))))
    else:
        main([int(size) for size in wanted.sizes.split(",")])
