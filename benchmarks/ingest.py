"""What `engine.ingest(messages=…)` makes of LoCoMo's conversations, and whether what was said is found again.

    python benchmarks/ingest.py PATH/locomo10.json

Each dialogue is a scope, each of its sessions a conversation, given as messages with their times, in the fast mode: all
at once to `ingest_conversations`, and into another vault one by one to `ingest`; then all of it again, which has to
store nothing. A turn is lost if its words are in no memory that names it. A question
is one search in the scope of its dialogue; recall@k is the share of its evidence turns among the first k hits, averaged
over questions: `named` counts a turn when a hit names it in its `source`, `in words` when the text of the hit, as
stored, has the words of the turn. Beside it, in the same run, each turn as a memory of its own. Intervals are 95 %, by
drawing the questions anew.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import _common
import locomo
from _recall import KS, Question, Tally, engine_answer, stored

from atlas import MemoryEngine, markdown, tokens
from atlas.conversing import Conversation
from atlas.turns import keys

_GROUPS = [group for group in locomo.GROUPS if "adversarial" not in group.name]
_DRAWS = 500


def conversations(file: Path) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """(dialogue, session, messages) in order; a turn's id is the data's own."""
    for dialogue in json.loads(file.read_text(encoding="utf-8")):
        for label, began, _, said in locomo.sessions(dialogue):
            yield (
                dialogue["sample_id"],
                label,
                [
                    {
                        "role": "user",
                        "name": turn["speaker"],
                        "content": turn["text"],
                        "id": turn["dia_id"],
                        "time": (began + timedelta(seconds=place)).isoformat(),
                    }
                    for place, turn in enumerate(said)
                ],
            )


def questions(file: Path) -> list[Question]:
    """The questions that have evidence; their gold are turns."""
    found: list[Question] = []
    for number, dialogue in enumerate(json.loads(file.read_text(encoding="utf-8"))):
        turns = {turn["dia_id"]: turn["dia_id"] for *_, said in locomo.sessions(dialogue) for turn in said}
        found += [q for q in locomo.asked(dialogue, turns, number) if q.category in locomo.CATEGORIES]
    return found


def at_once(engine: MemoryEngine, file: Path) -> int:
    """Give the engine every conversation in one call; how many memories that made."""
    talks = [Conversation(said, f"{scope}/{label}", {"scope": scope}) for scope, label, said in conversations(file)]
    return len(engine.ingest_conversations(talks))


def one_by_one(engine: MemoryEngine, file: Path) -> int:
    """Give the engine every conversation in a call of its own; how many memories that made."""
    return sum(
        len(engine.ingest(messages=said, conversation=f"{scope}/{label}", scope=scope))
        for scope, label, said in conversations(file)
    )


def given(engine: MemoryEngine, file: Path, way: Callable[[MemoryEngine, Path], int]) -> dict[str, Any]:
    """Give the engine every conversation: seconds, of the processor too, memories and commits made."""
    root, before = engine.config.root, _commits(engine.config.root)
    began, used = time.perf_counter(), time.process_time()
    made = way(engine, file)
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "CPU seconds": round(time.process_time() - used, 1),
        "memories": made,
        "commits": _commits(root) - before,
    }


def _commits(root: Path) -> int:
    return int(_common.git(root, "rev-list", "--count", "HEAD"))


class Held:
    """What the vault holds after that: for each memory its text and the turns it names."""

    def __init__(self, engine: MemoryEngine, file: Path) -> None:
        self.kinds: Counter[str] = Counter()
        self.text: dict[str, str] = {}
        self.turns: dict[str, frozenset[str]] = {}
        self._said = {
            (scope, one["id"]): _flat(one["content"]) for scope, _, said in conversations(file) for one in said
        }
        root, counted = engine.config.root, tokens.load("", engine.config.root)
        self.tokens: dict[str, int] = {}
        self.scope: dict[str, str] = {}
        self.sourceless = 0
        for path in sorted(root.rglob("memories/**/*.md")):
            note = markdown.parse(path.read_text(encoding="utf-8"), path.name)
            id, original = str(note.meta["id"]), markdown.original(note)
            named = keys([str(note.meta.get("source") or "")])
            self.sourceless += not named
            self.kinds[str(note.meta["kind"])] += 1
            self.text[id], self.turns[id] = _flat(original), named
            self.tokens[id] = counted.count(original)
            self.scope[id] = path.relative_to(root).parts[0]

    def lost(self) -> int:
        """How many turns have words that are in no memory that names them."""
        by_turn: dict[tuple[str, str], list[str]] = {}
        for id, named in self.turns.items():
            for turn in named:
                by_turn.setdefault((self.scope[id], turn), []).append(self.text[id])
        return sum(not any(words in text for text in by_turn.get(turn, ())) for turn, words in self._said.items())

    def names(self, question: Question, ids: Sequence[str]) -> frozenset[str]:
        """The evidence of a question that these memories name."""
        return question.gold.intersection(*[frozenset().union(*(self.turns[id] for id in ids))])

    def says(self, question: Question, ids: Sequence[str]) -> frozenset[str]:
        """The evidence of a question whose words stand in these memories."""
        texts = [self.text[id] for id in ids]
        return frozenset(turn for turn in question.gold if any(self._said[question.scope, turn] in t for t in texts))

    def hit_tokens(self, ids: Sequence[str]) -> int:
        """The tokens of some memories."""
        return sum(self.tokens[id] for id in ids)


class Recall:
    """Recall of the evidence through memories that hold several turns."""

    def __init__(self, engine: MemoryEngine, held: Held, asked: Sequence[Question]) -> None:
        answer = engine_answer(engine)
        self.seconds: list[float] = []
        self.ids: list[tuple[Question, list[str]]] = []
        for question in asked:
            began = time.perf_counter()
            self.ids.append((question, list(answer(question, max(KS)))))
            self.seconds.append(time.perf_counter() - began)
        self.held = held

    def rows(self, found: Callable[[Question, Sequence[str]], frozenset[str]]) -> dict[str, dict[str, Any]]:
        """Recall at each k, with intervals, for each group of questions."""
        shares = [
            (question, [len(found(question, ids[:k])) / len(question.gold) for k in KS]) for question, ids in self.ids
        ]
        return {group.name: spread_out([share for question, share in shares if question in group]) for group in _GROUPS}

    @property
    def tokens(self) -> float:
        """Mean tokens of the ten hits."""
        return round(sum(self.held.hit_tokens(ids) for _, ids in self.ids) / max(len(self.ids), 1))


def spread_out(shares: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Means at each k, each with its interval."""
    row: dict[str, Any] = {}
    chance = random.Random(7)
    for place, k in enumerate(KS):
        values = [share[place] for share in shares]
        drawn = sorted(sum(chance.choices(values, k=len(values))) / len(values) for _ in range(_DRAWS))
        row[f"recall@{k}"] = round(sum(values) / len(values), 4)
        row[f"recall@{k} 95 %"] = [round(drawn[int(_DRAWS * 0.025)], 4), round(drawn[int(_DRAWS * 0.975)], 4)]
    return {**row, "questions": len(shares)}


