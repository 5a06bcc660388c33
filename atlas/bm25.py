"""BM25 over the passages of one query: each with a share of those beside it, and each thread as a whole.

Robertson, Walker and others, "Okapi at TREC-3" (1994), with the positive idf of Lucene. A sum is divided by the idf of
the query: it says what share of the query was found, so it neither grows with the vault nor with the question.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

if TYPE_CHECKING:  # numpy.typing takes 5 ms to import, in every search
    from numpy.typing import NDArray

    Ints = NDArray[np.int32]
    Floats = NDArray[np.float32]
    Places = NDArray[np.intp]

#: A term in fewer than one passage of so many is added where it stands; any other in one sweep over all passages.
_RARE = 32


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
class Shape:
    """`k1`, `b`: saturation and length share of BM25. `window`: share of the chunks one and two places away."""

    k1: float = 1.2
    b: float = 0.75
    window: tuple[float, ...] = (0.5, 0.25)


SHAPE = Shape()


def lexical(chunks: Field, postings: Postings, worth: Sequence[float], shape: Shape) -> tuple[Floats, Floats]:
    """BM25 of every chunk with its neighbours and of its thread, each as a share of the query's idf; float32[n].

    `worth` is what each term counts.
    """
    near = _Near(chunks, shape)
    whole = None if near.alone and len(chunks.thread_starts) == len(chunks) else _Whole(chunks, shape)
    for share, (places, counts) in zip(worth, _by_term(postings, len(worth)), strict=True):
        near.add(places, counts, share)
        if whole is not None:
            whole.add(places, counts, share)
    by_chunk = near.share()
    return by_chunk, by_chunk if whole is None else whole.share()[chunks.thread_of]


def held(chunks: Field, postings: Postings, worth: Sequence[float], among: Places) -> Floats:
    """The share of the query's idf that each of the chunks `among` holds by itself; float32[len(among)], 0 to 1.

    A note is found by a passage and its neighbours together; what is shown of it has to be where the words stand.
    """
    holding = np.bincount(postings.term, minlength=len(worth))
    value = np.array([w * idf(len(chunks), int(n)) for w, n in zip(worth, holding, strict=True)], np.float64)
    slot = np.full(len(chunks), -1, np.int32)
    slot[among] = np.arange(len(among), dtype=np.int32)
    where = slot[postings.chunk]
    there = where >= 0
    found = np.bincount(where[there], value[postings.term[there]], len(among))
    share: Floats = (found / max(float(value.sum()), 1e-9)).astype(np.float32)
    return share


def idf(documents: int, holding: int) -> float:
    """Weight of a term held by `holding` of `documents`: ln(1 + (N - df + 0.5) / (df + 0.5)).

    Robertson and Spärck Jones's weight kept positive by the 1, as in Lucene's BM25Similarity.
    """
    return float(np.log1p((documents - holding + 0.5) / (holding + 0.5)))


def saturation(tf: Floats, length: Floats, mean: float, shape: Shape) -> Floats:
    """How much a term counts, from 0 to 1: tf / (tf + k1 * (1 - b + b * length / mean)).

    BM25 without the constant factor k1 + 1.
    """
    return tf / (tf + _slack(length, mean, shape))


def _slack(length: Floats, mean: float, shape: Shape) -> Floats:
    """The part of the saturation that only the length decides; never 0, so that an empty chunk scores 0, not 0/0."""
    by_length = np.float32(shape.k1 * shape.b / max(mean, 1e-9)) * length
    slack: Floats = np.maximum(by_length + np.float32(shape.k1 * (1 - shape.b)), np.float32(1e-9))
    return slack


class _Sum:
    """A running sum over the terms of one query. Its buffers are reused: fresh ones cost more than the arithmetic."""

    def __init__(self, length: Floats, shape: Shape) -> None:
        self._slack = _slack(length, float(length.mean()), shape)
        self._sum, self._buffer, self._idf = np.zeros_like(length), np.empty_like(length), 0.0

    def everywhere(self, tf: Floats, weight: float) -> None:
        """Count a term that stands `tf` times in each document."""
        self._idf += weight
        np.add(tf, self._slack, out=self._buffer)
        np.divide(tf, self._buffer, out=self._buffer)
        self._buffer *= np.float32(weight)
        self._sum += self._buffer

    def at(self, places: Places, tf: Floats, weight: float) -> None:
        """Count a term that stands `tf` times at these places; a place named twice counts once."""
        self._idf += weight
        self._sum[places] += np.float32(weight) * (tf / (tf + self._slack[places]))

    def share(self) -> Floats:
        """The sum as a share of what a perfect document would have."""
        return self._sum / np.float32(self._idf or 1)


class _Near:
    """Every chunk with shares of those beside it. A share never crosses from one thread to the next."""

    def __init__(self, chunks: Field, shape: Shape) -> None:
        self._n = len(chunks)
        self._steps: list[tuple[int, Floats]] = []
        for step, share in enumerate(shape.window[: self._n - 1], 1):
            together = chunks.thread[step:] == chunks.thread[:-step]
            if together.any():
                self._steps.append((step, together.astype(np.float32) * np.float32(share)))
        self._tf, self._spread, self._moved = (np.zeros(self._n, np.float32) for _ in range(3))
        self._sum = _Sum(self._with_neighbours(chunks.words.astype(np.float32)).copy(), shape)

    @property
    def alone(self) -> bool:
        """Whether no chunk stands beside another of its thread."""
        return not self._steps

    def add(self, places: Ints, counts: Ints, worth: float) -> None:
        """Count one more term, which stands `counts` times at `places`."""
        weight = worth * idf(self._n, len(places))
        if len(places) * _RARE >= self._n:
            self._tf.fill(0)
            self._tf[places] = counts
            self._sum.everywhere(self._with_neighbours(self._tf), weight)
            self._tf.fill(0)
            return
        touched = self._scatter(places.astype(np.intp), counts.astype(np.float32))
        self._sum.at(touched, self._tf[touched], weight)
        self._tf[touched] = 0

    def share(self) -> Floats:
        """The score of every chunk, as a share of the query's idf."""
        return self._sum.share()

    def _scatter(self, places: Places, counts: Floats) -> Places:
        """Put the counts and the neighbours' shares of them into the buffer; where they were put."""
        self._tf[places] = counts
        touched = [places]
        for step, share in self._steps:
            before, after = places >= step, places < self._n - step
            left, right = places[before] - step, places[after] + step
            self._tf[right] += share[places[after]] * counts[after]
            self._tf[left] += share[left] * counts[before]
            touched += [left, right]
        return np.concatenate(touched)

    def _with_neighbours(self, values: Floats) -> Floats:
        """The values, each with the shares of its neighbours added; good until the next call."""
        if not self._steps:
            return values
        self._spread[:] = values
        for step, share in self._steps:
            moved = self._moved[step:]
            self._spread[step:] += np.multiply(share, values[:-step], out=moved)
            self._spread[:-step] += np.multiply(share, values[step:], out=moved)
        return self._spread


