"""Scoring and fusion: arrays in, the best notes out. Pure NumPy; no text, no files, no SQL.

Three rankers look at every live chunk, and one number per chunk is the sum of what they say:

    lexical   BM25 of the chunk together with a share of the chunks beside it in the same thread       0 to 1
    thread    BM25 of the whole thread the chunk stands in: a conversation's session, or the note      0 to 1
    vector    the cosine in standard deviations above the mean of the live chunks                      about -3 to 5

BM25 is divided by the sum of the query's idf: it says what share of the query was found, so it neither grows with the
vault nor with the length of the question. A note scores as its best chunk, less a bounded price for having many
chunks, since the maximum of many tries is high by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

if TYPE_CHECKING:  # numpy.typing takes 5 ms to import, in every search
    from numpy.typing import NDArray

    Ints = NDArray[np.int32]
    Floats = NDArray[np.float32]
    Places = NDArray[np.intp]


@dataclass(frozen=True)
class Field:
    """The live chunks of one query in reading order: threads, then notes, then chunks; each thread and note unbroken.

    `note` and `thread` are ordinals, `words` counts the terms of the chunk; all int32[n]. The borders are found once,
    so one field kept for many queries is cheaper than one made for each.
    """

    note: Ints
    thread: Ints
    words: Ints

    def __len__(self) -> int:
        return len(self.note)

    @cached_property
    def note_starts(self) -> Places:
        """Where each note begins."""
        return _starts(self.note)

    @cached_property
    def note_sizes(self) -> Places:
        """How many chunks each note has."""
        return np.diff(self.note_starts, append=len(self))

    @cached_property
    def thread_starts(self) -> Places:
        """Where each thread begins."""
        return _starts(self.thread)

    @cached_property
    def thread_of(self) -> Places:
        """For each chunk, its thread, counted from 0 in reading order."""
        return np.repeat(np.arange(len(self.thread_starts)), np.diff(self.thread_starts, append=len(self)))


@dataclass(frozen=True, slots=True)
class Postings:
    """Where the query's terms stand: `term` 0 to T-1, `chunk` a position in the field, `tf` how often; all int32[m].

    A pair of term and chunk comes once. Order is free; sorted by term is fastest.
    """

    term: Ints
    chunk: Ints
    tf: Ints


@dataclass(frozen=True, slots=True)
class Weights:
    """The mix. One set serves dialogue turns, long chat messages and ordinary notes; the optimum is flat.

    `k1`, `b`: saturation and length share of BM25. `window`: share of the chunks one and two places away.
    `thread`, `vector`: weight of those rankers, lexical being 1. `length`: price of a note with endless chunks.
    `names`, `time`, `links`, `tree`: weight of a full voice of those.
    """

    k1: float = 1.2
    b: float = 0.75
    window: tuple[float, ...] = (0.5, 0.25)
    thread: float = 0.25
    vector: float = 0.065
    length: float = 0.22
    names: float = 1.0
    time: float = 0.15
    links: float = 0.1
    tree: float = 0.1


DEFAULT = Weights()


@dataclass(frozen=True, slots=True)
class Part:
    """One ranker's word on the notes of a ranking: rank from 1 (0: not found by this ranker), and raw score."""

    rank: Ints
    raw: Floats


@dataclass(frozen=True, slots=True)
class Ranking:
    """Notes, best first: ordinal, score, position of the best chunk in the field, and each ranker's part."""

    note: Ints
    score: Floats
    chunk: Ints
    parts: Mapping[str, Part] = field(default_factory=lambda: MappingProxyType({}))

    def __len__(self) -> int:
        return len(self.note)

    def why(self, place: int) -> dict[str, tuple[int, float]]:
        """Rank and raw score by ranker for the note at `place` (from 0); rankers that did not find it are left out."""
        found = {name: (int(part.rank[place]), float(part.raw[place])) for name, part in self.parts.items()}
        return {name: pair for name, pair in found.items() if pair[0]}


@dataclass(frozen=True, slots=True)
class Voice:
    """What one more ranker says of a few notes: ordinals int32[m], each once, and values float32[m] from 0 to 1.

    Its name is that of its weight in `Weights`.
    """

    name: str
    note: Ints
    value: Floats


@dataclass(frozen=True, slots=True)
class Scores:
    """What words and vectors say: `chunk` float32[n], `note` float32[notes], and `parts`, each ranker's per note.

    `found` are the places of the notes that any of them found; without vectors that need not be all.
    """

    chunks: Field
    chunk: Floats
    note: Floats
    found: Places
    parts: Mapping[str, Floats]


def rank(
    chunks: Field,
    postings: Postings,
    n_terms: int,
    cosine: Floats | None = None,
    *,
    worth: Sequence[float] | None = None,
    weights: Weights = DEFAULT,
    k: int = 10,
) -> Ranking:
    """The `k` best notes by words and vectors: `best` of `score`."""
    return best(score(chunks, postings, n_terms, cosine, worth=worth, weights=weights), weights=weights, k=k)


