"""Where each item stands in a view. Pure: what stood there last, what may be shown now, and the budget.

A provider's prompt cache takes a tenth for a beginning it has seen, byte for byte. So the stable order keeps as much of
the beginning of the last view as it may: the items before a cut stay as they are, and the best scene fills the rest.
Two things bound the cut. The best hits of this turn are shown whatever stays, as they would be without a past. And what
stays still belongs to the subject: its items are hits of this turn, if distant ones; less distant, the surer the best
hit is, since then something is asked for. Where that is over, the view is made anew at once, with what has been of use
for longest at its beginning: a break now and then is cheaper than a beginning that stays for ever and says nothing.

Chosen on dialogues 1 to 5 of LoCoMo (`benchmarks/prefix_reuse.py`). To bound the value that is given up instead, in
all or as a share, keeps less of the beginning for the same evidence lost: value is in the first hits, and cannot tell
a talk that goes on from a question about something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from atlas.scene import ALWAYS_SHARE, Candidate, Heading, Placed, Scene, compose

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: So many of the best hits are shown whatever stays, as the best scene would show them.
FIRST = 10
#: How far down this turn's hits a beginning's items may stand on average, were no hit sure to be of use: 1 is what is
#: not among the first 200.
HOLD = 0.95
HITS = 200
#: No hit is surer than this: the same question again shall find the same beginning.
_SUREST = 0.8
#: How much of an item's standing is what it was worth before.
_MEMORY = 0.8


@dataclass(frozen=True, slots=True)
class Standing:
    """An item of a view: what is needed to know it again. `worth` is its value over the last turns, faded."""

    id: str
    text: str
    heading: str
    worth: float = 0.0


@dataclass(frozen=True, slots=True)
class Arranged:
    """Items in the order of the view, what is left out, and how many of the items stand as in the last view."""

    placed: tuple[Placed, ...] = ()
    omitted: tuple[Candidate, ...] = ()
    same: int = 0


def by_relevance(candidates: Sequence[Candidate], budget: int, share: float = ALWAYS_SHARE) -> Arranged:
    """The best scene, always-on first and then strictly by value; a heading is said again wherever it changes."""
    scene = compose(candidates, budget, share=share)
    number = sum(length <= budget for length in _lengths(scene.chosen))
    gone = [one.candidate for one in scene.chosen[number:]]
    return Arranged(scene.chosen[:number], (*gone, *scene.omitted))


def stable(
    previous: Sequence[Standing],
    candidates: Sequence[Candidate],
    budget: int,
    *,
    hold: float = HOLD,
    share: float = ALWAYS_SHARE,
) -> Arranged:
    """The scene whose beginning is the last view's as far as the best hits have room and it holds to the subject.

    `hold` is how far from the subject the beginning may be; 0 lets nothing stay. Only items that are among the
    candidates, with a level of the very same text, can stay: what was changed or forgotten is not served again. So the
    candidates are the hits, best first, and then whatever else the last view shows that is still there, at a value
    below theirs.
    """
    best = compose(candidates, budget, share=share)
    first = {one.id for one in [one for one in candidates if not (one.always or one.cluster)][:FIRST]}
    needed = [one for one in best.chosen if one.candidate.id in first]
    kept = _still(previous, candidates, {one.candidate.id: one.level.kept for one in needed})
    sure = max((one.value for one in candidates if one.id in first), default=0.0)
    cut = _furthest(kept, needed, candidates, budget, hold * (1 - min(sure, _SUREST))) if kept else 0
    start = kept[:cut]
    scene = best
    if start:
        there = {one.candidate.id for one in start}
        rest = [one for one in candidates if one.id not in there]
        wanted = [one for one in needed if one.candidate.id not in there]
        scene = compose(rest, budget - _length(start), share=share, first=wanted)
    fresh = _together(scene, {one.id: one.worth for one in previous}, start[-1].candidate.heading if start else None)
    return Arranged((*start, *fresh), scene.omitted, cut)


def standings(previous: Sequence[Standing], shown: Sequence[Placed]) -> tuple[Standing, ...]:
    """What the next turn has to know of this view."""
    before = {one.id: one.worth for one in previous}
    return tuple(
        Standing(
            one.candidate.id,
            one.level.text,
            one.candidate.heading.text,
            _MEMORY * before.get(one.candidate.id, 0.0) + (1 - _MEMORY) * one.candidate.value,
        )
        for one in shown
    )


def _still(previous: Sequence[Standing], candidates: Sequence[Candidate], needed: Mapping[str, float]) -> list[Placed]:
    """The longest beginning of the last view that could be shown again, in the detail now needed."""
    by_id = {one.id: one for one in candidates}
    found: list[Placed] = []
    for old in previous:
        one = by_id.get(old.id)
        if one is None or one.heading.text != old.heading or (one.value <= 0 and not one.cluster):
            break
        same = [level for level in one.levels if level.text == old.text]
        if not same or same[0].kept < needed.get(one.id, 0.0):
            break
        found.append(Placed(one, same[0]))
    return found


def _furthest(
    kept: Sequence[Placed], needed: Sequence[Placed], candidates: Sequence[Candidate], budget: int, hold: float
) -> int:
    """How many of the items may stay: the most that leave what is needed its room, and stand no lower than `hold`."""
    spent = np.array([0, *_lengths(kept)])
    places = np.array([0.0, *_places(kept, candidates)])
    mean = np.cumsum(places) / np.maximum(np.arange(len(places)), 1)
    allowed = (spent + _wanting(kept, needed) <= budget) & (mean <= hold)
    return int(np.flatnonzero(allowed)[-1]) if hold > 0 and allowed.any() else 0


def _places(kept: Sequence[Placed], candidates: Sequence[Candidate]) -> list[float]:
    """How far down the hits of this turn each item stands, from 0 to 1 for what is none of them."""
    place = {one.id: n for n, one in enumerate(candidates)}
    deep = min(HITS, len(candidates))
    return [min(place[one.candidate.id], deep) / deep for one in kept]


def _wanting(kept: Sequence[Placed], needed: Sequence[Placed]) -> NDArray[np.int_]:
    """For every cut, the tokens of what is needed and does not stand before it, with its headings."""
    place = {one.candidate.id: n for n, one in enumerate(kept)}
    tokens = np.zeros(len(kept) + 1, dtype=np.int_)
    until: dict[Heading, int] = {}
    for one in needed:
        last = place.get(one.candidate.id, len(kept)) + 1
        tokens[:last] += one.level.tokens
        until[one.candidate.heading] = max(until.get(one.candidate.heading, 0), last)
    for heading, last in until.items():
        tokens[:last] += heading.tokens
    return tokens


def _lengths(placed: Sequence[Placed]) -> list[int]:
    """Tokens up to and with each item, a heading wherever it changes."""
    found, total, last = [], 0, None
    for one in placed:
        if one.candidate.heading.text != last:
            last = one.candidate.heading.text
            total += one.candidate.heading.tokens
        total += one.level.tokens
        found.append(total)
    return found


def _length(placed: Sequence[Placed]) -> int:
    return _lengths(placed)[-1] if placed else 0


def _together(scene: Scene, worth: Mapping[str, float], last: Heading | None) -> list[Placed]:
    """What is new, each heading once: always-on as given, then what has the last heading, then by standing."""
    order = {one.candidate.id: n for n, one in enumerate(scene.chosen)}
    first: dict[tuple[bool, Heading], float] = {}
    for one in scene.chosen:
        standing = _MEMORY * worth.get(one.candidate.id, 0.0) + (1 - _MEMORY) * one.value
        rank = float(order[one.candidate.id]) if one.candidate.always else -standing
        first[one.section] = min(first.get(one.section, rank), rank)

    def place(one: Placed) -> tuple[bool, bool, float, str, int]:
        head = one.candidate.heading
        return (one.section[0], head != last, first[one.section], head.text, order[one.candidate.id])

    return sorted(scene.chosen, key=place)
