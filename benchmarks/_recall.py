"""Recall of evidence: questions asked of an engine or a baseline, and the rows that are printed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from atlas import MemoryEngine

KS = (5, 10)


@dataclass(frozen=True)
class Question:
    """One question: where it is asked, what holds its answer (ids), its category, and which half it belongs to."""

    text: str
    scope: str
    gold: frozenset[str]
    category: str
    half: str


Answer = Callable[[Question, int], Sequence[str]]


class Tally:
    """What one way of searching found: the recall at each k of every question, and the seconds each took."""

    def __init__(self, questions: Iterable[Question], answer: Answer, ks: Sequence[int] = KS) -> None:
        self.ks, self.seconds = tuple(ks), list[float]()
        self.found: list[tuple[Question, tuple[float, ...]]] = []
        for question in questions:
            began = time.perf_counter()
            ids = list(answer(question, max(self.ks)))
            self.seconds.append(time.perf_counter() - began)
            shares = tuple(len(question.gold & set(ids[:k])) / len(question.gold) for k in self.ks)
            self.found.append((question, shares))

    def row(self, *, categories: Iterable[str] = (), half: str = "") -> dict[str, Any]:
        """Mean recall at each k over these categories (all, if none are named) and half, and how many questions."""
        wanted = set(categories)
        shares = [s for q, s in self.found if (not wanted or q.category in wanted) and (not half or q.half == half)]
        means = {
            f"recall@{k}": round(sum(s[n] for s in shares) / max(len(shares), 1), 4) for n, k in enumerate(self.ks)
        }
        return {**means, "questions": len(shares)}


def engine_answer(engine: MemoryEngine, **options: Any) -> Answer:
    """Ask the engine as anybody would."""
    return lambda question, k: [h.id for h in engine.retrieve(question.text, k=k, scope=question.scope, **options)]