def score(
    chunks: Field,
    postings: Postings,
    n_terms: int,
    cosine: Floats | None = None,
    *,
    worth: Sequence[float] | None = None,
    weights: Weights = DEFAULT,
) -> Scores:
    """What words and vectors say of every note.

    `cosine` is float32[n], finite, one per chunk; without it only notes that share a term with the query, or stand
    beside or in a thread with one that does, are found. `worth` is what each term counts, 1 unless told.
    """
    if len(chunks) == 0:
        nothing = np.empty(0, np.float32)
        return Scores(chunks, nothing, nothing, np.empty(0, np.intp), MappingProxyType({}))
    starts = chunks.note_starts
    worth = [1.0] * n_terms if worth is None else worth
    lexical, thread = _lexical(chunks, postings, worth, weights)
    total = lexical + np.float32(weights.thread) * thread
    heard = {"lexical": _highest(lexical, starts), "thread": thread[starts]}
    if cosine is not None:
        total += np.float32(weights.vector) * _standard(cosine)
        heard["vector"] = _highest(cosine, starts)
    note = _highest(total, starts)
    found = np.arange(len(starts)) if cosine is not None else np.flatnonzero(note > 0)
    return Scores(
        chunks,
        total + _held(chunks, postings, worth),
        note - _length_price(chunks.note_sizes, weights.length),
        found,
        MappingProxyType(heard),
    )


def best(scores: Scores, voices: Sequence[Voice] = (), *, weights: Weights = DEFAULT, k: int = 10) -> Ranking:
    """The `k` best notes, once every other voice was heard. Equal scores stand in order of note ordinal."""
    if len(scores.note) == 0 or k <= 0:
        return _nothing()
    total, found, heard = scores.note, scores.found, dict(scores.parts)
    for voice in voices:
        said = np.zeros(len(total), np.float32)
        said[voice.note] = voice.value
        total = total + np.float32(getattr(weights, voice.name)) * said
        found = np.union1d(found, voice.note[voice.value > 0])
        heard[voice.name] = said
    chunks = scores.chunks
    starts = chunks.note_starts
    chosen = _top(total, chunks.note[starts], found, k)
    return Ranking(
        note=chunks.note[starts[chosen]],
        score=total[chosen],
        chunk=_best_chunks(scores.chunk, starts[chosen], chunks.note_sizes[chosen]),
        parts=MappingProxyType({name: _part(notes, chosen, floor=name != "vector") for name, notes in heard.items()}),
    )


def idf(documents: int, holding: int) -> float:
    """Weight of a term held by `holding` of `documents`: ln(1 + (N - df + 0.5) / (df + 0.5)).

    Robertson and Spärck Jones's weight kept positive by the 1, as in Lucene's BM25Similarity.
    """
    return float(np.log1p((documents - holding + 0.5) / (holding + 0.5)))


def saturation(tf: Floats, length: Floats, mean: float, weights: Weights = DEFAULT) -> Floats:
    """How much a term counts, from 0 to 1: tf / (tf + k1 * (1 - b + b * length / mean)).

    BM25 of Robertson, Walker and others, "Okapi at TREC-3" (1994), without the constant factor k1 + 1.
    """
    return tf / (tf + _slack(length, mean, weights))


def _slack(length: Floats, mean: float, weights: Weights) -> Floats:
    """The part of the saturation that only the length decides; never 0, so that an empty chunk scores 0, not 0/0."""
    by_length = np.float32(weights.k1 * weights.b / max(mean, 1e-9)) * length
    slack: Floats = np.maximum(by_length + np.float32(weights.k1 * (1 - weights.b)), np.float32(1e-9))
    return slack


def _lexical(chunks: Field, postings: Postings, worth: Sequence[float], weights: Weights) -> tuple[Floats, Floats]:
    """BM25 of every chunk with its neighbours and of its thread, each as a share of the query's idf; float32[n]."""
    starts, thread_of = chunks.thread_starts, chunks.thread_of
    words = chunks.words.astype(np.float32)
    window, tf = _Window(chunks.thread, weights.window), np.empty_like(words)
    near, whole = _Bm25(window.spread(words), weights), _Bm25(np.add.reduceat(words, starts), weights)
    for share, (places, counts) in zip(worth, _by_term(postings, len(worth)), strict=True):
        tf.fill(0)
        tf[places] = counts
        near.add(window.spread(tf), share * idf(len(chunks), len(places)))
        in_thread = np.bincount(thread_of[places], counts, len(starts)).astype(np.float32)
        whole.add(in_thread, share * idf(len(starts), int(np.count_nonzero(in_thread))))
    return near.share(), whole.share()[thread_of]


