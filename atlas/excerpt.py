"""Excerpts of a long text: its lines that answer, fewest first, and how likely the answer is among them. Pure.

Where the question's words stand is where the answer is, or beside it. A line is scored by the share of the question's
weight that it holds, a part of its neighbours' share, and its length; shares become likelihoods by

    P(line) = exp(score / T) / sum over the lines of exp(score / T)

On the sessions of LoCoMo, dialogues 1 to 5, the numbers below have the best likelihood of those tried: the evidence is
among the first 1, 3, 5, 10 lines of its session (22 on average) in 45, 67, 78, 91 cases of a hundred.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from atlas.models.offline import sentences
from atlas.words import terms

T = TypeVar("T")

#: Share of a neighbour's words that counts, weight of the logarithm of a line's length, and the T of the formula.
_BESIDE, _LENGTH, _SPREAD = 0.3, 0.15, 0.15
#: Numbers of lines that are worth a level of their own.
SIZES = (1, 2, 3, 5, 8, 12, 18)
#: A line longer than this, in characters, is cut into its sentences.
_LONG = 400
GAP = "…"
_LAYOUT = re.compile(r"##? (?:Summary|Detail)\s*", re.IGNORECASE)


class Line(NamedTuple):
    """A line of a text, and the terms it is found by."""

    text: str
    terms: frozenset[str]


def lines(text: str) -> tuple[str, ...]:
    """What an excerpt is made of: the lines of a text, long ones by sentence, without blank ones and Atlas's layout."""
    said = (line.strip() for line in text.splitlines())
    kept = (line for line in said if line and not _LAYOUT.fullmatch(line))
    return tuple(part for line in kept for part in ((line,) if len(line) <= _LONG else sentences(line)))


def read(line: str) -> Line:
    """A line with its terms: what is looked at again for each question."""
    return Line(line, frozenset(terms(line)))


def likely(parts: Sequence[Line], asked: Mapping[str, float]) -> list[float]:
    """How likely each line holds what answers, if the text does; `asked` weighs the terms of the question."""
    whole = sum(asked.values()) or 1.0
    held = [sum(weight for term, weight in asked.items() if term in part.terms) / whole for part in parts]
    beside = [0.0, *held, 0.0]
    scores = [
        share + _BESIDE * (beside[n] + beside[n + 2]) + _LENGTH * math.log1p(min(len(parts[n].text), _LONG))
        for n, share in enumerate(held)
    ]
    most = max(scores, default=0.0)
    odds = [math.exp((score - most) / _SPREAD) for score in scores]
    total = sum(odds)
    return [one / total for one in odds]


def excerpts(parts: Sequence[Line], asked: Mapping[str, float]) -> Iterator[tuple[tuple[int, ...], float]]:
    """(places of its lines in their order, how likely one holds the answer) of each excerpt, the shortest first.

    None holds every line.
    """
    chances = likely(parts, asked)
    order = sorted(range(len(parts)), key=lambda n: (-chances[n], n))
    for size in SIZES:
        if size >= len(parts):
            return
        places = tuple(sorted(order[:size]))
        yield places, sum(chances[n] for n in places)


def spaced(lines: Sequence[T], places: Sequence[int], gap: T) -> list[T]:
    """The lines at these places, with a gap wherever some between are left out, or at the ends.

    >>> spaced("abcdef", [0, 1, 4], "…")
    ['a', 'b', '…', 'e', '…']
    """
    found: list[T] = []
    for before, place in zip((-1, *places), places, strict=False):
        found += [lines[place]] if place == before + 1 else [gap, lines[place]]
    return found if places[-1] + 1 == len(lines) else [*found, gap]
