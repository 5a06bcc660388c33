"""Recall of evidence on LoCoMo through the real engine: each turn a memory, each question within its own dialogue.

    python benchmarks/locomo.py PATH/locomo10.json [--embedding local --model FOLDER]

Every turn is ingested as any text would be (label, summary, entities, clusters, commits), with speaker and date in
the text; its session is its source, so turns of a session are neighbours. A question is one search in the scope of its
dialogue; recall@k is the share of its evidence turns among the first k hits, averaged over questions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from _recall import DataSet, Group, Question, run

from atlas.ingest import Request

CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop", "5": "adversarial"}
_ANSWERABLE = frozenset("1234")
GROUPS = (
    Group("categories 1-4", _ANSWERABLE),
    Group("half A", _ANSWERABLE, "A"),
    Group("half B", _ANSWERABLE, "B"),
    *(Group(f"{number} {name}", frozenset(number)) for number, name in CATEGORIES.items()),
)
HALVES = (
    "A: dialogues 1 to 5, where weights were last chosen, B: dialogues 6 to 10, looked at while features were chosen"
)
_FIRST_HALF = 5

#: (name, time, time as written, turns) of a session.
Session = tuple[str, datetime, str, list[dict[str, str]]]


def sessions(dialogue: Mapping[str, Any]) -> Iterator[Session]:
    """Each session of a dialogue, in order."""
    talk = dialogue["conversation"]
    for number in sorted(int(m[1]) for key in talk if (m := re.fullmatch(r"session_(\d+)", key))):
        written = talk[f"session_{number}_date_time"]
        when = datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        yield f"session_{number}", when, written, talk[f"session_{number}"]


def turns(path: Path) -> DataSet:
    """Each turn a text; its key is dialogue and turn."""
    texts: dict[str, Request] = {}
    questions: list[Question] = []
    for number, dialogue in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        name = dialogue["sample_id"]
        holds: dict[str, str] = {}
        for session in sessions(dialogue):
            for turn, request in _turns(name, session):
                holds[turn] = f"{name} {turn}"
                texts[holds[turn]] = request
        questions += asked(dialogue, holds, number)
    return DataSet(texts, questions)


def _turns(name: str, session: Session) -> Iterator[tuple[str, Request]]:
    """Each turn of a session: its id, and how it is stored."""
    label, when, written, said = session
    for place, turn in enumerate(said):
        text = f"{turn['speaker']} ({written}): {turn['text']}"
        created = (when + timedelta(seconds=place)).isoformat()
        source = f"{name}/{label}#{turn['dia_id']}"
        yield turn["dia_id"], Request(text, kind="episode", scope=name, source=source, created=created)


def asked(dialogue: Mapping[str, Any], holds: Mapping[str, str], number: int) -> Iterator[Question]:
    """The questions of the dialogue of this number, from 0, that have evidence; turn id → key of the text it is in.

    Some golds name turns that do not exist.
    """
    for question in dialogue["qa"]:
        said = re.findall(r"D:?(\d+):(\d+)", " ".join(question.get("evidence", [])))
        gold = frozenset(holds[turn] for a, b in said if (turn := f"D{int(a)}:{int(b)}") in holds)
        if gold:
            half = "A" if number < _FIRST_HALF else "B"
            yield Question(question["question"], dialogue["sample_id"], gold, str(question["category"]), half)


if __name__ == "__main__":
    run("locomo", __doc__, turns, GROUPS, halves=HALVES)