def _held(chunks: Field, postings: Postings, worth: Sequence[float]) -> Floats:
    """The share of the query's idf that each chunk holds by itself; float32[n], 0 to 1.

    A note is found by a passage and its neighbours together; what is shown of it has to be where the words stand.
    """
    holding = np.bincount(postings.term, minlength=len(worth))
    value = np.array([w * idf(len(chunks), int(n)) for w, n in zip(worth, holding, strict=True)])
    held = np.bincount(postings.chunk, value[postings.term] if len(postings.term) else None, len(chunks))
    share: Floats = (held / max(float(value.sum()), 1e-9)).astype(np.float32)
    return share


class _Bm25:
    """A running sum over the terms of one query. Its buffers are reused: fresh ones cost more than the arithmetic."""

    def __init__(self, length: Floats, weights: Weights) -> None:
        self._slack = _slack(length, float(length.mean()), weights)
        self._sum, self._buffer, self._idf = np.zeros_like(length), np.empty_like(length), 0.0

    def add(self, tf: Floats, weight: float) -> None:
        """Count one more term of this idf."""
        self._idf += weight
        np.add(tf, self._slack, out=self._buffer)
        np.divide(tf, self._buffer, out=self._buffer)
        self._buffer *= np.float32(weight)
        self._sum += self._buffer

    def share(self) -> Floats:
        """The sum as a share of what a perfect document would have."""
        return self._sum / np.float32(self._idf or 1)


class _Window:
    """Adds to each chunk a share of those beside it. A share never crosses from one thread to the next."""

    def __init__(self, thread: Ints, shares: tuple[float, ...]) -> None:
        self._steps: list[tuple[int, Floats]] = []
        for step, share in enumerate(shares[: len(thread) - 1], 1):
            together = thread[step:] == thread[:-step]
            if together.any():
                self._steps.append((step, together.astype(np.float32) * np.float32(share)))
        self._out, self._buffer = np.empty(len(thread), np.float32), np.empty(len(thread), np.float32)

    def spread(self, values: Floats) -> Floats:
        """The values, each with the shares of its neighbours added; good until the next call."""
        self._out[:] = values
        for step, share in self._steps:
            moved = self._buffer[step:]
            self._out[step:] += np.multiply(share, values[:-step], out=moved)
            self._out[:-step] += np.multiply(share, values[step:], out=moved)
        return self._out


def _by_term(postings: Postings, n_terms: int) -> Iterator[tuple[Ints, Ints]]:
    """The chunks and counts of each of the query's terms in turn, those found nowhere too."""
    term, chunk, tf = postings.term, postings.chunk, postings.tf
    if np.any(term[1:] < term[:-1]):
        order = np.argsort(term, kind="stable")
        term, chunk, tf = term[order], chunk[order], tf[order]
    edges = np.searchsorted(term, np.arange(n_terms + 1, dtype=term.dtype))
    for start, end in pairwise(edges):
        yield chunk[start:end], tf[start:end]


def _standard(values: Floats) -> Floats:
    """Standard deviations above the mean; models differ in how far apart their cosines lie, this does not."""
    away = values - values.mean(dtype=np.float64).astype(np.float32)
    deviation = float(np.sqrt(np.mean(away * away, dtype=np.float64)))
    # Rounding alone must not be blown up into an opinion when all cosines are equal.
    return away / np.float32(deviation) if deviation > 1e-6 else np.zeros_like(away)


def _length_price(sizes: Places, price: float) -> Floats:
    """From 0 to `price`: price * (1 - 1/chunks); bounded, so that a long note stays findable."""
    priced: Floats = np.float32(price) * (1 - 1 / sizes).astype(np.float32)
    return priced


def _starts(labels: Ints) -> Places:
    """Where each unbroken run of equal labels begins."""
    return np.flatnonzero(np.concatenate(([True], labels[1:] != labels[:-1])))


def _highest(values: Floats, starts: Places) -> Floats:
    """The highest value of each note."""
    return values if len(starts) == len(values) else np.maximum.reduceat(values, starts)


def _top(score: Floats, ordinal: Ints, among: Places, k: int) -> Places:
    """The `k` best of `among`, best first; every tie at the edge is weighed, so the cut is the same each time."""
    if len(among) > k:
        edge = np.partition(score[among], len(among) - k)[len(among) - k]
        among = among[score[among] >= edge]
    return among[np.lexsort((ordinal[among], -score[among]))][:k]


def _best_chunks(total: Floats, starts: Places, sizes: Places) -> Ints:
    """The position of the highest chunk of each chosen note, the first of equals."""
    spans = zip(starts, sizes, strict=True)
    return np.array([start + int(np.argmax(total[start : start + size])) for start, size in spans], np.int32)


def _part(notes: Floats, best: Places, *, floor: bool) -> Part:
    """Where one ranker alone, from its score of every note, would place the chosen ones. `floor`: 0 is not found."""
    raw = notes[best]
    above = len(notes) - np.searchsorted(np.sort(notes), raw, side="right")
    return Part(np.where((raw > 0) | (not floor), above + 1, 0).astype(np.int32), raw)


def _nothing() -> Ranking:
    return Ranking(np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.int32))
