"""Memories that say nearly the same: found, told apart, proposed to a person. Nothing is merged.

    vectors near each other ─► words shared ─► differ in a number, a name, a date, a "not"?   never proposed
                                               nothing differs                               `atlas join` is proposed

Pairs only: of A~B and B~C nothing follows for A and C.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from atlas import markdown, words
from atlas.errors import NotText
from atlas.facts import differ
from atlas.memory import HUB, Rung
from atlas.planning import Plan, View
from atlas.profiles import Profile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

#: How near two vectors are, and which share of all words two texts share, to be called nearly the same. By the default
#: model sentences that differ in a number stand at .94 to .96; of 1,400 turns of talk, three pairs are above .9.
NEAR, SHARED = 0.9, 0.6
#: Which share of words two texts share that say the same in all but details.
SAME = 0.8
#: Rows of the vectors that are compared at once; and the most memories of one entity that are compared by words.
_BLOCK = 512
#: Pairs that are told at once, by the command and by a run of upkeep.
MOST_PAIRS, MOST_NOTES = 100, 10


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories that say nearly the same. `similarity` 0..1; `differ` is what only one of them says, as typed."""

    a: str
    b: str
    similarity: float
    differ: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether nothing was found in which they differ."""
        return not self.differ


def pairs(view: View) -> tuple[Pair, ...]:
    """The pairs of memories that say nearly the same, the nearest first; at most `MOST_PAIRS`."""
    those = [one for one in view.profiles() if _told(one)]
    if len(those) < 2:
        return ()
    vectors = view.vectors([one.path for one in those])
    near = _near(vectors) if vectors.shape[1] else _wordwise(those)
    texts: dict[str, str] = {}
    found = []
    for a, b, similarity in near:
        pair = _compared(view, those[a].path, those[b].path, similarity, texts)
        found += [pair] if pair else []
        if len(found) >= MOST_PAIRS:
            break
    return tuple(found)


def plan(view: View) -> Plan:
    """No changes; what may be joined, as notes."""
    same = [proposal(pair) for pair in pairs(view) if pair.same]
    more = [f"{len(same) - MOST_NOTES} more pairs: `atlas duplicates`."] if len(same) > MOST_NOTES else []
    return Plan(notes=(*same[:MOST_NOTES], *more))


def proposal(pair: Pair) -> str:
    """The sentence that proposes to join two memories."""
    return f"{pair.a} and {pair.b} say nearly the same: `atlas join {pair.a} {pair.b}` makes them one."


def _told(one: Profile) -> bool:
    """Whether a memory is to be compared: no mere label, no page of links, nothing that no longer holds."""
    gone = one.valid_to is not None or bool(one.meta.get("superseded_by"))
    return one.readable and one.kind != HUB and one.rung != Rung.L0 and not gone


def _near(vectors: Vectors) -> Iterator[tuple[int, int, float]]:
    """(a, b, cosine) of the near pairs, nearest first; a block of rows at a time, so that 10,000 need no 400 MB."""
    found: list[tuple[float, int, int]] = []
    for start in range(0, len(vectors), _BLOCK):
        likeness = vectors[start : start + _BLOCK] @ vectors[start:].T
        for row, column in np.argwhere(likeness >= NEAR):
            if column > row:
                found.append((float(likeness[row, column]), start + int(row), start + int(column)))
    for cosine, a, b in sorted(found, key=lambda one: (-one[0], one[1], one[2])):
        yield a, b, cosine


def _wordwise(those: Sequence[Profile]) -> Iterator[tuple[int, int, float]]:
    """The same by the words of labels, where no model answers: pairs that share a telling entity."""
    bags = [frozenset(words.terms(one.label)) for one in those]
    by_entity: dict[str, list[int]] = {}
    for place, one in enumerate(those):
        for entity in one.entities:
            by_entity.setdefault(entity.casefold(), []).append(place)
    asked = {(a, b) for group in by_entity.values() if len(group) <= _BLOCK
             for n, a in enumerate(group) for b in group[n + 1 :]}  # fmt: skip
    scored = sorted((-_shared(bags[a], bags[b]), a, b) for a, b in asked)
    yield from ((a, b, -score) for score, a, b in scored if -score >= SHARED)


def _compared(view: View, a: str, b: str, similarity: float, texts: dict[str, str]) -> Pair | None:
    """The pair with what tells it apart; None if the two share too few words."""
    one, two = (_text(view, path, texts) for path in (a, b))
    if not one or not two:
        return None
    bags = [frozenset(words.terms(text)) for text in (one, two)]
    shared = _shared(*bags)
    if shared < SHARED:
        return None
    apart = [fact.said for fact in differ(one, two)]
    if not apart and shared < SAME:
        apart = sorted(bags[0] ^ bags[1])
    return Pair(a, b, round(similarity, 3), tuple(dict.fromkeys(apart)))


def _shared(one: frozenset[str], two: frozenset[str]) -> float:
    return len(one & two) / (len(one | two) or 1)


def _text(view: View, path: str, texts: dict[str, str]) -> str:
    """What a memory says, read once."""
    if path not in texts:
        data = view.read(path)
        try:
            texts[path] = markdown.original(markdown.parse(markdown.decode(data or b"").text, path)).strip()
        except NotText:
            texts[path] = ""
    return texts[path]
