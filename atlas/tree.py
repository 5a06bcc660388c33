"""The vault as a tree, and the way down it for one query. Arrays in, a ranker's voice out; no files, no SQL.

    vault ──── folder ── … ── note ── heading ── … ── passage
    clusters ── cluster ── … ── note ── heading ── … ── passage

Both trunks stand over the same passages: those one search may see, and no others. Nodes are numbered in reading order,
so what lies below a node is one unbroken run of places, and what a node knows of a query is the difference of two
running sums. The cosine with the mean of some vectors is the mean of the cosines divided by the length of that mean, so
a node keeps that length and no vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from atlas import rank, words
from atlas.bm25 import SHAPE, idf, saturation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from atlas.bm25 import Floats, Ints, Places, Postings

    Parts = tuple[str, ...]

#: What a node is.
TRUNK, BRANCH, NOTE, HEADING = range(4)

#: So many branches are gone into at each level.
WIDTH = 8
#: How much of the voice is the note as a whole, and how much the branches on the way to it.
_NOTE, _BRANCHES = 0.8, 0.2
#: What a standard deviation of a branch's cosine counts when branches are chosen, where all words found count 1.
_VECTOR = 0.065
#: Columns of the matrix summed at a time: all at once would hold two copies of it in double precision.
_COLUMNS = 16


@dataclass(frozen=True)
class Tree:
    """Nodes before what lies below them. Node i holds places `first[i]` to `last[i]`; `where` has each place's chunk.

    `kind` is TRUNK, BRANCH (a folder or a cluster), NOTE or HEADING. `note` is a note's ordinal at the note and below
    it, -1 above. The parent of a trunk is the trunk.
    """

    parent: Places
    first: Places
    last: Places
    kind: Ints
    note: Ints
    label: Parts
    where: Places

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def trunks(self) -> Places:
        """The vault, and the clusters."""
        return np.flatnonzero(self.kind == TRUNK)

    @cached_property
    def size(self) -> Places:
        """How many places lie below each node."""
        return self.last - self.first

    @cached_property
    def usual(self) -> Floats:
        """How many places a node of its kind has in the mean; never 0."""
        means = [self.size[self.kind == kind].mean() if (self.kind == kind).any() else 1 for kind in range(4)]
        usual: Floats = np.maximum(np.array(means, np.float32)[self.kind], 1)
        return usual

    @cached_property
    def named(self) -> Mapping[str, Places]:
        """For each term of the branches' names, the branches that are called so."""
        found: dict[str, list[int]] = {}
        for node in np.flatnonzero(self.kind == BRANCH).tolist():
            for term in dict.fromkeys(words.terms(self.label[node])):
                found.setdefault(term, []).append(node)
        return {term: np.array(nodes, np.intp) for term, nodes in found.items()}

    @cached_property
    def _below(self) -> tuple[Places, Places]:
        """All nodes but the trunks by their parent, and where the children of each node begin and end in them."""
        grown = np.flatnonzero(self.kind != TRUNK)
        order = grown[np.argsort(self.parent[grown], kind="stable")]
        return order, np.searchsorted(self.parent[order], np.arange(len(self) + 1))

    def children(self, nodes: Places) -> Places:
        """What lies directly below these nodes, in reading order for each."""
        order, edges = self._below
        return np.concatenate([order[:0], *(order[edges[node] : edges[node + 1]] for node in nodes.tolist())])

    def fertility(self, nodes: Places) -> Places:
        """How many children each of these nodes has."""
        return np.diff(self._below[1])[nodes]

    def sums(self, values: NDArray[np.float32] | NDArray[np.bool_]) -> NDArray[np.float64]:
        """For every node, the sum of one value per place."""
        running = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
        return running[self.last] - running[self.first]


@dataclass(frozen=True, slots=True)
class Heard:
    """What every node says of one query.

    `held` is the share of the query's idf that stands anywhere below it or in the names of the branches above, 0 to 1;
    `dense` the same with each term saturated by the share of the passages that hold it, as BM25 does with a document;
    `score` is `dense` and the cosine together: by it the branches are chosen.
    """

    held: Floats
    dense: Floats
    score: Floats


