"""How much of a view is the beginning of the last one, byte for byte, and what that costs, on LoCoMo.

    python benchmarks/prefix_reuse.py PATH/locomo10.json [--trace FOLDER]

Each dialogue is lived through (`_trace.py`): every turn from the 30th is a query among the turns before it, and gives a
view of 2,000 tokens. *same* is the mean share of a view's tokens that stand in an identical beginning of the last view;
*needed* the share of the first ten hits that the view shows whole. After the last turn each question of categories 1 to
4 is asked out of this running session, each time the very next thing; *evidence* is the share of its evidence turns
whose words stand in the view. All that beside strict order of relevance, as a curve over `hold`, how far down the hits
the items of the beginning may stand. Every number was chosen on dialogues 1 to 5; 6 to 10 are shown apart.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import _common
from _trace import FIRST, Dialogue, read
from _views import FRAME, HITS, TABLE, Asked, Ranked, Shelf, asked, evidence, holds
from locomo import turns

from atlas import frame, order
from atlas.frame import Drawn
from atlas.memory import Lod
from atlas.order import Standing

BUDGET = 2000
NEEDED = 10
HALF = 5
#: None is the order of relevance.
HOLDS = (None, 0.0, 0.8, 0.9, 0.95, 1.0, 1.1)
HALVES = "A: dialogues 1 to 5, where every number was chosen, B: dialogues 6 to 10"


@dataclass(frozen=True)
class Lived:
    """What one dialogue gave with one setting: for each turn, and for each question."""

    same: tuple[float, ...]
    needed: tuple[float, ...]
    evidence: tuple[float, ...]


@dataclass(frozen=True)
class Job:
    """One dialogue: the memory of each turn, by number, and what is asked at its end."""

    dialogue: Dialogue
    ids: tuple[str, ...]
    shelf: Shelf
    questions: tuple[Asked, ...]


def main(path: Path, kept: Path | None) -> None:
    """Live through all dialogues with every setting; keep the curve."""
    data = turns(path)
    dialogues = read(path, kept)
    with asked(data, evidence(path, dated=True)) as (_, shelves, questions):
        pass
    jobs = []
    for dialogue in dialogues:
        shelf = shelves[dialogue.name]
        ids = tuple(shelf.ids[one.text] for one in data.texts.values() if one.scope == dialogue.name)
        assert len(ids) == len(dialogue.turns), "a trace of other data"
        jobs.append(Job(dialogue, ids, shelf, tuple(q for q in questions if q.question.scope == dialogue.name)))
    with ProcessPoolExecutor(2) as pool:
        lived = list(pool.map(_curve, jobs))
    figures = {
        "turns": sum(len(one[0].needed) for one in lived),
        "questions": len(questions),
        "default": _name(order.HOLD),
        "curve": {_name(hold): _figures([one[n] for one in lived]) for n, hold in enumerate(HOLDS)},
    }
    facts = {"data": path.name, "sha256": _common.sha256(path), "halves": HALVES, "budget": BUDGET}
    _common.keep("prefix_reuse", figures, **facts)


def _name(hold: float | None) -> str:
    return "by relevance" if hold is None else f"hold {hold}"


def _curve(job: Job) -> list[Lived]:
    return [live(job, hold) for hold in HOLDS]


def live(job: Job, hold: float | None) -> Lived:
    """One dialogue with one setting."""
    same, needed = [], []
    last = Drawn("", 0)
    for number, turn in enumerate(job.dialogue.turns):
        if number < FIRST:
            continue
        hits = _best(job.ids, turn.found, turn.scores)
        now = view(job.shelf, turn.text, hits, last.standings, hold)
        if last.text:
            same.append(beginning(last.text, now.text) / max(now.tokens, 1))
        whole = {one.candidate.id for one in now.placed if one.level.lod == Lod.L2}
        wanted = {id for id, _ in hits[:NEEDED]}
        needed.append(len(wanted & whole) / max(len(wanted), 1))
        last = now
    found = [
        holds(view(job.shelf, q.question.text, q.hits, last.standings, hold).text, q.evidence) for q in job.questions
    ]
    return Lived(tuple(same), tuple(needed), tuple(found))


def view(shelf: Shelf, text: str, hits: Ranked, previous: Sequence[Standing], hold: float | None) -> Drawn:
    """The view of a turn or a question, in a running session."""
    candidates = shelf.candidates(text, hits, [one.id for one in previous])
    if hold is None:
        return frame.view(FRAME, candidates, BUDGET)
    return frame.view(FRAME, candidates, BUDGET, previous=previous, hold=hold)


def _best(ids: Sequence[str], found: Sequence[int], scores: Sequence[float]) -> Ranked:
    """The memories found, each once: what was said twice is one."""
    best: dict[str, float] = {}
    for number, score in zip(found, scores, strict=True):
        best.setdefault(ids[number], score)
    return list(best.items())[:HITS]


def beginning(one: str, other: str) -> int:
    """Tokens of the lines at the beginning that two texts have in common."""
    shared = []
    for line, same in zip(one.split("\n"), other.split("\n"), strict=False):
        if line != same:
            break
        shared.append(line)
    return TABLE.count("\n".join(shared))


def _figures(lived: Sequence[Lived]) -> dict[str, float]:
    """Means over all dialogues and over each half: of turns, and of questions."""
    halves = {"": lived, " A": lived[:HALF], " B": lived[HALF:]}
    return {
        f"{name}{half}": _mean(value for one in some for value in getattr(one, name))
        for name in ("same", "needed", "evidence")
        for half, some in halves.items()
    }


def _mean(values: Iterable[float]) -> float:
    return round(statistics.mean(values), 4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the data set")
    parser.add_argument("--trace", type=Path, help="keep the trace here; a second run lives through nothing again")
    wanted = parser.parse_args()
    main(wanted.data, wanted.trace)
