"""Views of a data set: its memories at their levels, its questions with their hits, and what a view's text holds.

What is shown by other ways, or with other settings, than the engine's is built here from what the engine finds, through
`atlas.scene` and `atlas.frame`.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import _common
import locomo
from _recall import DataSet, Question, stored
from locomo import sessions

from atlas import MemoryEngine, excerpt, frame, guard, scene, tokens, words
from atlas.bm25 import idf
from atlas.ingest import Request
from atlas.memory import Lod
from atlas.models import offline
from atlas.scene import Candidate, Heading, Level

#: So many hits are candidates.
HITS = 200
#: A text longer than this, in characters, is shown by excerpts too.
LONG = 1200
ANSWERABLE = frozenset("1234")
FENCE = "qhzkwmte"
TABLE = tokens.load("", Path())
FRAME = frame.Frame(FENCE, TABLE)
#: (id, score) of hits, best first.
Ranked = Sequence[tuple[str, float]]


@dataclass(frozen=True)
class Asked:
    """A question, what was found, and the words of its evidence as they were said."""

    question: Question
    hits: Ranked
    evidence: tuple[str, ...]


class Shelf:
    """The memories of one dialogue, each at its levels."""

    def __init__(self, requests: Mapping[str, Request]) -> None:
        self.requests = requests
        self._names = frame.names(requests)
        self.ids = {request.text: id for id, request in requests.items()}
        self._kept: dict[str, tuple[Level, ...]] = {}
        self._heads: dict[str, Heading] = {}

    def candidates(self, question: str, hits: Ranked, beside: Sequence[str] = ()) -> list[Candidate]:
        """The hits as candidates, and the memories `beside` them that the last view shows, at a value below theirs."""
        best = max((score for _, score in hits), default=0.0)
        worth = {
            id: scene.worth(scene.probability(score, rank, best, len(self.requests[id].text)))
            for rank, (id, score) in enumerate(hits, 1)
        }
        least = min(worth.values(), default=1.0) / 10
        asked = self._asked(question) if self._long else {}
        known = [*worth, *(id for id in dict.fromkeys(beside) if id not in worth)]
        levels = {id: self._levels(id, asked) for id in known}
        return [Candidate(id, worth.get(id, least), levels[id], self._heading(id), self._label(id)) for id in known]

    def whole(self, hits: Ranked) -> list[Candidate]:
        """The hits with their whole text and nothing less: what plain retrieval shows."""
        return [Candidate(id, score, self._short(id)[-1:], self._heading(id), self._label(id)) for id, score in hits]

    @cached_property
    def tokens(self) -> int:
        """Tokens of the whole history."""
        return TABLE.count("\n".join(request.text for request in self.requests.values()))

    @cached_property
    def _long(self) -> dict[str, tuple[excerpt.Line, ...]]:
        return {
            id: tuple(map(excerpt.read, excerpt.lines(one.text)))
            for id, one in self.requests.items()
            if len(one.text) > LONG
        }

    @cached_property
    def _holding(self) -> Counter[str]:
        """How many lines hold each term."""
        return Counter(term for parts in self._long.values() for part in parts for term in part.terms)

    def _asked(self, question: str) -> dict[str, float]:
        number = sum(map(len, self._long.values()))
        return {t: w * idf(number, self._holding[t]) for t, w in words.query_weights(question).items()}

    @cache  # noqa: B019 - there are ten shelves, and they live as long as the benchmark
    def _label(self, id: str) -> str:
        return offline.label(self.requests[id].text)

    def _heading(self, id: str) -> Heading:
        if id not in self._heads:
            one = self.requests[id]
            self._heads[id] = frame.heading(TABLE, str(one.created), str(one.source), "candidate")
        return self._heads[id]

    def _short(self, id: str) -> tuple[Level, ...]:
        if id not in self._kept:
            text = self.requests[id].text
            made = {Lod.L0: self._label(id), Lod.L1: offline.summary(text), Lod.L2: text}
            self._kept[id] = scene.levels(
                self._level(id, lod, said, scene.kept(lod, 0.5)) for lod, said in made.items()
            )
        return self._kept[id]

    def _levels(self, id: str, asked: Mapping[str, float]) -> tuple[Level, ...]:
        if id not in self._long:
            return self._short(id)
        parts = self._long[id]
        said = [part.text for part in parts]
        cut = [
            self._level(id, Lod.L2, "\n".join(excerpt.spaced(said, places, excerpt.GAP)), share)
            for places, share in excerpt.excerpts(parts, asked)
        ]
        return scene.levels([*self._short(id), *cut])

    def _level(self, id: str, lod: Lod, text: str, kept: float) -> Level:
        return frame.level(TABLE, self._names[id], lod, text, kept)


@contextmanager
def asked(
    data: DataSet, evidence: Sequence[tuple[str, ...]]
) -> Iterator[tuple[MemoryEngine, dict[str, Shelf], list[Asked]]]:
    """Store a data set and ask its answerable questions: the engine, a shelf for each scope, what was found.

    `evidence` stands as the questions.
    """
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        with MemoryEngine(vault):
            _common.identify(vault)
        by_scope, questions = stored(vault, data)
        with MemoryEngine(vault) as engine:
            engine.refresh()
            pairs = [pair for pair in zip(questions, evidence, strict=True) if pair[0].category in ANSWERABLE]
            found = [Asked(question, _found(engine, question), words) for question, words in pairs]
            requests = {(str(one.scope), one.text): one for one in data.texts.values()}
            shelves = {
                scope: Shelf({id: requests[scope, text] for id, text in texts.items()})
                for scope, texts in by_scope.items()
            }
            yield engine, shelves, found


def _found(engine: MemoryEngine, question: Question) -> Ranked:
    hits = engine.retrieve(question.text, k=HITS, scope=question.scope, abstain=False)
    return [(hit.id, hit.score) for hit in hits]


def evidence(path: Path, *, dated: bool) -> list[tuple[str, ...]]:
    """The words of the evidence turns of each question, in the order of `locomo.asked`; `dated` as a turn is stored."""
    found = []
    for dialogue in json.loads(path.read_text(encoding="utf-8")):
        said = {}
        for _, _, written, talk in sessions(dialogue):
            when = f" ({written})" if dated else ""
            said |= {turn["dia_id"]: _flat(f"{turn['speaker']}{when}: {turn['text']}") for turn in talk}
        found += [
            tuple(dict.fromkeys(said[turn] for turn in sorted(question.gold)))
            for question in locomo.asked(dialogue, {turn: turn for turn in said}, 0)
        ]
    return found


def holds(text: str, evidence: Sequence[str]) -> float:
    """The share of the evidence that a view's text has word for word, its backslashes taken out."""
    there = " ".join(guard.opened(text).split())
    return sum(said in there for said in evidence) / len(evidence)


def _flat(text: str) -> str:
    """The text as `holds` sees it in a view."""
    return " ".join(guard.opened(guard.guarded(text)).split())
