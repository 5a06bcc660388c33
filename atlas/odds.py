"""A small logistic model that goes on learning, and the bar a probability must reach to be acted upon. Pure.

Each weight is a normal belief around a fitted prior: its mean moves by Newton's step on its own curvature, its
certainty grows with what was seen and fades again (the diagonal form of Bayesian logistic regression, Chapelle and Li
2011). No step and no sum of steps is without bound, so no history can make it run away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: How sure the prior is, in units of curvature; what a turn leaves of the certainty above it.
SURE, FADE = 12.0, 0.995
#: The longest step of a weight in a turn, and the farthest it may ever be from its prior.
STEP, REACH = 0.25, 3.0


class Odds:
    """Probabilities from features; `learn` moves the weights."""

    def __init__(self, prior: Floats) -> None:
        self._prior = prior
        self.weights = prior.copy()
        self._sure = np.full(len(prior), SURE)

    def of(self, rows: Floats) -> Floats:
        """The probability of each row."""
        return np.asarray(1 / (1 + np.exp(-np.clip(rows @ self.weights, -30, 30))), np.float64)

    def learn(self, rows: Floats, came: NDArray[np.bool_]) -> None:
        """One turn: these rows were judged, and this is what became of each."""
        if not len(rows):
            return
        said = self.of(rows)
        curve = (said * (1 - said)) @ (rows * rows)
        self._sure = np.round(SURE + FADE * (self._sure - SURE) + curve, 3)
        slope = (came - said) @ rows + (self._prior - self.weights) * SURE * (1 - FADE)
        moved = self.weights + np.clip(slope / self._sure, -STEP, STEP)
        # Rounded here and not in the state, so that what is restored is what was.
        self.weights = np.round(np.clip(moved, self._prior - REACH, self._prior + REACH), 5)

    def state(self) -> list[list[float]]:
        """Weights and certainties, as JSON."""
        return [self.weights.tolist(), self._sure.tolist()]

    def restore(self, state: Sequence[Any]) -> None:
        """Take a state over. Raises TypeError or ValueError if it is damaged or another model's."""
        weights, sure = (np.array(part, np.float64) for part in state)
        if weights.shape != self._prior.shape or sure.shape != weights.shape:
            raise ValueError("another model's weights")
        if not (
            np.isfinite(weights).all()
            and np.isfinite(sure).all()
            and (sure >= SURE - 1e-3).all()
            and (sure < 1e12).all()
        ):
            raise ValueError("no weights")
        if (np.abs(weights - self._prior) > REACH + 1e-3).any():
            raise ValueError("farther than a weight may go")
        self.weights, self._sure = weights, sure


class Bar:
    """The least probability worth acting upon: half of F, the harmonic mean of precision and coverage of late.

    Acting on all that is at least F/2 likely is what makes F as large as it can be (Lipton, Elkan and Naryanaswamy
    2014). It falls silent where nothing it says comes true and speaks again when something would have.
    """

    #: What a turn leaves of the sums.
    FADE = 0.99
    #: Used, issued and wanted before anything is known: about what dialogues bring, so that it does not begin by
    #: proposing whatever there is.
    BEFORE = (4.0, 20.0, 25.0)

    def __init__(self) -> None:
        self._sums = list(self.BEFORE)

    @property
    def height(self) -> float:
        """F/2 of late."""
        used, issued, wanted = self._sums
        return used / (issued + wanted) if issued + wanted > 0 else 0.0

    def learn(self, used: int, issued: int, wanted: int) -> None:
        """What became of one turn's proposals."""
        pairs = zip(self._sums, (used, issued, wanted), strict=True)
        self._sums = [round(old * self.FADE + new, 4) for old, new in pairs]

    def state(self) -> list[float]:
        """The sums, as JSON."""
        return list(self._sums)

    def restore(self, state: Sequence[Any]) -> None:
        """Take a state over. Raises TypeError or ValueError if it is damaged."""
        sums = [float(x) for x in state]
        if len(sums) != 3 or not all(0 <= x <= 1e6 for x in sums):
            raise ValueError("no sums")
        self._sums = sums