def grow(
    folders: Sequence[Parts],
    clusters: Sequence[Sequence[Parts]],
    labels: Sequence[str],
    headings: Sequence[Parts],
    starts: Places,
) -> Tree:
    """The tree over the notes of a field.

    For each note by ordinal: the names of the folders it lies in, of the clusters it is in, and its label; for each
    chunk the headings it stands under, outermost first; and where each note's chunks start.
    """
    ends = [*starts[1:].tolist(), len(headings)]
    nursery = _Nursery(labels, headings, list(zip(starts.tolist(), ends, strict=True)))
    nursery.trunk("vault", [(parts, note) for note, parts in enumerate(folders)])
    nursery.trunk("clusters", [(parts, note) for note, of in enumerate(clusters) for parts in dict.fromkeys(of)])
    return nursery.tree()


class _Nursery:
    """Grows a tree node by node, in reading order."""

    def __init__(self, labels: Sequence[str], headings: Sequence[Parts], spans: Sequence[tuple[int, int]]) -> None:
        self._labels, self._headings, self._spans = labels, headings, spans
        self._nodes: list[tuple[int, int, int, int]] = []
        self._last: list[int] = []
        self._label: list[str] = []
        self._where: list[int] = []

    def tree(self) -> Tree:
        """What has grown."""
        parent, first, kind, note = np.array(self._nodes, np.intp).reshape(-1, 4).T
        last, where = np.array(self._last, np.intp), np.array(self._where, np.intp)
        return Tree(parent, first, last, kind.astype(np.int32), note.astype(np.int32), tuple(self._label), where)

    def trunk(self, name: str, entries: Sequence[tuple[Parts, int]]) -> None:
        """A trunk with the notes that lie in it, each named by the branches on the way to it."""
        trunk = self.open(len(self._nodes), TRUNK, -1, name)
        way = _Way(self, trunk, BRANCH, -1)
        for parts, note in sorted(entries):
            self._note(way.to(parts), note)
        way.to(())
        self.close(trunk)

    def _note(self, parent: int, note: int) -> None:
        node = self.open(parent, NOTE, note, self._labels[note])
        way = _Way(self, node, HEADING, note)
        for chunk in range(*self._spans[note]):
            way.to(self._headings[chunk])
            self._where.append(chunk)
        way.to(())
        self.close(node)

    def open(self, parent: int, kind: int, note: int, label: str) -> int:
        """A new node below `parent`; its number."""
        self._nodes.append((parent, len(self._where), kind, note))
        self._last.append(len(self._where))
        self._label.append(label)
        return len(self._nodes) - 1

    def close(self, node: int) -> None:
        """Nothing more grows below this node."""
        self._last[node] = len(self._where)


class _Way:
    """The open nodes from one node down to where the next thing grows."""

    def __init__(self, nursery: _Nursery, base: int, kind: int, note: int) -> None:
        self._nursery, self._base, self._kind, self._note = nursery, base, kind, note
        self._open: list[tuple[str, int]] = []

    def to(self, parts: Parts) -> int:
        """Close what is not on the way to `parts`, open what is; the node at its end."""
        shared = 0
        for (name, _), part in zip(self._open, parts, strict=False):
            if name != part:
                break
            shared += 1
        while len(self._open) > shared:
            self._nursery.close(self._open.pop()[1])
        for part in parts[shared:]:
            self._open.append((part, self._nursery.open(self._end, self._kind, self._note, part)))
        return self._end

    @property
    def _end(self) -> int:
        return self._open[-1][1] if self._open else self._base


def lengths(tree: Tree, matrix: NDArray[np.float32], vec: NDArray[np.int32]) -> Floats:
    """The length of the mean of the vectors below each node. `vec` is the row of each chunk; one not there counts 0."""
    known = vec < len(matrix)
    rows, there = np.where(known, vec, 0)[tree.where], known[tree.where]
    squares = np.zeros(len(tree))
    for start in range(0, matrix.shape[1] if len(matrix) else 0, _COLUMNS):
        values = matrix[:, start : start + _COLUMNS][rows] * there[:, None]
        running = np.concatenate((np.zeros((1, values.shape[1])), np.cumsum(values, axis=0, dtype=np.float64)))
        squares += np.square(running[tree.last] - running[tree.first]).sum(axis=1)
    mean: Floats = (np.sqrt(squares) / np.maximum(tree.size, 1)).astype(np.float32)
    return mean