class _Whole:
    """Every thread as one document."""

    def __init__(self, chunks: Field, shape: Shape) -> None:
        self._of = chunks.thread_of
        self._n = len(chunks.thread_starts)
        self._sum = _Sum(np.add.reduceat(chunks.words.astype(np.float32), chunks.thread_starts), shape)

    def add(self, places: Ints, counts: Ints, worth: float) -> None:
        """Count one more term, which stands `counts` times at `places`."""
        threads = self._of[places]
        if len(places) * _RARE >= self._n:
            tf = np.bincount(threads, counts, self._n).astype(np.float32)
            self._sum.everywhere(tf, worth * idf(self._n, int(np.count_nonzero(tf))))
            return
        found, where = np.unique(threads, return_inverse=True)
        tf = np.bincount(where, counts, len(found)).astype(np.float32)
        self._sum.at(found, tf, worth * idf(self._n, len(found)))

    def share(self) -> Floats:
        """The score of every thread, as a share of the query's idf."""
        return self._sum.share()


def _by_term(postings: Postings, n_terms: int) -> Iterator[tuple[Ints, Ints]]:
    """The chunks and counts of each of the query's terms in turn, those found nowhere too."""
    term, chunk, tf = postings.term, postings.chunk, postings.tf
    if np.any(term[1:] < term[:-1]):
        order = np.argsort(term, kind="stable")
        term, chunk, tf = term[order], chunk[order], tf[order]
    edges = np.searchsorted(term, np.arange(n_terms + 1, dtype=term.dtype))
    for start, end in pairwise(edges):
        yield chunk[start:end], tf[start:end]


def _starts(labels: Ints) -> Places:
    """Where each unbroken run of equal labels begins."""
    return np.flatnonzero(np.concatenate(([True], labels[1:] != labels[:-1])))
