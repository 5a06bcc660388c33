"""Tokens in a view against the evidence it holds, on LoCoMo: the curve over budgets, and what is saved.

    python benchmarks/token_savings.py PATH/locomo10.json

Each question of categories 1 to 4 is asked in its own dialogue and becomes a view of at most so many tokens. Recall is
the share of its evidence turns whose words stand in the text of the view one after the other, as they were said; saved
is the share of the whole history's tokens that the view does without. Two ways of keeping a dialogue: each turn a
memory, and each session one. *Atlas* is `engine.view`, the questions one after the other in a session of their dialogue
as it is by default, so that each view begins as the last one did where it may; *Atlas, by relevance* is the other
order; *a new session* asks out of nothing each time. *top k* are the engine's hits with their whole text, best first,
until the next does not fit, under the same headings in the same frame. Tokens are those of the default tokenizer.

The formula that makes scores likelihoods is fitted here again, on dialogues 1 to 5, where every number was chosen;
dialogues 6 to 10 are shown apart.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import _common
import numpy as np
from _recall import DataSet
from _views import FRAME, Asked, Shelf, asked, evidence, holds
from locomo import turns
from sessions import whole

from atlas import MemoryEngine, frame, scene
from atlas.scene import Placed

BUDGETS = (250, 500, 1000, 2000, 4000)
HALVES = "A: dialogues 1 to 5, where every number was chosen, B: dialogues 6 to 10"
KEEPING: Mapping[str, Callable[[Path], DataSet]] = {"turns": turns, "sessions": whole}


def main(path: Path) -> None:
    """Both ways of keeping, all ways of filling, all budgets; the fit; the time; the picture."""
    with ProcessPoolExecutor(2) as pool:
        figures = dict(zip(KEEPING, pool.map(kept, [path] * len(KEEPING), KEEPING), strict=True))
    _common.keep("token_savings", figures, data=path.name, sha256=_common.sha256(path), halves=HALVES)
    if find_spec("matplotlib"):
        drawn(figures, _common.RESULTS / "token_savings.png")


def kept(path: Path, name: str) -> dict[str, Any]:
    """The figures of one way of keeping."""
    with asked(KEEPING[name](path), evidence(path, dated=name == "turns")) as (engine, shelves, questions):
        return {
            "history tokens": round(statistics.mean(shelf.tokens for shelf in shelves.values())),
            "questions": len(questions),
            "curves": curves([row for one in questions for row in rows(engine, shelves[one.question.scope], one)]),
            "likelihood": fitted(shelves, questions),
            "composing ms": composing(shelves, questions),
        }


def shown(engine: MemoryEngine, one: Asked, budget: int, order: str) -> tuple[str, int]:
    """What the engine puts in front of an agent, in a session of this dialogue, budget and order; and its tokens."""
    session = engine.session(f"{one.question.scope} {budget} {order}")
    view = session.view(one.question.text, budget=budget, order=order, scope=one.question.scope)
    session.settle()
    return view.text, view.tokens


def anew(engine: MemoryEngine, one: Asked, budget: int) -> tuple[str, int]:
    """The same out of a session that has just begun."""
    session = engine.session("new")
    view = session.view(one.question.text, budget=budget, scope=one.question.scope)
    session.forget()
    return view.text, view.tokens


def top_k(shelf: Shelf, one: Asked, budget: int) -> tuple[str, int]:
    """The best hits whole, as many as fit."""
    whole = [Placed(hit, hit.levels[-1]) for hit in shelf.whole(one.hits)]
    made = frame.draw(FRAME, whole, (), budget)
    return made.text, made.tokens


@dataclass(frozen=True)
class Row:
    """One view: what it is of, what it holds, what it costs."""

    way: str
    budget: int
    half: str
    recall: float
    tokens: int
    saved: float


def rows(engine: MemoryEngine, shelf: Shelf, one: Asked) -> Iterator[Row]:
    """The views of one question, every way and for every budget."""
    ways: Mapping[str, Callable[[int], tuple[str, int]]] = {
        "Atlas": lambda budget: shown(engine, one, budget, "stable"),
        "Atlas, by relevance": lambda budget: shown(engine, one, budget, "relevance"),
        "Atlas, a new session": lambda budget: anew(engine, one, budget),
        "top k": lambda budget: top_k(shelf, one, budget),
    }
    for name, way in ways.items():
        for budget in BUDGETS:
            text, tokens = way(budget)
            assert tokens <= budget, "the law of the budget"
            yield Row(name, budget, one.question.half, holds(text, one.evidence), tokens, 1 - tokens / shelf.tokens)


def curves(found: Sequence[Row]) -> dict[str, dict[str, dict[str, float]]]:
    """For each way and budget: recall in all and in each half, tokens used, share saved."""
    ways = list(dict.fromkeys(row.way for row in found))
    figures: dict[str, dict[str, dict[str, float]]] = {way: {} for way in ways}
    for way, budget in product(ways, BUDGETS):
        some = [row for row in found if (row.way, row.budget) == (way, budget)]
        figures[way][str(budget)] = {
            "recall": _mean(row.recall for row in some),
            **{f"recall {half}": _mean(row.recall for row in some if row.half == half) for half in "AB"},
            "tokens": round(statistics.mean(row.tokens for row in some), 1),
            "most tokens": max(row.tokens for row in some),
            "saved": _mean(row.saved for row in some),
        }
    return figures


def _mean(values: Iterable[float]) -> float:
    return round(statistics.mean(values), 4)


def composing(shelves: Mapping[str, Shelf], questions: Sequence[Asked]) -> dict[str, float]:
    """Milliseconds to compose a scene of 200 candidates in 2,000 tokens, rendered before."""
    taken = []
    for one in questions[::10]:
        made = shelves[one.question.scope].candidates(one.question.text, one.hits)
        began = perf_counter()
        scene.compose(made, 2000)
        taken.append(1000 * (perf_counter() - began))
    return {"median": round(statistics.median(taken), 2), "p95": round(float(np.percentile(taken, 95)), 2)}


def fitted(shelves: Mapping[str, Shelf], questions: Sequence[Asked]) -> dict[str, Any]:
    """The logistic regression of `scene.probability` again, and its log loss for each piece of evidence."""
    rows = {half: _features(shelves, [one for one in questions if one.question.half == half]) for half in "AB"}
    values, is_gold = rows["A"]
    weights = np.zeros(values.shape[1])
    for _ in range(40):
        said = 1 / (1 + np.exp(-values @ weights))
        curve = (values * (said * (1 - said))[:, None]).T @ values + 1e-3 * np.eye(len(weights))
        weights -= np.linalg.solve(curve, values.T @ (said - is_gold) + 1e-3 * weights)
    return {
        "bias, score, ln rank, best score, ln characters": [round(float(w), 2) for w in weights],
        **{f"log loss {half}": _loss(*rows[half], weights) for half in "AB"},
    }


def _features(shelves: Mapping[str, Shelf], questions: Sequence[Asked]) -> tuple[np.ndarray, np.ndarray]:
    rows, gold = [], []
    for one in questions:
        requests = shelves[one.question.scope].requests
        for rank, (id, score) in enumerate(one.hits, 1):
            rows.append((1.0, score, math.log(rank), one.hits[0][1], math.log(min(len(requests[id].text), 400))))
            gold.append(id in one.question.gold)
    return np.array(rows), np.array(gold, float)


def _loss(values: np.ndarray, is_gold: np.ndarray, weights: np.ndarray) -> float:
    said = np.clip(1 / (1 + np.exp(-values @ weights)), 1e-9, 1 - 1e-9)
    return round(float(-(is_gold * np.log(said) + (1 - is_gold) * np.log(1 - said)).sum() / is_gold.sum()), 4)


def drawn(figures: Mapping[str, Any], file: Path) -> None:
    """The curves as a picture beside their numbers."""
    import_module("matplotlib").use("Agg")
    plot = import_module("matplotlib.pyplot")
    fig, axes = plot.subplots(1, 2, figsize=(10, 4), sharey=True)
    for axis, name in zip(axes, ("turns", "sessions"), strict=True):
        for way, points in figures[name]["curves"].items():
            values = list(points.values())
            style = "--" if way == "top k" else "-"
            axis.plot([p["tokens"] for p in values], [p["recall"] for p in values], style, marker="o", label=way)
        axis.set(xscale="log", xlabel="tokens in the view", title=f"each {name[:-1]} a memory", ylim=(0, 1))
        axis.set_xticks(BUDGETS, [f"{budget:,}" for budget in BUDGETS])
        axis.set_xlim(0.8 * BUDGETS[0], 1.2 * BUDGETS[-1])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend()
    axes[0].set_ylabel("evidence in the text of the view")
    fig.tight_layout()
    fig.savefig(file, dpi=110)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
