"""How much of what a turn needs is ready before it is asked: the tiers, other policies, and the best there can be.

    python benchmarks/cache_hit_rate.py PATH/locomo10.json [--trace FOLDER]

Every turn of a dialogue from the 30th on is a query; it needs the first ten of what the real engine finds among the
turns said before it. A cache holds 120 memories of size 1 (the tiers: 10 hot, 110 warm). A hit is a needed memory that
is held **before** the query; then the cache sees the query. Only what was said before exists. Rows:

    LRU … GDSF                the policies of _policies.py, filled by what is needed
    LRU, written too          the same, and a turn that was just said is taken in
    tiers                     `atlas.cache`, filled by what is needed
    tiers, written too        and by what was just said: the engine knows what it just stored
    tiers with wishes         and by the ten cold memories the tiers' own forecast finds likeliest
    tiers with prefetching    and by what `atlas.prefetch` proposes, ten a turn at the most
    tiers with both           and by the wishes in what is left of the ten
    Belady without prefetch   filled by what is needed, by who knows the future, bypass allowed

`prefetches` are memories taken in that way a turn, `wasted` the share that leaves or is left at the end without being
needed. The weights of the forecast, its speeds, depth and rates, and the parameters of the other policies were chosen
on dialogues 1 to 5; `fitted` fits the weights again. `± ` is the standard error over the dialogues. Regret is the share
of the full ranking's first ten that is missing from an answer composed through the tiers.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import _common
import _trace
import numpy as np
from _policies import POLICIES, Belady, Policy

from atlas.cache import Held, Tiers
from atlas.forecast import PRIOR, Forecast
from atlas.prefetch import LIMIT, Prefetcher
from atlas.prefetch import Turn as Answered

HALF = 5
ROOM, HOT = 120, 10
NEEDED = 10

Serve = Callable[[int], Sequence[int]]


@dataclass
class Count:
    """What one cache did on one dialogue."""

    needed: int = 0
    hits: int = 0
    turns: int = 0
    prefetched: int = 0
    used: int = 0
    regret: float = 0.0
    seconds: list[float] = field(default_factory=list)

    def hit(self, needed: Sequence[int], ready: Callable[[int], bool]) -> None:
        """Count before the cache sees what was needed."""
        self.turns += 1
        self.needed += len(needed)
        self.hits += sum(map(ready, needed))

    @property
    def rate(self) -> float:
        """The share of what was needed that was held."""
        return self.hits / self.needed


@dataclass(frozen=True)
class Way:
    """What fills the tiers beside what is needed."""

    written: bool = False
    prefetch: bool = False
    wishes: bool = False


WAYS = {
    "tiers": Way(),
    "tiers, written too": Way(written=True),
    "tiers with wishes": Way(written=True, wishes=True),
    "tiers with prefetching": Way(written=True, prefetch=True),
    "tiers with both": Way(written=True, prefetch=True, wishes=True),
}


def main() -> None:
    """Run all on all dialogues and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--trace", type=Path)
    given = parser.parse_args()
    dialogues = _trace.read(given.data, given.trace)
    rows = {name: [by_policy(dialogue, make(ROOM)) for dialogue in dialogues] for name, make in POLICIES.items()}
    rows["LRU, written too"] = [by_policy(dialogue, POLICIES["LRU"](ROOM), written=True) for dialogue in dialogues]
    rows |= {name: [by_tiers(dialogue, way) for dialogue in dialogues] for name, way in WAYS.items()}
    rows["Belady without prefetch"] = [
        by_policy(d, Belady(ROOM, [needed for _, needed in asked(d)])) for d in dialogues
    ]
    figures = {
        "hit rate": {name: row(counts) for name, counts in rows.items()},
        "milliseconds a turn": cost(rows),
        "weights": {"in use": PRIOR, "fitted on dialogues 1-5": fitted(dialogues[:HALF])},
    }
    _common.keep("cache_hit_rate", figures, data=given.data.name, sha256=_common.sha256(given.data), room=ROOM)


def asked(dialogue: _trace.Dialogue) -> Iterator[tuple[int, Sequence[int]]]:
    """Every query: the number of its turn, and what it needs."""
    for place, turn in enumerate(dialogue.turns[_trace.FIRST :], _trace.FIRST):
        yield place, turn.found[:NEEDED]


def by_policy(dialogue: _trace.Dialogue, policy: Policy, *, written: bool = False) -> Count:
    """One of the known policies on one dialogue."""
    count = Count()
    for place, needed in asked(dialogue):
        count.hit(needed, policy.held().__contains__)
        policy.need(needed)
        if written:
            policy.need([place])
    return count


def by_tiers(dialogue: _trace.Dialogue, way: Way) -> Count:
    """The tiers on one dialogue, with what fills them; a memory's id and blob are the number of its turn."""
    count, tiers, world = Count(), Tiers(HOT, ROOM - HOT), World(dialogue)
    prefetcher, waiting = Prefetcher(), set[str]()
    for place, turn in enumerate(dialogue.turns):
        world.now = place
        if place >= _trace.FIRST:
            count.hit(turn.found[:NEEDED], lambda number: str(number) in tiers)
            count.regret += regret([turn.found], lambda _, ranked=turn.found: served(tiers, ranked))
            waiting = {id for id in waiting if id in tiers}
            count.used += len(waiting.intersection(map(str, turn.found[:NEEDED])))
            waiting.difference_update(map(str, turn.found[:NEEDED]))
        began = time.perf_counter()
        new = filled(tiers, prefetcher, world, way)
        count.seconds.append(time.perf_counter() - began)
        count.prefetched += len(new)
        waiting.update(new)
    return count


