"""Recall of evidence on LoCoMo through the real engine: each session one memory, as a note of a whole meeting would be.

    python benchmarks/sessions.py PATH/locomo10.json [--embedding local --model FOLDER]

A session is stored as one text: its date, then each turn on a line with its speaker. A question is one search in the
scope of its dialogue; recall@k is the share of its evidence sessions among the first k hits.
"""

from __future__ import annotations

import json
from pathlib import Path

from _recall import DataSet, Question, run
from locomo import GROUPS, HALVES, asked, sessions

from atlas.ingest import Request


def whole(path: Path) -> DataSet:
    """Each session a text; its key is dialogue and session."""
    texts: dict[str, Request] = {}
    questions: list[Question] = []
    for number, dialogue in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        name = dialogue["sample_id"]
        holds: dict[str, str] = {}
        for label, when, written, said in sessions(dialogue):
            key = f"{name} {label}"
            text = "\n".join([f"{written}\n", *(f"{turn['speaker']}: {turn['text']}" for turn in said)])
            texts[key] = Request(
                text, kind="episode", scope=name, source=f"{name}/{label}", created=when.isoformat(), whole=True
            )
            holds |= {turn["dia_id"]: key for turn in said}
        questions += asked(dialogue, holds, number)
    return DataSet(texts, questions)


if __name__ == "__main__":
    run("sessions", __doc__, whole, GROUPS, halves=HALVES)
