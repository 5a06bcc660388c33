"""What is shown at which level of detail, within a budget of tokens. Pure: candidates in, a scene out.

Each memory is left out or shown at one of its levels: a multiple-choice knapsack. It is filled by the step that brings
the most value for a token, from nothing to a level or from one level to a higher one, until none fits. What that loses
against the best possible is less than the one step that was the first not to fit (the bound of the linear relaxation,
Sinha and Zoltners, "The multiple-choice knapsack problem", 1979). Memories under one heading share it: the first of
them pays for it, and the others are cheaper from then on.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from types import MappingProxyType

from atlas.memory import Lod, Trust

#: The share of the budget that is the always-on memories' own; what they leave of it goes to the others.
ALWAYS_SHARE = 0.15
#: What a memory is worth by its trust, beside a candidate's 1.
TRUSTED: Mapping[str, float] = MappingProxyType(
    {Trust.VERIFIED: 1.1, Trust.CONTESTED: 0.7, Trust.STALE: 0.6, Trust.UNTRUSTED: 0.5, Trust.REJECTED: 0.0}
)
#: P(of use) = 1 / (1 + exp(-(a + b score + c ln rank + d best score + e ln characters))); see `probability`.
_A, _SCORE, _RANK, _BEST, _LONG = -9.46, 6.56, -0.68, -4.01, 1.41
#: A short remark seldom holds an answer; from so many characters on, a text may.
_ENOUGH_CHARS = 400
_PREFERRED = 0.35
#: What levels keep of a memory in any case, and what more if they hold all the words that were asked for.
_KEPT = {Lod.L0: (0.05, 0.25), Lod.L1: (0.2, 0.5), Lod.L2: (1.0, 0.0)}
_RECENT_DAYS, _RECENT = 30.0, 0.1


@dataclass(frozen=True, slots=True)
class Level:
    """A memory at one level: its lines as they stand in the view, their tokens with the line break before them.

    `kept` is the share of what the memory is worth that is left at this level.
    """

    lod: Lod
    text: str
    tokens: int
    kept: float = 1.0


@dataclass(frozen=True, slots=True)
class Heading:
    """A line above the items that have it in common, and its tokens."""

    text: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may be shown. `levels` stand cheapest first; `always` makes it one of the always-on.

    `cluster` is the slug whose page this is: besides its own value it is worth what it stands for. `name` is what it is
    called in the views of a session, "" where that is left to each view.
    """

    id: str
    value: float
    levels: tuple[Level, ...]
    heading: Heading = Heading()
    label: str = ""
    clusters: tuple[str, ...] = ()
    always: bool = False
    cluster: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """A candidate at a level."""

    candidate: Candidate
    level: Level

    @property
    def value(self) -> float:
        """What it brings."""
        return self.candidate.value * self.level.kept

    @property
    def section(self) -> tuple[bool, Heading]:
        """Where it stands: the always-on first, then by heading."""
        return not self.candidate.always, self.candidate.heading


