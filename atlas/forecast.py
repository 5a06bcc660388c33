"""Which memories the next answer will need: a forecast from what was found, needed and written lately.

Two kinds of event leave a trace in a memory, and each trace fades at three speeds:

    found      1 / (1 + rank / 10) for every answer that had it among its first hits, rank from 0
    written    1 when the memory was written

    P(needed by the next answer) = 1 / (1 + exp(-(w0 + w · x)))        x = log(1 + found), sqrt(written)

A trace of speed h is halved every h answers, as in an exponential moving average. The weights begin as fitted on
dialogues and are moved a little by every answer (logistic regression by gradient, pulled back to where it began), so
that an agent with other habits is forecast by its own. Memories that were needed are no other kind of event: rank 11
says nearly as much as rank 10, and a memory that is not ready yet is forecast as well as one that is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Answers after which a trace is half of what it was.
HALVED: Final = (1.0, 8.0, 60.0)
#: So many hits of an answer leave traces, and so many memories may have one: those least likely needed lose theirs.
DEPTH, KNOWN = 200, 2048
#: Bias, then the weights of `found` and of `written` at the three speeds. Fitted by benchmarks/cache_hit_rate.py.
PRIOR: Final = (-5.18, 2.89, 0.53, 0.29, 3.74, 0.29, 0.20)
#: The traces of so many memories, the likeliest, are kept for a later process.
KEPT = 512
#: The step of learning, and the pull back to `PRIOR`: habits are learned over some hundred answers.
STEP, PULL = 0.005, 0.005
#: No weight moves further than this, whatever is fed.
FAR = 3.0
_SPEEDS = len(HALVED)


class Forecast:
    """The traces of memories, by id, and the weights. Deterministic; bounded by `KNOWN`; not for threads."""

    def __init__(self) -> None:
        self.weights: Floats = np.array(PRIOR)
        self._places: dict[str, int] = {}
        self._free = list(range(KNOWN + DEPTH))[::-1]
        self._traces: Floats = np.zeros((KNOWN + DEPTH + 1, 2 * _SPEEDS))  # the last row stays empty: no traces
        self._fading: Floats = np.tile(0.5 ** (1 / np.array(HALVED)), 2)

    def __contains__(self, id: str) -> bool:
        return id in self._places

    def __len__(self) -> int:
        return len(self._places)

    def answered(self, ranked: Sequence[str], needed: Collection[str]) -> None:
        """Learn from an answer, then leave its traces; `ranked` are its hits, best first."""
        self._learn(needed)
        self._traces *= self._fading
        self._room(DEPTH)
        hits = tuple(dict.fromkeys(ranked[:DEPTH]))
        places = [self._place(id) for id in hits]
        self._traces[places, :_SPEEDS] += 1 / (1 + np.arange(len(places))[:, None] / 10)

    def written(self, id: str) -> None:
        """The memory was just stored."""
        self._room(1)
        self._traces[self._place(id), _SPEEDS:] += 1

    def of(self, ids: Iterable[str]) -> list[float]:
        """The probability of each; of a memory without traces, that of any."""
        return [float(p) for p in self._chances(self._traces[[self._places.get(id, -1) for id in ids]])]

    def best(self) -> list[tuple[str, float]]:
        """Every memory with a trace and its probability, the likeliest first."""
        chances = self._chances(self._traces[list(self._places.values())])
        return sorted(zip(self._places, chances.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0]))

    def features(self) -> tuple[list[str], Floats]:
        """The memories with traces, and a row of features each: `found` and `written` at the three speeds."""
        return list(self._places), _features(self._traces[list(self._places.values())])

    def forget(self, live: Collection[str]) -> None:
        """Drop the traces of all that is not live."""
        for id in [id for id in self._places if id not in live]:
            self._drop(id)

    def state(self) -> dict[str, Any]:
        """What a later process goes on with, as JSON: ids and numbers, no text."""
        kept = [id for id, _ in self.best()[:KEPT]]
        return {
            "weights": _short(self.weights),
            "traces": {id: _short(self._traces[self._places[id]]) for id in kept},
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Forecast:
        """Go on from `state`; ValueError, TypeError or KeyError where it is none."""
        forecast = cls()
        forecast.weights = forecast._bounded(_numbers(state["weights"], len(PRIOR)))
        for id, row in list(state["traces"].items())[:KEPT]:
            forecast._traces[forecast._place(id)] = np.maximum(_numbers(row, 2 * _SPEEDS), 0)
        return forecast

    def _learn(self, needed: Collection[str]) -> None:
        """One step towards what was needed now, from the traces as they stood before."""
        features = self.features()[1]
        came = np.fromiter((id in needed for id in self._places), float, len(features))
        wrong = came - 1 / (1 + np.exp(-(self.weights[0] + features @ self.weights[1:])))
        slope = np.array([wrong.sum(), *(wrong @ features)])
        self.weights = self._bounded(self.weights + STEP * slope - PULL * (self.weights - PRIOR))

    @staticmethod
    def _bounded(weights: Floats) -> Floats:
        prior = np.array(PRIOR)
        return np.clip(weights, prior - FAR, prior + FAR)

    def _chances(self, traces: Floats) -> Floats:
        chances: Floats = 1 / (1 + np.exp(-(self.weights[0] + _features(traces) @ self.weights[1:])))
        return chances

    def _place(self, id: str) -> int:
        """The row of a memory, a new one if it has none."""
        if id not in self._places:
            self._places[id] = self._free.pop()
        return self._places[id]

    def _room(self, wanted: int) -> None:
        """Have so many rows free; the least likely memories lose theirs, many at once, so that it is seldom done."""
        if len(self._free) < wanted:
            for id, _ in self.best()[KNOWN:]:
                self._drop(id)

    def _drop(self, id: str) -> None:
        place = self._places.pop(id)
        self._traces[place] = 0
        self._free.append(place)


def _features(traces: Floats) -> Floats:
    """Found often counts by its logarithm; a memory is written once, and its root fades half as fast."""
    return np.hstack([np.log1p(traces[:, :_SPEEDS]), np.sqrt(traces[:, _SPEEDS:])])


def _short(row: Floats) -> list[float]:
    return [float(f"{number:.5g}") for number in row]


def _numbers(row: Any, length: int) -> Floats:
    """So many finite numbers, or ValueError."""
    numbers = np.array(row, float)
    if numbers.shape != (length,) or not np.isfinite(numbers).all():
        raise ValueError
    return numbers
