"""What is made ready before it is asked for: how much of it the next turn uses, beside simple rules, with controls.

    python benchmarks/prefetch_accuracy.py PATH/locomo10.json PATH/obsidian-hub.tar.xz [--trace FOLDER]

Dialogues: every turn from the 30th is asked; what it needs are the first ten hits among all that was said before. After
each, a rule names what to make ready. **precision@1** is the share of it that the very next turn needs, **@3** that one
of the next three needs; **coverage** is the share of what the next turn needs that was named. Whatever is ready anyhow
counts for no rule: the last 120 memories needed, the same for all. In "as stored" what was just said is ready too,
since an engine has just written it: that takes the easiest hit from every rule.

Rules name ten; `as many` is the same rule held to the number Atlas named at that turn. "Atlas, ten" is without its bar.
The control ranks by cosine alone, once in the order in which things were said and once shuffled within each dialogue.

Walks: readers with habits, see `_walks.py`; what a turn needs is the one note opened. Ready are the last 12 notes, as
many turns of need as 120 are in the dialogues, and in another row the last 120. The control is the walk shuffled.

All numbers of `atlas/prefetch.py` were chosen on dialogues 1 to 5 and readers 11 to 15; readers 21 to 30 are measured.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import _common
import _trace
import _walks
import numpy as np

from atlas.clues import NAMES
from atlas.prefetch import LIMIT, WEIGHTS, Prefetcher, Turn

READY, READY_WALKING = 120, 12
NEEDED, SOON = 10, 3
CHOSEN, MEASURED = range(11, 16), range(21, 31)

Vectors = np.ndarray[Any, np.dtype[np.float32]]
Rows = np.ndarray[Any, np.dtype[np.float64]]
#: Which notes are linked to which, as looked up.
Look = Callable[[str], Sequence[str]]


@dataclass(frozen=True)
class Step:
    """One answered turn as a rule may see it. `before`: what came so far, oldest first; `exists`: what may be named."""

    turn: Turn
    before: Sequence[str]
    exists: Container[str]
    vectors: Vectors | None = None
    around: Look = lambda _: ()
    links: Look = lambda _: ()

    def nearest(self, vector: Vectors, k: int) -> list[tuple[str, float]]:
        """By cosine, among what was said before."""
        assert self.vectors is not None
        score = self.vectors[: len(self.before)] @ vector
        return [(self.before[n], float(score[n])) for n in np.argsort(-score, kind="stable")[:k]]

    def known(self, id: str) -> bool:
        """Whether it is there already."""
        return id in self.exists

    def neighbours(self, id: str) -> Sequence[str]:
        """The turns said next to it."""
        return self.around(id)

    def linked(self, id: str) -> Sequence[str]:
        """The notes it links to, and those that link to it."""
        return self.links(id)

    def clusters(self, id: str) -> Sequence[str]:
        """None: neither kind of trace has any."""
        del id
        return ()

    members = clusters


#: A rule: the step just answered, what is ready anyhow → what to make ready, best first, as much as it likes.
Rule = Callable[[Step, Container[str]], Iterable[str]]


@dataclass(frozen=True)
class Seen:
    """What a rule named after one turn, in order, and what each of the next turns needs that is not ready anyhow."""

    named: Sequence[str]
    following: Sequence[set[str]]


@dataclass
class Run:
    """One trace under all rules: by rule, every turn; and the candidates of Atlas with what became of them."""

    seen: dict[str, list[Seen]] = field(default_factory=lambda: defaultdict(list))
    rows: list[Rows] = field(default_factory=list)
    came: list[np.ndarray[Any, np.dtype[np.bool_]]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


# ------------------------------------------------------------------------- traces


def as_ranked(said: _trace.Dialogue) -> list[Step]:
    """A dialogue as the engine ranked it."""
    return _lived([turn.found for turn in said.turns], said.vectors)


def by_cosine(said: _trace.Dialogue, *, shuffled: bool) -> list[Step]:
    """The same ranked by cosine alone, in the order in which it was said or in none."""
    order = np.arange(len(said.turns))
    vectors = said.vectors[np.random.default_rng(1).permutation(order) if shuffled else order]
    found = [np.argsort(-(vectors[:n] @ vectors[n]), kind="stable")[: _trace.DEPTH].tolist() for n in order]
    return _lived(found, vectors)


def _lived(found: Sequence[Sequence[int]], vectors: Vectors) -> list[Step]:
    ids = [str(n) for n in range(len(found))]

    def around(id: str) -> list[str]:
        here = int(id)
        return [ids[n] for n in (here + 1, here - 1, here + 2, here - 2) if 0 <= n < len(ids)]

    steps = []
    for n in range(_trace.FIRST, len(found)):
        hits = [ids[place] for place in found[n]]
        said = ids[n : n + 1] if steps else ids[: n + 1]
        turn = Turn(tuple(hits[:NEEDED]), tuple(hits[NEEDED:]), said=tuple(said), vector=vectors[n])
        steps.append(Step(turn, ids[: n + 1], set(ids[: n + 1]), vectors, around))
    return steps


def walked(graph: _walks.Links, seed: int, *, shuffled: bool) -> list[Step]:
    """A reader's walk, or its notes in no order."""
    opened = _walks.walk(graph, seed)
    if shuffled:
        random.Random(seed).shuffle(opened)
    back = defaultdict(list)
    for path, there in graph.items():
        for other in there:
            back[other].append(path)

    def links(path: str) -> tuple[str, ...]:
        return (*graph[path], *back.get(path, ()))

    return [Step(Turn((path,)), opened[: n + 1], graph, links=links) for n, path in enumerate(opened)]


