"""Scoring and choosing in one step, as a search without other voices does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from atlas.bm25 import Field, Postings
from atlas.rank import DEFAULT, Ranking, Weights, best, score


def rank(
    chunks: Field,
    postings: Postings,
    n_terms: int,
    cosine: np.ndarray | None = None,
    *,
    worth: Sequence[float] | None = None,
    weights: Weights = DEFAULT,
    k: int = 10,
) -> Ranking:
    """The `k` best notes by words and vectors."""
    return best(score(chunks, postings, n_terms, cosine, worth=worth, weights=weights), weights=weights, k=k)
