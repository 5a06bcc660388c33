"""How memories fade: two policies, and the clock that days are counted on. Pure.

    activity     importance × e^(−λ·days) × ln(accesses + 2), λ = ln 2 / half-life; each day on which it was read, up
                 to four, adds a half-life to it: what is needed again and again is not a passing thing
    fsrs         importance × R⁴, R the retrievability of FSRS-6: used is a review that went well, corrected one that
                 failed. R falls slowly (0.6 after two months, 0.5 after half a year), so that importance alone would
                 decide; R⁴, the chance of recalling it four times running, falls as fast as it weighs.

**The vault's clock.** Time in which nothing was stored and nothing read counts `idle_days` at most, each time: a clock
set to 2099 and a vault opened again after a year do not make everything old at once.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import import_module
from itertools import accumulate, pairwise
from typing import Any

from atlas.config import Config

#: Below which activity a memory steps down to each rung, by policy. Chosen by simulation: see docs/why.md.
THRESHOLDS: Mapping[str, Mapping[str, float]] = {
    "activity": {"L1": 0.2, "L0": 0.13, "tombstone": 0.05},
    "fsrs": {"L1": 0.11, "L0": 0.065, "tombstone": 0.035},
}
#: What a day of reading adds to a half-life, as a share of it; so many days count.
_PER_DAY, _MOST_DAYS = 1.0, 4
#: The kind whose half-life counts for kinds that have none.
_ANY_KIND = "note"

_SECONDS = 86_400.0
_START = datetime(2000, 1, 1, tzinfo=UTC)
#: FSRS knows one rate of forgetting, that of a person's vocabulary; other half-lives stretch its days against this one.
_REFERENCE = 45.0
#: As many days as a date can hold, for half-lives of minutes.
_LATEST = 2_900_000.0


def day_of(moment: datetime) -> float:
    """A moment as days since 1970, UTC."""
    return moment.timestamp() / _SECONDS


class Clock:
    """The vault's clock. Moments are when something was stored or read, in days since 1970; later than `now` is now."""

    def __init__(self, moments: Iterable[float], now: float, idle_days: float) -> None:
        self.now, self._idle = now, idle_days
        self._moments = sorted({min(moment, now) for moment in moments} | {now})
        gaps = (min(later - earlier, idle_days) for earlier, later in pairwise(self._moments))
        self._read = list(accumulate(gaps, initial=0.0))

    @property
    def today(self) -> float:
        """What the clock reads now."""
        return self._read[-1]

    def at(self, moment: float) -> float:
        """What the clock read then, in days; it began at the first moment."""
        place = bisect_right(self._moments, min(moment, self.now)) - 1
        if place < 0:
            return -min(self._moments[0] - moment, self._idle)
        return self._read[place] + min(min(moment, self.now) - self._moments[place], self._idle)

    def age(self, moment: float) -> float:
        """Days gone by on this clock since then; never more than the calendar's, 0 for what is still to come."""
        # Two sums of many gaps differ in their last digits, where the calendar does not.
        return min(max(self._read[-1] - self.at(moment), 0.0), max(self.now - moment, 0.0))


@dataclass(frozen=True, slots=True)
class Rules:
    """One policy with its numbers. `half_lives` by kind and `tiers` (a factor each) are days on the vault's clock."""

    policy: str
    half_lives: Mapping[str, float]
    tiers: Mapping[str, float]
    thresholds: Mapping[str, float]

    def half_life(self, kind: str, tier: str) -> float:
        """The half-life of memories of this kind in this tier, in days."""
        return self.half_lives.get(kind, self.half_lives[_ANY_KIND]) * self.tiers.get(tier, 1.0)

    def __str__(self) -> str:
        """The policy in one line, as a commit names it."""
        tables = {"half_life": self.half_lives, "tier": self.tiers, "thresholds": self.thresholds}
        told = (",".join(f"{key}:{value:g}" for key, value in table.items()) for table in tables.values())
        return " ".join([self.policy, *(f"{name}={text}" for name, text in zip(tables, told, strict=True))])


def rules(config: Config, policy: str | None = None) -> Rules:
    """The rules of a vault. Thresholds set in `atlas.toml` belong to the policy that is set there."""
    chosen = policy or config.forget_policy
    own = config.forget_thresholds if chosen == config.forget_policy else {}
    return Rules(chosen, config.forget_half_life, config.forget_tiers, {**THRESHOLDS[chosen], **own})


@dataclass(frozen=True, slots=True)
class Life:
    """What a policy looks at, in days on the vault's clock: importance, when stored, read and corrected, reads."""

    importance: float
    created: float
    read: tuple[float, ...] = ()
    wrong: tuple[float, ...] = ()
    accesses: int = 0

    @property
    def last(self) -> float:
        """The later of creation and last read."""
        return max((self.created, *self.read))

    def lasting(self, half_life: float) -> float:
        """The half-life it has come to by being read on so many days."""
        return half_life * (1 + _PER_DAY * min(len(set(self.read)), _MOST_DAYS))

    def score(self, policy: str, half_life: float, now: float) -> float:
        """How alive it is now."""
        if policy == "activity":
            return activity(self.importance, max(now - self.last, 0.0), self.accesses, self.lasting(half_life))
        pace = _REFERENCE / half_life
        reviews = [(self.created, True), *((day, True) for day in self.read), *((day, False) for day in self.wrong)]
        first = min(day for day, _ in reviews)
        paced = [(min((day - first) * pace, _LATEST), well) for day, well in sorted(reviews)]
        return self.importance * retrievability(paced, min((now - first) * pace, _LATEST)) ** 4


def activity(importance: float, days: float, accesses: int, half_life: float) -> float:
    """How alive a memory is that was last stored or read `days` ago.

    >>> round(activity(1.0, 0, 0, 60), 3), round(activity(1.0, 60, 0, 60), 3), round(activity(0.5, 60, 6, 60), 3)
    (0.693, 0.347, 0.52)
    """
    return importance * math.exp(-math.log(2) / half_life * days) * math.log(accesses + 2)


def retrievability(reviews: Sequence[tuple[float, bool]], now: float) -> float:
    """The chance of recalling what was reviewed on these days (ascending; whether it went well), by FSRS-6: 0 to 1.

    Days since anything, in fractions; the first review is the learning.
    """
    fsrs = import_module("fsrs")  # what a search does not need it does not load
    card = fsrs.Card(card_id=1)  # without an id it would wait a millisecond for one
    for day, well in reviews:
        rating = fsrs.Rating.Good if well else fsrs.Rating.Again
        card, _ = _scheduler().review_card(card, rating, _START + timedelta(days=day))
    return float(_scheduler().get_card_retrievability(card, _START + timedelta(days=now)))


@cache
def _scheduler() -> Any:
    """FSRS as published, without what only an exam needs: steps of minutes, and chance."""
    return import_module("fsrs").Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
