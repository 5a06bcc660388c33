"""What the next turns will need and is not ready yet. Pure: no files, no index; all it learns is in one JSON state.

After a turn is answered, `Prefetcher.after` gathers candidates from what it has seen and from what the caller can look
up, gives each the probability that the very next turn needs it, and issues those for which that is worth it. First it
looks at what became of the last candidates: the model learns from all of them, issued or not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from atlas.clues import NAMES, NOTHING, Clues, Nearest, Pool, Relations, Turn
from atlas.odds import Bar, Odds

__all__ = ["LIMIT", "NOTHING", "Nearest", "Numbers", "Prefetch", "Prefetcher", "Relations", "Turn"]

#: So many are issued after a turn at the most.
LIMIT = 10
#: What a memory must be worth even if nothing is known of what it would push out: its probability of use.
FLOOR = 0.03
#: How loudly each clue speaks before anything is learned. Fitted by logistic regression on all candidates of dialogues
#: 1 to 5 of LoCoMo, which have no links and no clusters. `habit` and `linked` are a compromise between those and
#: readers who walk links (1.4 and 6 there, .1 and nothing here), which learning undoes within some hundred turns;
#: `sibling`, `topic` and `proposed` are guesses. `benchmarks/prefetch_accuracy.py` fits them again.
WEIGHTS = {
    "bias": -4.5, "now": 1.0, "last": 0.85, "before": 0.25, "near": 0.4, "back": 1.35, "fresh": 2.6, "used": 0.45,
    "beside": 0.45, "linked": 1.5, "sibling": 0.5, "habit": 0.4, "topic": 0.3, "proposed": 1.5,
}  # fmt: skip
_SOON = 3
#: No clue is louder than this.
_LOUDEST = 20.0
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Prefetch:
    """A memory to make ready: `gain` is the probability that the next turn needs it, `why` what speaks for it most."""

    id: str
    gain: float
    why: str


@dataclass(frozen=True, slots=True)
class Numbers:
    """How good the proposals were. Shares are None where nothing was issued or wanted.

    `used` by the very next turn, `soon` within three; `wanted` counts what turns needed and was not ready by itself.
    """

    issued: int = 0
    used: int = 0
    soon: int = 0
    wanted: int = 0

    @property
    def precision(self) -> float | None:
        """The share of what was issued that the very next turn used."""
        return self.used / self.issued if self.issued else None

    @property
    def precision_soon(self) -> float | None:
        """The share of what was issued that was used within three turns."""
        return self.soon / self.issued if self.issued else None

    @property
    def coverage(self) -> float | None:
        """The share of what was wanted that had been issued the turn before."""
        return self.used / self.wanted if self.wanted else None


class Prefetcher:
    """Learns from every turn and says what to make ready for the next. Not threaded: its owner has the lock."""

    def __init__(self, limit: int = LIMIT, *, gated: bool = True) -> None:
        self._limit, self._gated = limit, gated
        self._odds = Odds(np.array([WEIGHTS[name] for name in NAMES]))
        self._bar = Bar()
        self._clues = Clues()
        self._numbers = Numbers()
        self._pool: Pool = {}
        self._issued: deque[list[str]] = deque(maxlen=_SOON)

    def after(
        self,
        turn: Turn,
        warm: Container[str],
        relations: Relations = NOTHING,
        nearest: Nearest | None = None,
        *,
        rival: float = 0.0,
    ) -> list[Prefetch]:
        """What to make ready now that this turn is answered, the likeliest first.

        `warm` holds what is ready already. `rival` is what a place costs: the probability that the memory that would
        be pushed out is needed next, where the caller knows it.
        """
        self._judge(set(turn.needed), set(turn.needed if turn.missed is None else turn.missed))
        self._clues.take(turn, relations)
        self._pool = self._clues.gather(turn, warm, relations, nearest)
        proposals = self._chosen(max(rival, FLOOR, self._bar.height) if self._gated else 0.0)
        self._issued.append([p.id for p in proposals])
        return proposals

    def numbers(self) -> Numbers:
        """What was issued so far and what became of it."""
        return self._numbers

    def _judge(self, needed: set[str], missed: set[str]) -> None:
        """Take the last proposals to account."""
        if self._pool:
            came = np.array([id in needed for id in self._pool])
            self._odds.learn(np.array(list(self._pool.values())), came)
        if not self._issued:
            return
        last = list(self._issued[-1])
        used = len(needed.intersection(last))
        wanted = len(missed.union(needed.intersection(last)))
        soon = 0
        for ids in self._issued:
            soon += len(needed.intersection(ids))
            ids[:] = [id for id in ids if id not in needed]
        self._bar.learn(used, len(last), wanted)
        n = self._numbers
        self._numbers = Numbers(n.issued + len(last), n.used + used, n.soon + soon, n.wanted + wanted)

    def _chosen(self, bar: float) -> list[Prefetch]:
        """The likeliest candidates, of those that reach the bar."""
        if not self._pool or self._limit < 1:
            return []
        rows = np.array(list(self._pool.values()))
        gains = self._odds.of(rows)
        ids = list(self._pool)
        order = np.argsort(-gains, kind="stable")[: self._limit]
        best = [int(place) for place in order if gains[place] >= bar]
        said = rows[best] * self._odds.weights
        said[:, 0] = -np.inf  # the bias speaks for nobody
        return [
            Prefetch(ids[place], round(float(gains[place]), 4), NAMES[int(np.argmax(row))])
            for place, row in zip(best, said, strict=True)
        ]

    # ------------------------------------------------------------------------ state

    def state(self) -> dict[str, Any]:
        """All it has learned and what it waits for, as JSON: `Prefetcher.restored` goes on as if nothing had been."""
        return {
            "version": _VERSION,
            "names": list(NAMES),
            "odds": self._odds.state(),
            "bar": self._bar.state(),
            "clues": self._clues.state(),
            "numbers": list(astuple(self._numbers)),
            "pool": [[id, row] for id, row in self._pool.items()],
            "issued": [list(ids) for ids in self._issued],
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any] | None, limit: int = LIMIT, *, gated: bool = True) -> Prefetcher:
        """From a state; from none, a damaged one or another version's, one that has learned nothing yet."""
        made = cls(limit, gated=gated)
        try:
            made._restore(state)
        except (LookupError, TypeError, ValueError, OverflowError):
            return cls(limit, gated=gated)
        return made

    def _restore(self, state: Mapping[str, Any] | None) -> None:
        if not isinstance(state, Mapping) or (state["version"], state["names"]) != (_VERSION, list(NAMES)):
            raise ValueError("another version's")
        self._odds.restore(state["odds"])
        self._bar.restore(state["bar"])
        self._clues = Clues.restored(state["clues"])
        self._numbers = Numbers(*(max(int(n), 0) for n in state["numbers"]))
        rows = np.array([row for _, row in state["pool"]], np.float64).reshape(-1, len(NAMES))
        if not (np.abs(rows) <= _LOUDEST).all():
            raise ValueError("no clues")
        self._pool = {str(id): row.tolist() for (id, _), row in zip(state["pool"], rows, strict=True)}
        self._issued.extend([str(id) for id in ids][:LIMIT] for ids in state["issued"])
