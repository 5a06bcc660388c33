"""Scoring and fusion: arrays in, the best notes out. Pure NumPy; no text, no files, no SQL.

Three rankers look at every live chunk, and one number per chunk is the sum of what they say:

    lexical   BM25 of the chunk together with a share of the chunks beside it in the same thread       0 to 1
    thread    BM25 of the whole thread the chunk stands in: a conversation's session, or the note      0 to 1
    vector    the cosine in standard deviations above the mean of the live chunks                      about -3 to 5

A note scores as its best chunk, less a bounded price for having many
chunks, since the maximum of many tries is high by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from atlas.bm25 import SHAPE, Field, Postings, Shape, held, lexical

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

if TYPE_CHECKING:  # numpy.typing takes 5 ms to import, in every search
    from numpy.typing import NDArray

    Ints = NDArray[np.int32]
    Floats = NDArray[np.float32]
    Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Weights:
    """The mix. One set serves dialogue turns, long chat messages and ordinary notes; the optimum is flat.

    `thread`, `vector`: weight of those rankers, lexical being 1. `length`: price of a note with endless chunks.
    `names`, `time`, `links`, `tree`, `outdated`, `successor`, `aside`: weight of a full voice of those. `names` is more
    than all the others can give together, so that a named note comes first; what is outdated is lowered, and so
    are the pages of clusters, which say again what their members say, and, by half, labels whose text is forgotten.
    """

    bm25: Shape = SHAPE
    thread: float = 0.25
    vector: float = 0.065
    length: float = 0.22
    names: float = 4.0
    time: float = 0.05
    links: float = 0.1
    tree: float = 0.5
    outdated: float = -0.3
    successor: float = 1.0
    aside: float = -0.3


DEFAULT = Weights()
#: So many places in a ranking are counted one by one.
_FEW = 32


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

    `found` says of each note whether any of them found it; None if all were, as with vectors.
    """

    chunks: Field
    postings: Postings
    worth: Sequence[float]
    chunk: Floats
    note: Floats
    found: NDArray[np.bool_] | None
    parts: Mapping[str, Floats]


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
    worth = [1.0] * n_terms if worth is None else worth
    if len(chunks) == 0:
        nothing = np.empty(0, np.float32)
        return Scores(chunks, postings, worth, nothing, nothing, None, MappingProxyType({}))
    starts = chunks.note_starts
    near, thread = lexical(chunks, postings, worth, weights.bm25)
    total = near + np.float32(weights.thread) * thread
    heard = {"lexical": _highest(near, starts), "thread": thread[starts]}
    if cosine is not None:
        total += np.float32(weights.vector) * _standard(cosine)
        heard["vector"] = _highest(cosine, starts)
    note = _highest(total, starts)
    found = note > 0 if cosine is None else None
    note = note if len(starts) == len(chunks) else note - _length_price(chunks.note_sizes, weights.length)
    return Scores(chunks, postings, worth, total, note, found, MappingProxyType(heard))


def best(
    scores: Scores, voices: Sequence[Voice] = (), *, weights: Weights = DEFAULT, k: int = 10, parts: bool = True
) -> Ranking:
    """The `k` best notes, once every other voice was heard. Equal scores stand in order of note ordinal.

    Without `parts` nothing is said of the rankers one by one, which takes most of the time for many notes.
    """
    if len(scores.note) == 0 or k <= 0:
        return _nothing()
    total, found, heard = total_of(scores, voices, weights), scores.found, dict(scores.parts) if parts else {}
    for voice in voices:
        said = np.zeros(len(total), np.float32)
        said[voice.note] = voice.value
        found = None if found is None else found | (np.float32(getattr(weights, voice.name)) * said > 0)
        heard |= {voice.name: said} if parts else {}
    chunks = scores.chunks
    starts = chunks.note_starts
    chosen = _top(total, chunks.note[starts], found, k)
    return Ranking(
        note=chunks.note[starts[chosen]],
        score=total[chosen],
        chunk=_best_chunks(scores, starts[chosen], chunks.note_sizes[chosen]),
        parts=MappingProxyType({name: _part(notes, chosen, floor=name != "vector") for name, notes in heard.items()}),
    )


def total_of(scores: Scores, voices: Sequence[Voice], weights: Weights = DEFAULT) -> Floats:
    """The score of every note, float32[notes], once every voice was heard."""
    total = scores.note.copy() if voices else scores.note
    for voice in voices:
        total[voice.note] += np.float32(getattr(weights, voice.name)) * voice.value
    return total


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


def _highest(values: Floats, starts: Places) -> Floats:
    """The highest value of each note."""
    return values if len(starts) == len(values) else np.maximum.reduceat(values, starts)


def _top(score: Floats, ordinal: Ints, found: NDArray[np.bool_] | None, k: int) -> Places:
    """The `k` best of those found, best first; every tie at the edge is weighed, so the cut is the same each time."""
    if found is not None:
        score = np.where(found, score, np.float32(-np.inf))
    edge = np.partition(score, len(score) - k)[len(score) - k] if len(score) > k else score.min()
    among = np.flatnonzero((score >= edge) & (score > -np.inf))
    return among[np.lexsort((ordinal[among], -score[among]))][:k]


def _best_chunks(scores: Scores, starts: Places, sizes: Places) -> Ints:
    """The position of the highest chunk of each chosen note, the first of equals."""
    if len(starts) == 0 or int(sizes.max()) == 1:
        return starts.astype(np.int32)
    spans = [np.arange(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    places = np.concatenate(spans)
    total = scores.chunk[places] + held(scores.chunks, scores.postings, scores.worth, places)
    each = np.split(total, np.cumsum(sizes)[:-1])
    return np.array([start + int(np.argmax(own)) for start, own in zip(starts, each, strict=True)], np.int32)


def _part(notes: Floats, best: Places, *, floor: bool) -> Part:
    """Where one ranker alone, from its score of every note, would place the chosen ones. `floor`: 0 is not found."""
    raw = notes[best]
    if len(best) <= _FEW:  # quicker than sorting all
        above = np.array([np.count_nonzero(notes > score) for score in raw])
    else:
        above = len(notes) - np.searchsorted(np.sort(notes), raw, side="right")
    return Part(np.where((raw > 0) | (not floor), above + 1, 0).astype(np.int32), raw)


def _nothing() -> Ranking:
    return Ranking(np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.int32))
