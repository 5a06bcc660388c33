"""Simpler ways to find a text, over the very texts the engine stored: what its ranking has to be better than.

Each is made from the texts of one scope, and gives every one of them a score for a question; equal scores stand in the
order in which the texts were told. None of them knows of scopes, threads or passages.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import Stemmer
from numpy.typing import NDArray

from atlas import models

if TYPE_CHECKING:
    from _recall import Answer, Question

Floats = NDArray[np.float64]
#: A score for each text.
Scorer = Callable[[str], Floats]

_WORDS = re.compile(r"\w+")
_STEMMER = Stemmer.Stemmer("english")
#: The common words of English that search engines leave out, as Lucene lists them, and those that ask questions.
_COMMON = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was
will with what when where which who whom whose why how did do does has have had
"""
_STOPWORDS = frozenset(_COMMON.split())


def words(text: str) -> list[str]:
    """Lower case, English stems, without the commonest words."""
    return list(_STEMMER.stemWords([w for w in _WORDS.findall(text.lower()) if w not in _STOPWORDS]))


class Bm25:
    """BM25 as Lucene computes it, k1 = 1.2 and b = 0.75, on stemmed words."""

    def __init__(self, texts: Sequence[str], k1: float = 1.2, b: float = 0.75) -> None:
        counts = [Counter(words(text)) for text in texts]
        self._size = len(texts)
        lengths = np.array([counted.total() for counted in counts], dtype=np.float64)
        self._slack = k1 * (1 - b + b * lengths / max(lengths.mean(), 1e-9))
        self._postings: dict[str, tuple[list[int], list[int]]] = {}
        for place, counted in enumerate(counts):
            for word, count in counted.items():
                places, tf = self._postings.setdefault(word, ([], []))
                places.append(place)
                tf.append(count)

    def __call__(self, question: str) -> Floats:
        scores = np.zeros(self._size)
        for word in dict.fromkeys(words(question)):
            if word in self._postings:
                places, counts = self._postings[word]
                tf = np.array(counts, dtype=np.float64)
                idf = np.log1p((self._size - len(places) + 0.5) / (len(places) + 0.5))
                scores[places] += idf * tf / (tf + self._slack[places])
        return scores


class Fts5:
    """SQLite's full-text search: its bm25() with its own Porter stems, any of the question's words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._size = len(texts)
        self._con = sqlite3.connect(":memory:")
        self._con.execute("CREATE VIRTUAL TABLE notes USING fts5(text, tokenize = 'porter unicode61')")
        self._con.executemany("INSERT INTO notes(rowid, text) VALUES (?, ?)", enumerate(texts))

    def __call__(self, question: str) -> Floats:
        scores = np.zeros(self._size)
        asked = " OR ".join(f'"{word}"' for word in dict.fromkeys(_WORDS.findall(question.lower())))
        if asked:
            for place, score in self._con.execute("SELECT rowid, bm25(notes) FROM notes WHERE notes MATCH ?", [asked]):
                scores[place] = -score
        return scores


class Grep:
    """How many of the question's distinct words, the commonest left out, stand in the text, in any case."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [text.lower() for text in texts]

    def __call__(self, question: str) -> Floats:
        asked = set(_WORDS.findall(question.lower())) - _STOPWORDS
        return np.array([sum(word in text for word in asked) for text in self._texts], dtype=np.float64)


class Vectors:
    """The cosine of question and text, one vector each."""

    def __init__(self, texts: Sequence[str], embedder: models.Embedder) -> None:
        self._embedder, self._asked = embedder, dict[str, Floats]()
        self._matrix = embedder.embed([begin(text, embedder) for text in texts])

    def __call__(self, question: str) -> Floats:
        if question not in self._asked:
            self._asked[question] = (self._matrix @ self._embedder.ask(question)).astype(np.float64)
        return self._asked[question]


def begin(text: str, embedder: models.Embedder) -> str:
    """As much of a text as the model takes at once: what its own library would embed, and better than a mean of all."""
    window = getattr(embedder, "window", None)
    if window is None:
        return text
    tokens = embedder._backend.tokenizer.encode(text)  # type: ignore[attr-defined] # noqa: SLF001
    return text if len(tokens.ids) <= window else text[: tokens.offsets[window - 2][1]]


def rrf(rankers: Sequence[Scorer], k: int = 60) -> Scorer:
    """Reciprocal rank fusion: each ranker gives what it found 1 / (k + rank)."""

    def score(question: str) -> Floats:
        total: Floats = np.zeros(0)
        for ranker in rankers:
            scores = ranker(question)
            rank = np.empty(len(scores))
            rank[order(scores)] = np.arange(1, len(scores) + 1)
            given = np.where(scores == 0, 0, 1 / (k + rank))  # words that a text has none of have not found it
            total = given if not len(total) else total + given
        return total

    return score


def standard_sum(rankers: Sequence[Scorer]) -> Scorer:
    """The sum of the scores, each in standard deviations from its mean."""

    def score(question: str) -> Floats:
        found = [ranker(question) for ranker in rankers]
        return np.sum([(scores - scores.mean()) / max(float(scores.std()), 1e-9) for scores in found], axis=0)

    return score


def order(scores: Floats) -> NDArray[np.intp]:
    """Places, best first, the earlier of equals first."""
    return np.argsort(-scores, kind="stable")


def scorers(texts: Sequence[str], embedder: models.Embedder | None) -> dict[str, Scorer]:
    """Every baseline by its name, over the texts of one scope."""
    bm25 = Bm25(texts)
    found: dict[str, Scorer] = {"BM25": bm25, "SQLite FTS5": Fts5(texts), "grep": Grep(texts)}
    if embedder is not None:
        vectors = Vectors(texts, embedder)
        found["vectors alone"] = vectors
        found["RRF60 of BM25 and vectors"] = rrf([bm25, vectors])
        found["sum of z-scores of BM25 and vectors"] = standard_sum([bm25, vectors])
    return found


def answers(by_scope: Mapping[str, Mapping[str, str]], embedder: models.Embedder | None) -> dict[str, Answer]:
    """Every baseline by its name, ready to be asked; `by_scope` is scope → id → text."""
    made = {scope: scorers(list(texts.values()), embedder) for scope, texts in by_scope.items()}
    ids = {scope: list(texts) for scope, texts in by_scope.items()}

    def answer(name: str) -> Answer:
        def ask(question: Question, k: int) -> list[str]:
            return [ids[question.scope][n] for n in order(made[question.scope][name](question.text))[:k]]

        return ask

    return {name: answer(name) for name in next(iter(made.values()), {})}
