"""Three versions of one thing made one: a value, some lines, an order. Pure.

The sides are called first and second, after their content and not after whose they are. Lines are compared by
`merge3`, on a matcher that takes what two texts have in common at their ends before it searches the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, TypeVar

from merge3 import Merge3

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

#: Above so many lines, those that make up over a hundredth of a text are no anchors: 5,000 equal lines took minutes.
_MANY = 1000


@dataclass(frozen=True, slots=True)
class Clash:
    """Lines that both sides changed, each in its own way."""

    base: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]


def chosen(base: T, first: T, second: T) -> T | None:
    """The version of whoever changed it; None if both did, each in its own way."""
    if first in (second, base):
        return second
    return first if second == base else None


def lines(base: Sequence[str], first: Sequence[str], second: Sequence[str]) -> list[str | Clash]:
    """Line by line, with what both sides changed as clashes. Every line that a side added is in the result.

    What two versions of a clash have in common at its ends stands outside it.
    """
    out: list[str | Clash] = []
    merged = Merge3(list(base), list(first), list(second), sequence_matcher=_Matcher)
    for group in merged.merge_groups():
        if group[0] == "conflict":
            out += _narrowed(Clash(tuple(group[1]), tuple(group[2]), tuple(group[3])))
        else:
            out += group[1]
    return out


def order(
    base: Sequence[K], first: Sequence[K], second: Sequence[K], kept: Collection[K], level: Callable[[K], int]
) -> list[K]:
    """The kept things in the order of whoever changed it, the first side if both did.

    What only one side has stands behind what it stands behind there; where both added, the first side's comes first,
    but never a deeper thing behind a shallower one of the other side, which would then hold it.
    """
    common = set(base) & set(first) & set(second)
    moved = [x for x in first if x in common] != [x for x in base if x in common]
    lead, rest = (first, second) if moved or _same(base, second, common) else (second, first)
    out = [x for x in lead if x in kept]
    placed, others = set(out), set(rest)
    own = placed - others
    before: K | None = None
    for thing in rest:
        if thing not in placed and thing in kept:
            at = out.index(before) + 1 if before is not None else 0
            while at < len(out) and out[at] in own and level(out[at]) >= level(thing):
                at += 1
            out.insert(at, thing)
            placed.add(thing)
        if thing in placed:
            before = thing
    return out


def _same(base: Sequence[K], side: Sequence[K], common: Collection[K]) -> bool:
    return [x for x in side if x in common] == [x for x in base if x in common]


def _narrowed(clash: Clash) -> Iterator[str | Clash]:
    first, second = clash.first, clash.second
    start = _shared(first, second)
    end = min(_shared(first[::-1], second[::-1]), len(first) - start, len(second) - start)
    yield from first[:start]
    yield Clash(clash.base, first[start : len(first) - end], second[start : len(second) - end])
    yield from first[len(first) - end :]


def _shared(one: Sequence[str], two: Sequence[str]) -> int:
    """How many items two sequences begin with in common."""
    return next((n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


class _Matcher:
    """What two texts have in common, as `merge3` asks for it: (start, start, length), and an empty one at the end."""

    def __init__(
        self, isjunk: None = None, a: Sequence[Any] = (), b: Sequence[Any] = (), autojunk: bool = True
    ) -> None:
        del isjunk, autojunk
        self._one, self._two = a, b

    def get_matching_blocks(self) -> list[tuple[int, int, int]]:
        """The blocks, first to last."""
        one, two = self._one, self._two
        start = _shared(one, two)
        end = min(_shared(one[::-1], two[::-1]), len(one) - start, len(two) - start)
        middle, other = one[start : len(one) - end], two[start : len(two) - end]
        popular = max(len(middle), len(other)) > _MANY
        inner = SequenceMatcher(None, middle, other, autojunk=popular).get_matching_blocks()
        found = [(0, 0, start)] if start else []
        found += [(start + a, start + b, n) for a, b, n in inner if n]
        found += [(len(one) - end, len(two) - end, end)] if end else []
        return [*found, (len(one), len(two), 0)]
