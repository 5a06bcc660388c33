"""What holds memories together, as a graph, and the groups it falls into. Pure: the same memories, the same groups.

    names they share    the rarer the more, spread over all who share one
    links               the less, the more links an end of it has: a list of everything says little of each
    nearness            the nearest few by their vectors, from a cosine on

Groups are found by Leiden (Traag, Waltman, van Eck, "From Louvain to Leiden", 2019) with the constant Potts model:
a group stays together while the mean weight between its members is above `DENSITY`, however large the whole is, so that
a vault that grows does not regroup what is there.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import graspologic_native
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The mean weight between its members that holds a group together; of 0.02 to 0.1, what a person would call a topic.
DENSITY = 0.05
#: So many nearest neighbours, from this cosine on (of what is left of vectors without their mean), weigh at most this.
NEAREST, FLOOR, NEAR = 8, 0.3, 0.5
#: A name that more memories share holds none of them together.
MOST_SHARING = 60
#: From so many links on, a note's links weigh less.
MANY_LINKS = 8
#: What ties a memory to those it stood with: less than a link, more than a near neighbour.
TIE = 0.6
_BLOCK = 512
_SEED, _ROUNDS = 1, 3


@dataclass(frozen=True, slots=True)
class Edges:
    """Weighted pairs of `n` memories, each once, by their numbers: int64[m, 2], the smaller first; float64[m]."""

    n: int
    pairs: NDArray[np.int64]
    weights: NDArray[np.float64]


def edges(about: Sequence[Collection[str]], links: Sequence[tuple[int, int]], vectors: NDArray[np.float32]) -> Edges:
    """What holds memories together: the names each is about, links between them, a vector of unit length each, or 0."""
    n = len(about)
    parts = [_shared(about), _linked(links), _near(vectors)]
    pairs = np.concatenate([pair for pair, _ in parts])
    weights = np.concatenate([weight for _, weight in parts])
    pairs.sort(axis=1)
    keys, place = np.unique(pairs[:, 0] * n + pairs[:, 1], return_inverse=True)
    found = np.stack([keys // max(n, 1), keys % max(n, 1)], axis=1)
    return Edges(n, found, np.bincount(place, weights, minlength=len(keys)).astype(np.float64))


def groups(found: Edges, start: Sequence[int]) -> list[int]:
    """The number of the group of each memory. `start` is where each stood before: groups stay what they were.

    Who stood together is tied to one more node each group has for it. The library can be told where to start, but not
    every run of it comes to the same end then.
    """
    pairs, weights, n = _anchored(found, start)
    if not len(pairs):  # the library panics over a graph without edges
        return list(range(n))
    one, two = np.concatenate([pairs, pairs[:, ::-1]]).T
    order = np.lexsort((two, one))
    _, grouped = graspologic_native.leiden_csr(
        np.searchsorted(one[order], np.arange(n + 1)).astype(np.int64),
        two[order].astype(np.int32),
        np.concatenate([weights, weights])[order],
        n,
        resolution=DENSITY,
        use_modularity=False,
        iterations=_ROUNDS,
        seed=_SEED,
    )
    return [grouped[node] for node in range(found.n)]


def _anchored(found: Edges, start: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """The edges with those that tie each group to what it was, and how many nodes there are then."""
    sizes = Counter(start)
    anchors = {group: found.n + n for n, group in enumerate(sorted(g for g, size in sizes.items() if size > 1))}
    ties = [(n, anchors[group]) for n, group in enumerate(start) if group in anchors]
    pairs, weights = _arrays(ties, [TIE] * len(ties))
    return np.concatenate([found.pairs, pairs]), np.concatenate([found.weights, weights]), found.n + len(anchors)


def held(found: Edges, group: Sequence[int]) -> dict[int, float]:
    """For each group, the share of its members' weight that stays inside, from 0 to 1."""
    number = np.asarray(group, np.int64)
    one, two = number[found.pairs[:, 0]], number[found.pairs[:, 1]]
    size = int(number.max(initial=0)) + 1
    whole = np.bincount(one, found.weights, size) + np.bincount(two, found.weights, size)
    inside = 2 * np.bincount(one[one == two], found.weights[one == two], size)
    return {n: float(inside[n] / whole[n]) if whole[n] > 0 else 0.0 for n in set(group)}


Pairs = tuple["NDArray[np.int64]", "NDArray[np.float64]"]


def _shared(about: Sequence[Collection[str]]) -> Pairs:
    sharing: dict[str, list[int]] = defaultdict(list)
    for n, names in enumerate(about):
        for name in names:
            sharing[name].append(n)
    pairs: list[tuple[int, int]] = []
    weights: list[float] = []
    for name in sorted(sharing):
        among = sharing[name]
        if 1 < len(among) <= MOST_SHARING and len(among) < len(about):
            rare = math.log(len(about) / len(among)) / math.log(len(about))
            more = list(combinations(among, 2))
            pairs += more
            weights += [rare / (len(among) - 1)] * len(more)
    return _arrays(pairs, weights)


def _linked(links: Sequence[tuple[int, int]]) -> Pairs:
    degree: dict[int, int] = defaultdict(int)
    for pair in links:
        for end in pair:
            degree[end] += 1
    return _arrays(list(links), [min(1.0, MANY_LINKS / max(degree[a], degree[b])) for a, b in links])


def _near(vectors: NDArray[np.float32]) -> Pairs:
    """The nearest neighbours of each. What all vectors have in common says nothing, and would make all of them near."""
    rows = np.flatnonzero(np.abs(vectors).sum(axis=1)) if vectors.shape[1] else np.zeros(0, np.int64)
    k = min(NEAREST, len(rows) - 1)
    if k < 1:
        return _arrays([], [])
    own = vectors[rows] - vectors[rows].mean(axis=0)
    own /= np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-9)
    found = []
    for first in range(0, len(rows), _BLOCK):
        cosine = own[first : first + _BLOCK] @ own.T
        here = np.arange(len(cosine))
        cosine[here, here + first] = -1
        top = np.argpartition(-cosine, k - 1, axis=1)[:, :k]
        near, value = top.ravel(), np.take_along_axis(cosine, top, 1).ravel()
        from_ = np.repeat(here + first, k)
        found.append((np.stack([rows[from_], rows[near]], axis=1), value))
    pairs, cosines = (np.concatenate(column) for column in zip(*found, strict=True))
    # Rounded, so that sums taken in another order on another machine group the same.
    weights = np.round(NEAR * (cosines.astype(np.float64) - FLOOR) / (1 - FLOOR), 4)
    return pairs[weights > 0].astype(np.int64), weights[weights > 0]


def _arrays(pairs: list[tuple[int, int]], weights: list[float]) -> Pairs:
    return np.array(pairs, np.int64).reshape(-1, 2), np.array(weights, np.float64)