# -------------------------------------------------------------------------- rules


def simple() -> dict[str, Rule]:
    """The rules a few lines can state, each with a memory of its own."""
    needed = Counter[str]()

    def popular(step: Step, _: Container[str]) -> Iterable[str]:
        needed.update(step.turn.needed)
        return (id for id, _ in needed.most_common())

    return {
        "random": _anything(random.Random(1)),
        "neighbours": lambda step, _: _in_turn([step.neighbours(id) for id in step.turn.needed]),
        "most recent": lambda step, _: reversed(step.before),
        "next most similar": lambda step, _: step.turn.ranked,
        "most popular": popular,
    }


def walking() -> dict[str, Rule]:
    """The rules for walks; among them Markov's first-order chain as it stands in a textbook."""
    chance, followed = random.Random(1), defaultdict[str, Counter[str]](Counter)
    last = [""]

    def frequent(step: Step, _: Container[str]) -> Iterable[str]:
        here = step.turn.needed[0]
        followed[last[0]][here] += 1
        last[0] = here
        return [id for id, _ in followed[here].most_common()]

    rules = simple()
    kept = {name: rules[name] for name in ("random", "most recent", "most popular")}
    return kept | {
        "any link": lambda step, _: chance.sample(
            step.linked(step.turn.needed[0]), len(step.linked(step.turn.needed[0]))
        ),
        "first link": lambda step, _: step.linked(step.turn.needed[0]),
        "most frequent follower": frequent,
    }


def _anything(chance: random.Random) -> Rule:
    """Whatever came so far, each as likely."""
    seen: dict[str, None] = {}
    pool: list[str] = []

    def rule(step: Step, _: Container[str]) -> Iterator[str]:
        new = [id for id in step.before[-1:] if id not in seen] if pool else list(dict.fromkeys(step.before))
        seen.update(dict.fromkeys(new))
        pool.extend(new)
        return (chance.choice(pool) for _ in range(50 * LIMIT))

    return rule


def _in_turn(lists: Sequence[Sequence[str]]) -> Iterator[str]:
    """The first of each, then the second of each."""
    for place in range(max(map(len, lists), default=0)):
        yield from (one[place] for one in lists if place < len(one))


# ------------------------------------------------------------------------ counting


def run(steps: Sequence[Step], rules: Mapping[str, Rule], ready: int, *, stored: bool = False) -> Run:
    """Live through a trace with all rules side by side. `stored`: what was just said is ready."""
    done, lru = Run(), OrderedDict[str, None]()
    ten, barred = Prefetcher(gated=False), Prefetcher()
    for n, step in enumerate(steps[:-1]):
        missed = tuple(id for id in step.turn.needed if id not in lru)
        for id in (*reversed(step.turn.needed), *(step.turn.said[-1:] if stored else ())):
            lru[id] = None
            lru.move_to_end(id)
        while len(lru) > ready:
            lru.popitem(last=False)
        following = [set(s.turn.needed) - lru.keys() for s in steps[n + 1 : n + 1 + SOON]]
        turn = replace(step.turn, missed=missed)
        nearest = None if step.vectors is None else step.nearest
        began = time.perf_counter()
        gated = barred.after(turn, lru, step, nearest)
        done.seconds.append(time.perf_counter() - began)
        done.seen["Atlas"].append(Seen([p.id for p in gated], following))
        done.seen["Atlas, ten"].append(Seen([p.id for p in ten.after(turn, lru, step, nearest)], following))
        done.rows.append(np.array(list(ten._pool.values())).reshape(-1, len(NAMES)))  # noqa: SLF001
        done.came.append(np.array([id in following[0] for id in ten._pool], bool))  # noqa: SLF001
        for name, rule in rules.items():
            done.seen[name].append(Seen(_cold(rule(step, lru), step, lru), following))
    return done


def _cold(ids: Iterable[str], step: Step, ready: Container[str]) -> list[str]:
    """The first ten that are there and not ready."""
    found: dict[str, None] = {}
    for id in ids:
        if id not in ready and step.known(id):
            found[id] = None
            if len(found) == LIMIT:
                break
    return list(found)


