"""A trace of real dialogues: at every turn, what a search with its words finds in all that was said before it.

Each dialogue of LoCoMo is lived through in a vault of its own: a turn is asked first and stored then, so nothing of the
future is ever found. Asking and storing 5,882 turns takes a quarter of an hour; `read` keeps what it saw in a file.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import _common
import numpy as np
from locomo import _turns, sessions

from atlas import MemoryEngine

#: Turns are asked from this one on: before it there is nothing to choose from.
FIRST = 30
#: So many of the best are kept of each answer.
DEPTH = 300


@dataclass(frozen=True)
class Turn:
    """One turn: its words, its session, the memory it became, and the numbers of the turns found, best first.

    Turns are numbered from 0 within their dialogue; `found` and `scores` are empty before turn `FIRST`.
    """

    text: str
    session: str
    id: str
    found: tuple[int, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True)
class Dialogue:
    """One dialogue as it was lived through; `vectors` is float32[turns, dim]: each turn as a query, of length 1."""

    name: str
    turns: tuple[Turn, ...]
    vectors: np.ndarray[Any, np.dtype[np.float32]]


def read(data: Path, kept: Path | None = None) -> list[Dialogue]:
    """The dialogues of a LoCoMo file; what an earlier run kept in the folder is not lived through again."""
    dialogues = json.loads(data.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(2) as pool:
        place = kept or Path(folder)
        place.mkdir(exist_ok=True)
        return list(pool.map(_read, dialogues, [place] * len(dialogues)))


def _read(dialogue: Mapping[str, Any], kept: Path) -> Dialogue:
    name = dialogue["sample_id"]
    words, numbers = kept / f"{name}.json", kept / f"{name}.npy"
    if not numbers.exists():
        turns, vectors = _lived(dialogue)
        words.write_text(json.dumps([asdict(turn) for turn in turns], ensure_ascii=False), encoding="utf-8")
        np.save(numbers, vectors)
    loaded = json.loads(words.read_text(encoding="utf-8"))
    turns = tuple(Turn(**{**t, "found": tuple(t["found"]), "scores": tuple(t["scores"])}) for t in loaded)
    return Dialogue(name, turns, np.load(numbers))


def _lived(dialogue: Mapping[str, Any]) -> tuple[list[Turn], np.ndarray[Any, np.dtype[np.float32]]]:
    """Ask and store every turn, one after the other, without commits: they would take most of the time."""
    turns: list[Turn] = []
    vectors = []
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        with MemoryEngine(vault):
            _common.identify(vault)
        (vault / "atlas.toml").write_text("[git]\ncommit = false\n", encoding="utf-8")
        with MemoryEngine(vault) as engine:
            place: dict[str, int] = {}
            for turn, session, request in said(dialogue):
                hits = engine.retrieve(turn, k=DEPTH, abstain=False) if len(turns) >= FIRST else []
                (stored,) = engine.ingest_many([request]).per_text
                found = [(place[hit.id], hit.score) for hit in hits]
                place.setdefault(stored, len(turns))
                vectors.append(engine._index.query_vector(turn))  # noqa: SLF001
                turns.append(Turn(turn, session, stored, tuple(n for n, _ in found), tuple(s for _, s in found)))
    return turns, np.array(vectors, np.float32)


def said(dialogue: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Each turn: what is asked with it, its session, and how it is stored."""
    for session in sessions(dialogue):
        for (_, request), turn in zip(_turns(dialogue["sample_id"], session), session[3], strict=True):
            yield f"{turn['speaker']}: {turn['text']}", session[0], request
