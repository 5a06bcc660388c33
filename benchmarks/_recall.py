"""Recall of evidence: a data set stored by the engine, its questions asked of the engine and of simpler ways.

A data set is texts and questions; each question is asked in the scope of its own dialogue or chat. Every way of
searching gets the same texts, those the engine stored, and is asked the same questions.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import _baselines
import _common

from atlas import MemoryEngine, models
from atlas.ingest import Request

KS = (5, 10)


@dataclass(frozen=True)
class Question:
    """One question: where it is asked, what holds its answer, its category, and which half it belongs to.

    `gold` are keys of texts in a data set, ids of memories once it is stored.
    """

    text: str
    scope: str
    gold: frozenset[str]
    category: str
    half: str


@dataclass(frozen=True)
class DataSet:
    """What to store, each text under a key of its own, and what to ask."""

    texts: Mapping[str, Request]
    questions: Sequence[Question]


@dataclass(frozen=True)
class Group:
    """A row of the figures: the questions of some categories (all, if none are named) and one half (or both)."""

    name: str
    categories: frozenset[str] = frozenset()
    half: str = ""

    def __contains__(self, question: Question) -> bool:
        return (not self.categories or question.category in self.categories) and self.half in {"", question.half}


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

    def row(self, group: Group) -> dict[str, Any]:
        """Mean recall at each k over the questions of a group, and how many those are."""
        shares = [share for question, share in self.found if question in group]
        means = {
            f"recall@{k}": round(sum(s[n] for s in shares) / max(len(shares), 1), 4) for n, k in enumerate(self.ks)
        }
        return {**means, "questions": len(shares)}

    def rows(self, groups: Iterable[Group]) -> dict[str, dict[str, Any]]:
        """A row for each group."""
        return {group.name: self.row(group) for group in groups}


def engine_answer(engine: MemoryEngine, **options: Any) -> Answer:
    """Ask the engine as anybody would."""
    return lambda question, k: [h.id for h in engine.retrieve(question.text, k=k, scope=question.scope, **options)]


def run(name: str, doc: str, load: Callable[[Path], DataSet], groups: Sequence[Group], **facts: str) -> None:
    """Store the data set named on the command line, ask everybody, keep the figures. `doc` is what `--help` says."""
    wanted = _options(doc)
    with _vault(wanted) as (vault, kept):
        began = time.perf_counter()
        by_scope, questions = stored(vault, load(wanted.data))
        storing, began = time.perf_counter() - began, time.perf_counter()
        with MemoryEngine(vault) as engine:
            engine.refresh()
            embedding = time.perf_counter() - began
            tally = Tally(questions, engine_answer(engine))
            config = _common.config(engine)
            embedder = models.load(models.choice(engine.config))
    recall = {"Atlas": tally.rows(groups)}
    for method, answer in _baselines.answers(by_scope, embedder).items():
        recall[method] = Tally(questions, answer).rows(groups)
    figures = {
        "recall": recall,
        "ingest": {
            "memories": sum(map(len, by_scope.values())),
            **({} if kept else {"seconds": round(storing, 1), "embedding seconds": round(embedding, 1)}),
        },
        "search seconds": _common.spread(tally.seconds),
    }
    file = name if wanted.embedding == "static" else f"{name}-{wanted.embedding}"
    _common.keep(file, figures, data=wanted.data.name, sha256=_common.sha256(wanted.data), config=config, **facts)


def _options(doc: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the data set")
    parser.add_argument("--embedding", choices=["static", "local"], default="static", help="who makes the vectors")
    parser.add_argument("--model", default="", help="folder of the local model")
    parser.add_argument("--vault", type=Path, help="keep the vault here; a second run stores and embeds nothing again")
    return parser.parse_args()


@contextmanager
def _vault(wanted: argparse.Namespace) -> Iterator[tuple[Path, bool]]:
    """A vault with these settings, and whether an earlier run kept it."""
    with tempfile.TemporaryDirectory() as folder:
        place = wanted.vault or Path(folder) / "vault"
        kept = place.exists()
        with MemoryEngine(place):
            _common.identify(place)
        model = f'model = "{Path(wanted.model).resolve().as_posix()}"\n' if wanted.model else ""
        settings = f'[search]\nembedding = "{wanted.embedding}"\n{model}'
        (place / "atlas.toml").write_text(settings, encoding="utf-8")
        yield place, kept


def stored(vault: Path, data: DataSet) -> tuple[dict[str, dict[str, str]], list[Question]]:
    """Ingest every text; scope → id → text, and the questions with ids for gold.

    A text told twice is one memory, for the engine and for whoever is compared with it.
    """
    with MemoryEngine(vault, embedding_model="none") as engine:
        ids = dict(zip(data.texts, engine.ingest_many(data.texts.values()).per_text, strict=True))
    by_scope: dict[str, dict[str, str]] = {}
    for key, request in data.texts.items():
        by_scope.setdefault(str(request.scope), {}).setdefault(ids[key], request.text)
    return by_scope, [replace(q, gold=frozenset(ids[key] for key in q.gold)) for q in data.questions]