def table(runs: Sequence[Run]) -> dict[str, dict[str, float]]:
    """Every rule over these traces."""
    names = list(runs[0].seen)
    rows = {name: row([r.seen[name] for r in runs]) for name in names}
    for name in names:
        if not name.startswith("Atlas"):
            held = [
                [Seen(s.named[: len(a.named)], s.following) for s, a in zip(r.seen[name], r.seen["Atlas"], strict=True)]
                for r in runs
            ]
            rows[f"{name}, as many"] = row(held)
    return rows


def row(traces: Sequence[Sequence[Seen]]) -> dict[str, float]:
    """Shares over all turns of all traces; the error is of precision@1 over the traces."""
    turns = [seen for trace in traces for seen in trace]
    each = [p for trace in traces if (p := _precision(trace)) is not None]
    wanted = sum(len(seen.following[0]) for seen in turns)
    used = sum(len(seen.following[0].intersection(seen.named)) for seen in turns)
    soon = sum(len(set().union(*seen.following).intersection(seen.named)) for seen in turns)
    issued = sum(len(seen.named) for seen in turns)
    return {
        "precision@1": round(used / issued, 4) if issued else 0.0,
        "error": round(statistics.stdev(each) / len(each) ** 0.5, 4) if len(each) > 1 else 0.0,
        "precision@3": round(soon / issued, 4) if issued else 0.0,
        "coverage": round(used / wanted, 4) if wanted else 0.0,
        "named a turn": round(issued / len(turns), 2),
        "wanted a turn": round(wanted / len(turns), 2),
    }


def _precision(trace: Sequence[Seen]) -> float | None:
    issued = sum(len(seen.named) for seen in trace)
    return sum(len(seen.following[0].intersection(seen.named)) for seen in trace) / issued if issued else None


def fitted(runs: Sequence[Run]) -> dict[str, float]:
    """Logistic regression of "the next turn needs it" on all candidates, by Newton's method."""
    rows, came = np.concatenate([x for r in runs for x in r.rows]), np.concatenate([y for r in runs for y in r.came])
    heard = np.flatnonzero(rows.any(axis=0))
    used, found = rows[:, heard], np.zeros(len(heard))
    for _ in range(20):
        said = 1 / (1 + np.exp(-used @ found))
        slope = used.T @ (said - came) + found
        curve = (used * (said * (1 - said))[:, None]).T @ used + np.eye(len(heard))
        found -= np.linalg.solve(curve, slope)
    return {NAMES[place]: round(float(value), 2) for place, value in zip(heard, found, strict=True)}


# ---------------------------------------------------------------------------- main


def main(locomo: Path, vault: Path, kept: Path | None) -> None:
    """Run everything and keep the figures."""
    figures: dict[str, Any] = {"weights": WEIGHTS}
    said = _trace.read(locomo, kept)
    for label, stored in (("dialogues", False), ("dialogues, as stored", True)):
        runs = [run(as_ranked(one), simple(), READY, stored=stored) for one in said]
        figures[label] = {"1-5": table(runs[:5]), "6-10": table(runs[5:]), "all": table(runs)}
        figures[f"{label}, fitted on 1-5"] = fitted(runs[:5])
        figures[f"{label}, milliseconds a turn"] = _milliseconds(runs)
    for label, shuffled in (("control, by cosine", False), ("control, by cosine, shuffled", True)):
        figures[label] = table([run(by_cosine(one, shuffled=shuffled), simple(), READY) for one in said])
    with TemporaryDirectory() as folder:
        graph = _walks.links(_common.unpack(vault, Path(folder)))
    figures["links"] = {"notes": len(graph), "links": sum(map(len, graph.values()))}
    for ready in (READY_WALKING, READY):
        chosen = [run(walked(graph, seed, shuffled=False), walking(), ready) for seed in CHOSEN]
        figures[f"walks, {ready} ready, readers of choice"] = table(chosen)
        figures[f"walks, {ready} ready, fitted on readers of choice"] = fitted(chosen)
        runs = [run(walked(graph, seed, shuffled=False), walking(), ready) for seed in MEASURED]
        figures[f"walks, {ready} ready"] = table(runs)
    shuffled_runs = [run(walked(graph, seed, shuffled=True), walking(), READY_WALKING) for seed in MEASURED]
    figures[f"control, walks, {READY_WALKING} ready, shuffled"] = table(shuffled_runs)
    facts = {file.name: _common.sha256(file) for file in (locomo, vault)}
    _common.keep("prefetch_accuracy", figures, data=locomo.name, sha256=_common.sha256(locomo), files=facts)


def _milliseconds(runs: Sequence[Run]) -> dict[str, float]:
    seconds = sorted(s for r in runs for s in r.seconds)
    return {name: round(1000 * seconds[int(share * len(seconds))], 2) for name, share in (("p50", 0.5), ("p95", 0.95))}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("vault", type=Path)
    parser.add_argument(
        "--trace", type=Path, help="a folder for the trace of the dialogues, which takes a quarter of an hour"
    )
    asked = parser.parse_args()
    main(asked.locomo, asked.vault, asked.trace)