def filled(tiers: Tiers, prefetcher: Prefetcher, world: World, way: Way) -> list[str]:
    """Tell the tiers of the turn that was just answered and said, and prefetch; what came in by that."""
    turn, said = world.dialogue.turns[world.now], str(world.now)
    ranked = tuple(map(str, turn.found))
    needed = ranked[:NEEDED]
    missed = tuple(id for id in needed if id not in tiers)
    if world.now >= _trace.FIRST:
        tiers.turn({id: Held(id, 1, int(id)) for id in needed}, ranked)
    if way.written:
        tiers.written(said, said, 1, world.now)
    if world.now < _trace.FIRST:
        return []
    expected: list[tuple[str, float]] = []
    if way.prefetch:
        answer = Answered(needed, ranked[NEEDED:], missed, (said,), world.dialogue.vectors[world.now])
        proposals = prefetcher.after(answer, tiers, world, world.nearest, rival=tiers.rival())
        expected += [(proposal.id, proposal.gain) for proposal in proposals]
    if way.wishes:
        known = {id for id, _ in expected}
        wishes = (wish for wish in tiers.wanted(2 * LIMIT) if wish[0] not in known)
        expected += islice(wishes, LIMIT - len(expected))
    return [id for id, gain in expected if tiers.admit(id, id, 1, gain, int(id))]


class World:
    """What a prefetcher may look up: the turns said so far, those beside each, the nearest by their vectors."""

    def __init__(self, dialogue: _trace.Dialogue) -> None:
        self.dialogue, self.now = dialogue, 0

    def known(self, id: str) -> bool:
        return int(id) <= self.now

    def neighbours(self, id: str) -> Sequence[str]:
        beside = (int(id) + step for step in (1, -1, 2, -2))
        return [str(number) for number in beside if 0 <= number <= self.now]

    def linked(self, id: str) -> Sequence[str]:
        del id
        return ()

    clusters = members = linked

    def nearest(self, vector: np.ndarray[Any, np.dtype[np.float32]], k: int) -> list[tuple[str, float]]:
        scores = self.dialogue.vectors[: self.now + 1] @ vector
        return [(str(place), float(scores[place])) for place in np.argsort(-scores, kind="stable")[:k]]


def served(tiers: Tiers, ranked: Sequence[int]) -> list[int]:
    """An answer composed through the tiers, as a session does: what is not ready is loaded; here, its number."""
    ready = ((number, tiers.get(str(number), str(number))) for number in ranked[:NEEDED])
    return [number if made is None else int(str(made)) for number, made in ready]


def regret(rankings: Sequence[Sequence[int]], serve: Serve) -> float:
    """The mean share of each full ranking's first ten that what is served for it does not have."""
    missing = [
        len(set(ranked[:NEEDED]).difference(serve(place))) / max(1, len(ranked[:NEEDED]))
        for place, ranked in enumerate(rankings)
    ]
    return statistics.fmean(missing) if missing else 0.0


def row(counts: Sequence[Count]) -> dict[str, Any]:
    """Means over the dialogues of each half and of all, and what prefetching cost."""
    parts = {"dialogues 1-5": counts[:HALF], "dialogues 6-10": counts[HALF:], "all": counts}
    figures: dict[str, Any] = {}
    for name, part in parts.items():
        rates = [count.rate for count in part]
        error = statistics.stdev(rates) / len(rates) ** 0.5 if len(rates) > 1 else 0.0
        figures[name] = {"hit rate": round(statistics.fmean(rates), 4), "±": round(error, 4)}
    prefetched, turns = sum(count.prefetched for count in counts), sum(count.turns for count in counts)
    if prefetched:
        wasted = 1 - sum(count.used for count in counts) / prefetched
        figures |= {"prefetches a turn": round(prefetched / turns, 2), "wasted": round(wasted, 4)}
    if counts[0].seconds:
        figures["regret"] = sum(count.regret for count in counts) / turns
    return figures


def cost(rows: dict[str, list[Count]]) -> dict[str, float]:
    """What a turn takes, median over all."""
    taken = {name: [s for count in counts for s in count.seconds] for name, counts in rows.items()}
    return {name: round(statistics.median(seconds) * 1000, 3) for name, seconds in taken.items() if seconds}


def fitted(dialogues: Sequence[_trace.Dialogue]) -> list[float]:
    """The weights of the forecast: logistic regression of what the next answer needs on the traces of all memories."""
    rows, came = [], []
    for dialogue in dialogues:
        forecast = Forecast()
        for place, turn in enumerate(dialogue.turns[:-1]):
            if place >= _trace.FIRST:
                forecast.answered([str(n) for n in turn.found], ())
            forecast.written(str(place))
            if place >= _trace.FIRST:
                ids, features = forecast.features()
                needed = {str(n) for n in dialogue.turns[place + 1].found[:NEEDED]}
                rows.append(features)
                came.append([id in needed for id in ids])
    return [round(float(w), 2) for w in logistic(np.vstack(rows), np.concatenate(came))]


def logistic(features: np.ndarray[Any, Any], came: np.ndarray[Any, Any], pull: float = 1e-3) -> np.ndarray[Any, Any]:
    """Bias and weights by Newton's steps, with a little ridge on the features in standard deviations."""
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    rows = np.hstack([np.ones((len(features), 1)), (features - mean) / deviation])
    weights = np.zeros(rows.shape[1])
    for _ in range(12):
        chance = 1 / (1 + np.exp(-(rows @ weights)))
        slope = rows.T @ (chance - came) / len(came) + pull * weights
        curve = (rows * (chance * (1 - chance))[:, None]).T @ rows / len(came) + pull * np.eye(len(weights))
        weights -= np.linalg.solve(curve, slope)
    own = weights[1:] / deviation
    return np.array([weights[0] - own @ mean, *own])


if __name__ == "__main__":
    main()
