"""The reranker: a cross-encoder in a folder of this machine, which reads question and passage together.

It is asked only where the settings name one, and only about the first hits: it takes milliseconds for each passage,
where a vector takes one product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from atlas.errors import Unavailable
from atlas.memory import Hit
from atlas.models.local import _sentence_transformers

#: Passages that go through the model together.
_BATCH = 16


def reranked(folder: Path, query: str, hits: Sequence[Hit]) -> list[Hit]:
    """The hits in the order of the model in `folder`, its rank and score in their `why`; raises Unavailable.

    Equal scores stay in the order given. The hits keep their own scores, which say how they were found.
    """
    scores = scored(folder, query, [hit.text for hit in hits])
    order = np.argsort(-scores, kind="stable")
    return [_said(hits[place], rank, float(scores[place])) for rank, place in enumerate(order.tolist(), 1)]


def scored(folder: Path, query: str, passages: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """What the model gives each passage for the question, float32[n], more is better; raises Unavailable."""
    model = _loaded(folder)
    pairs = [(query, passage) for passage in passages]
    found = np.asarray(model.predict(pairs, batch_size=_BATCH, show_progress_bar=False), dtype=np.float32)
    if found.shape != (len(passages),) or not np.isfinite(found).all():
        raise Unavailable(f"The model in {folder} gives no single score: `search.reranker` wants a cross-encoder.")
    return found


@cache
def _loaded(folder: Path) -> Any:
    """The model, loaded once a process, from this machine alone."""
    if not (folder / "config.json").is_file():
        raise Unavailable(f"The folder {folder} holds no model: `search.reranker` wants one with a config.json.")
    library = _sentence_transformers(offline=True)
    try:
        return library.CrossEncoder(str(folder), device="cpu", local_files_only=True)
    except (OSError, ValueError, RuntimeError, KeyError, import_module("safetensors").SafetensorError) as err:
        reason = str(err).splitlines()[0] if str(err) else type(err).__name__
        raise Unavailable(f"The model in {folder} cannot be loaded ({reason}): fetch it again.") from None


def _said(hit: Hit, rank: int, score: float) -> Hit:
    return replace(hit, why={**hit.why, "reranker": {"rank": rank, "score": round(score, 4)}})