def _flat(text: str) -> str:
    return " ".join(text.split())


@contextmanager
def _vault() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "vault"
        with MemoryEngine(place):
            _common.identify(place)
        yield place


def conversed(file: Path, asked: Sequence[Question]) -> dict[str, Any]:
    """All figures of the conversations given as messages."""
    with _vault() as vault, MemoryEngine(vault) as engine:
        apart = given(engine, file, one_by_one)
        apart_again = given(engine, file, at_once)
    with _vault() as vault, MemoryEngine(vault) as engine:
        first = given(engine, file, at_once)
        again = given(engine, file, one_by_one)
        held = Held(engine, file)
        recall = Recall(engine, held, asked)
        config = _common.config(engine)
    episodes = [len(turns) for id, turns in held.turns.items()]
    return {
        "config": config,
        "ingest": {
            **first,
            "kinds": dict(held.kinds.most_common()),
            "tokens": sum(held.tokens.values()),
            "turns per memory": round(sum(episodes) / len(episodes), 2),
            "most turns of a memory": max(episodes),
            "without a source": held.sourceless,
            "lost turns": held.lost(),
        },
        "again": again,
        "one by one": {**apart, "again": apart_again["memories"]},
        "recall named": recall.rows(held.names),
        "recall in words": recall.rows(held.says),
        "tokens of ten hits": recall.tokens,
        "search seconds": _common.spread(recall.seconds),
    }


def turn_by_turn(file: Path) -> dict[str, Any]:
    """The same questions, each turn a memory."""
    data = locomo.turns(file)
    with _vault() as vault:
        by_scope, asked = stored(vault, data)
        with MemoryEngine(vault) as engine:
            engine.refresh()
            counted = tokens.load("", vault)
            text: Mapping[str, str] = {id: t for texts in by_scope.values() for id, t in texts.items()}
            answer = engine_answer(engine)
            ten: list[int] = []

            def noted(question: Question, k: int) -> Sequence[str]:
                ids = list(answer(question, k))
                ten.append(sum(counted.count(text[id]) for id in ids))
                return ids

            tally = Tally(asked, noted)
    rows = {g.name: spread_out([share for q, share in tally.found if q in g]) for g in _GROUPS}
    return {"recall": rows, "tokens of ten hits": round(sum(ten) / len(ten))}


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="locomo10.json")
    parser.add_argument("--quick", action="store_true", help="without the turn-by-turn baseline, and keep no file")
    wanted = parser.parse_args()
    figures = conversed(wanted.data, questions(wanted.data))
    if wanted.quick:
        print(json.dumps(figures, indent=1))
        return
    figures["each turn a memory"] = turn_by_turn(wanted.data)
    config = figures.pop("config")
    facts = {"data": wanted.data.name, "sha256": _common.sha256(wanted.data), "config": config}
    _common.keep("ingest", figures, halves=locomo.HALVES, **facts)


if __name__ == "__main__":
    main()