@dataclass(frozen=True, slots=True)
class Scene:
    """What is shown, and what is left out, best first. `tokens` counts items and headings, each heading once."""

    chosen: tuple[Placed, ...] = ()
    omitted: tuple[Candidate, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of the items and their headings."""
        return cost(self.chosen)

    @property
    def value(self) -> float:
        """What all that is shown brings."""
        return sum(placed.value for placed in self.chosen)


def probability(score: float, rank: int, best: float, length: int = _ENOUGH_CHARS) -> float:
    """How likely a hit holds what answers: by its score, its rank from 1, the score of the first hit, its characters.

    A logistic fit of "this hit is evidence" over the first 200 hits of 719 questions of LoCoMo (categories 1 to 4,
    dialogues 1 to 5, each turn a memory). Log loss for each piece of evidence 3.58 there and 3.65 on dialogues 6 to 10;
    without the length 3.70 and 3.81, by rank alone 3.86 and 3.96. Sessions as memories give the same slopes for score,
    rank and best score (7.3, -0.7, -4.5). Only ratios matter here, so one fit serves notes of any length; beyond 400
    characters, where no turn is, longer is taken for no more. `benchmarks/token_savings.py` prints the fit again.
    """
    long = _LONG * math.log(min(max(length, 1), _ENOUGH_CHARS))
    exponent = _A + _SCORE * score + _RANK * math.log(rank) + _BEST * best + long
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, exponent))))


def worth(likely: float, *, trust: str = Trust.CANDIDATE, importance: float = 0.5, days: float | None = None) -> float:
    """The value of a memory that is this likely to be of use: a little more if it is important, or new.

    `days` is its age. Importance moves it by a fifth at most and newness by a tenth: they order what is alike, and must
    not overrule what was asked. What was rejected is worth nothing.
    """
    fresh = 0.0 if days is None else _RECENT * math.exp(-max(days, 0.0) / _RECENT_DAYS)
    return likely * TRUSTED.get(trust, 1.0) * (0.9 + 0.2 * min(max(importance, 0.0), 1.0)) * (1 + fresh)


def preferred(importance: float = 0.5, *, guessed: bool = False) -> float:
    """The value of an always-on memory that was not asked for; half of it, where nobody has said it so."""
    return _PREFERRED * (0.5 + min(max(importance, 0.0), 1.0)) * (0.5 if guessed else 1.0)


def kept(lod: Lod, share: float = 0.0) -> float:
    """What a level keeps of a memory's worth; `share` is how much of the words asked for its text holds, 0 to 1.

    A label tells that there is something, a summary often what, and only the text itself is the answer.
    """
    least, more = _KEPT[lod]
    return least + more * share


def levels(made: Iterable[Level]) -> tuple[Level, ...]:
    """The levels worth having, cheapest first: of equal texts the highest, and none that costs more and keeps less."""
    by_text: dict[str, Level] = {}
    for level in made:
        said = level.text.partition("] ")[2] if level.text.startswith("[") else level.text
        if said not in by_text or by_text[said].lod <= level.lod:
            by_text[said] = level
    found: list[Level] = []
    for level in sorted(by_text.values(), key=lambda level: (level.tokens, -level.kept)):
        if not found or level.kept > found[-1].kept:
            found.append(level)
    return tuple(found)


def cost(placed: Iterable[Placed]) -> int:
    """Tokens of items and headings if those of one heading stand together."""
    shown = list(placed)
    heads = {one.section: one.candidate.heading.tokens for one in shown}
    return sum(one.level.tokens for one in shown) + sum(heads.values())


def compose(
    candidates: Sequence[Candidate], budget: int, *, share: float = ALWAYS_SHARE, first: Sequence[Placed] = ()
) -> Scene:
    """The scene of most value within a budget of tokens for items and headings; nothing, where nothing fits.

    The always-on memories are placed first, out of their share; what is left of it, and they themselves where it was
    """
    pages = frozenset(n for n, one in enumerate(candidates) if one.cluster)
    packing = _packed(candidates, budget, share, first, pages)
    if pages:
        packing = _packed(_with_pages(candidates, packing.at), budget, share, first)
    return packing.scene()


def _packed(
    candidates: Sequence[Candidate], budget: int, share: float, first: Sequence[Placed], without: Collection[int] = ()
) -> _Packing:
    packing = _Packing(candidates)
    packing.place(first, budget)
    wanted = [n for n in range(len(candidates)) if n not in without]
    always = [n for n in wanted if candidates[n].always]
    if always:
        packing.fill(always, min(budget - packing.spent, int(budget * share)))
    packing.fill(wanted, budget - packing.spent)
    return packing


def _with_pages(candidates: Sequence[Candidate], at: Sequence[int]) -> list[Candidate]:
    """The candidates, each page of a cluster worth also what those of its members are that are left out."""
    culled: dict[str, float] = {}
    for one, level in zip(candidates, at, strict=True):
        if level < 0 and not one.cluster:
            for slug in one.clusters:
                culled[slug] = culled.get(slug, 0.0) + one.value
    return [replace(one, value=one.value + culled.get(one.cluster, 0.0)) if one.cluster else one for one in candidates]


class _Packing:
    """The state of a scene that is being filled: the level of each candidate (-1: left out), the tokens spent."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.candidates = candidates
        self.at = [-1] * len(candidates)
        self.spent = 0
        self._open: set[tuple[bool, Heading]] = set()
        self._steps: list[tuple[float, int, int, int]] = []

    def place(self, wanted: Sequence[Placed], budget: int) -> None:
        """Place these as they are, one after the other, each if there is room for it."""
        by_id = {one.id: n for n, one in enumerate(self.candidates)} if wanted else {}
        for one in wanted:
            place = by_id[one.candidate.id]
            level = self.candidates[place].levels.index(one.level)
            price = self._price(place, level)
            if price <= budget - self.spent:
                self._take(place, level, price)

    def fill(self, places: Sequence[int], budget: int) -> None:
        """Take the best steps of these candidates that the budget, in tokens, has room for."""
        limit = self.spent + budget
        under: dict[tuple[bool, Heading], list[int]] = {}
        for place in places:
            under.setdefault(self._section(place), []).append(place)
        self._steps = [step for place in places if (step := self._step(place, budget)) is not None]
        heapify(self._steps)
        while self._steps:
            _, place, before, level = heappop(self._steps)
            if self.at[place] != before:
                continue
            section = self._section(place)
            price = self._price(place, level)
            if price <= limit - self.spent:
                opens = before < 0 and section not in self._open
                self._take(place, level, price)
                for other in under[section] if opens and section[1].tokens else (place,):
                    self._push(other, limit - self.spent)
            else:
                self._push(place, limit - self.spent)

    def scene(self) -> Scene:
        """What has been placed, best first, and what has not."""
        shown = [(n, level) for n, level in enumerate(self.at) if level >= 0]
        chosen = [Placed(self.candidates[n], self.candidates[n].levels[level]) for n, level in shown]
        omitted = [one for one, level in zip(self.candidates, self.at, strict=True) if level < 0]
        return Scene(
            tuple(
                sorted(
                    chosen, key=lambda one: (not one.candidate.always, -one.value if not one.candidate.always else 0)
                )
            ),
            tuple(sorted(omitted, key=lambda one: -one.value)),
        )

    def _take(self, place: int, level: int, price: int) -> None:
        self.at[place] = level
        self.spent += price
        self._open.add(self._section(place))

    def _section(self, place: int) -> tuple[bool, Heading]:
        return not self.candidates[place].always, self.candidates[place].heading

    def _price(self, place: int, level: int) -> int:
        """Tokens of the step from where a candidate is to a level, its heading included if it opens it."""
        one, now = self.candidates[place], self.at[place]
        if now >= 0:
            return one.levels[level].tokens - one.levels[now].tokens
        return one.levels[level].tokens + (0 if self._section(place) in self._open else one.heading.tokens)

    def _push(self, place: int, left: int) -> None:
        step = self._step(place, left)
        if step is not None:
            heappush(self._steps, step)

    def _step(self, place: int, left: int) -> tuple[float, int, int, int] | None:
        """The step of most value for a token that fits: (minus that, place, level now, level then)."""
        one, now = self.candidates[place], self.at[place]
        has = one.value * one.levels[now].kept if now >= 0 else 0.0
        best: tuple[float, int, int, int] | None = None
        for level in range(now + 1, len(one.levels)):
            gain, price = one.value * one.levels[level].kept - has, self._price(place, level)
            if gain > 0 and price <= left and (best is None or -gain / max(price, 1) < best[0]):
                best = (-gain / max(price, 1), place, now, level)
        return best