def hear(
    tree: Tree, terms: Mapping[str, float], postings: Postings, cosine: Floats | None = None, mean: Floats | None = None
) -> Heard:
    """What every node says of a query.

    `terms` has what each is worth, in the order in which `postings` number them; `cosine` is one per chunk, and `mean`
    the `lengths` of the tree.
    """
    held, dense = np.zeros(len(tree)), np.zeros(len(tree))
    length, every = (tree.size / tree.usual).astype(np.float32), 0.0
    for worth, here in zip(terms.values(), _places(tree, terms, postings), strict=True):
        value = worth * idf(len(here), int(np.count_nonzero(here)))
        found = tree.sums(here)
        held += value * (found > 0)
        dense += value * saturation(found.astype(np.float32), length, 1.0, SHAPE)
        every += value
    held, dense = held / (every or 1), dense / (every or 1)
    score = dense if cosine is None or mean is None else dense + _VECTOR * _standing(tree, cosine, mean)
    return Heard(*(part.astype(np.float32) for part in (held, dense, score)))


def _places(tree: Tree, terms: Mapping[str, float], postings: Postings) -> Iterator[NDArray[np.bool_]]:
    """For each term, at which places it stands: in the passage, or in the name of a branch above it."""
    count = int(tree.where.max(initial=-1)) + 1
    for number, term in enumerate(terms):
        at = np.zeros(count, dtype=bool)
        at[postings.chunk[postings.term == number]] = True
        here = at[tree.where]
        for branch in tree.named.get(term, ()):
            here[tree.first[branch] : tree.last[branch]] = True
        yield here


def _standing(tree: Tree, cosine: Floats, mean: Floats) -> NDArray[np.float64]:
    """The cosine with the mean of what lies below each branch, in standard deviations among the branches."""
    branches = np.flatnonzero(tree.kind == BRANCH)
    below = tree.sums(cosine[tree.where])[branches] / np.maximum(tree.size[branches] * mean[branches], 1e-9)
    out = np.zeros(len(tree))
    if len(branches) and below.std() > 1e-6:
        out[branches] = (below - below.mean()) / below.std()
    return out


def descend(tree: Tree, heard: Heard, width: int = WIDTH) -> tuple[Places, Floats]:
    """The notes that lie in the branches gone into, `width` at each level, and the mean density on the way to each.

    A note that both trunks lead to comes twice.
    """
    notes, ways = [np.empty(0, np.intp)], [np.empty(0, np.float32)]
    for trunk in tree.trunks:
        front, total = np.array([trunk]), np.zeros(1, np.float32)
        level = 0
        while len(front):
            below = tree.children(front)
            above = np.repeat(total, tree.fertility(front))
            is_note = tree.kind[below] == NOTE
            notes.append(below[is_note])
            ways.append(above[is_note] / max(level, 1))
            below, above = below[~is_note], above[~is_note]
            chosen = np.sort(np.argsort(-heard.score[below], kind="stable")[:width])
            front, total, level = below[chosen], above[chosen] + heard.dense[below[chosen]], level + 1
    return np.concatenate(notes), np.concatenate(ways)


def voice(tree: Tree, heard: Heard, reached: Places, ways: Floats, alone: NDArray[np.bool_]) -> rank.Voice:
    """What the tree says of every note: `reached` and `ways` as `descend` gives them, `alone` per note by ordinal.

    A note that is `alone` in its thread counts by the share of the query that stands anywhere in it; of a message
    among others its thread says that. The best way to a note that was reached counts beside it.
    """
    vault = np.flatnonzero((tree.kind == NOTE) & (np.arange(len(tree)) < tree.trunks[1]))
    notes = tree.note[vault]
    best = np.zeros(len(alone), np.float32)
    np.maximum.at(best, tree.note[reached], ways)
    value = _NOTE * heard.held[vault] * alone[notes] + _BRANCHES * best[notes]
    return rank.Voice("tree", notes, value.astype(np.float32))
