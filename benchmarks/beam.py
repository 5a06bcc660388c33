"""Recall of evidence on BEAM 100K through the real engine: each message a memory, each question within its own chat.

    python benchmarks/beam.py PATH/beam-100k.tar.xz [--embedding local --model FOLDER]

A message is stored whole, as any text would be; its batch is its source, so messages of a batch are neighbours. The
values in it that look like credentials are blotted out first, since the engine refuses to store them. A question is one
search in the scope of its chat; the 46 questions that name no source message are left out.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import _common
from _recall import DataSet, Group, Question, run

from atlas.credentials import masked
from atlas.ingest import Request

KINDS = (
    "contradiction_resolution",
    "event_ordering",
    "information_extraction",
    "instruction_following",
    "knowledge_update",
    "multi_session_reasoning",
    "preference_following",
    "summarization",
    "temporal_reasoning",
)
GROUPS = (
    Group("all"),
    Group("half A", half="A"),
    Group("half B", half="B"),
    *(Group(kind.replace("_", " "), frozenset({kind})) for kind in KINDS),
)
HALVES = "A: chats 1 to 10, where weights were last chosen, B: chats 11 to 20, looked at while features were chosen"
#: The data says only which day a batch begins, in words of several forms: order is all that is kept.
_START = datetime(2024, 1, 1, tzinfo=UTC)
_FIRST_HALF = 10


def messages(path: Path) -> DataSet:
    """Each message a text; its key is chat and number."""
    texts: dict[str, Request] = {}
    questions: list[Question] = []
    with tempfile.TemporaryDirectory() as folder:
        chats = _common.unpack(path, Path(folder))
        for file in sorted(chats.rglob("chat.json"), key=lambda p: int(p.parent.name)):
            name = file.parent.name
            chat = json.loads(file.read_text(encoding="utf-8"))
            stored = {f"{name} {number}": request for number, request in _messages(f"chat-{name}", chat)}
            texts |= stored
            kinds = json.loads((file.parent / "questions.json").read_text(encoding="utf-8"))
            questions += _asked(name, kinds, stored.keys())
    return DataSet(texts, questions)


def _asked(name: str, kinds: dict[str, Any], stored: Any) -> Iterator[Question]:
    """The questions of a chat that name a message there is."""
    half = "A" if int(name) <= _FIRST_HALF else "B"
    for kind, questions in kinds.items():
        for question in questions:
            gold = {f"{name} {number}" for number in flat(question.get("source_chat_ids"))} & stored
            if gold:
                yield Question(question["question"], f"chat-{name}", frozenset(gold), kind, half)


def _messages(name: str, chat: list[dict[str, Any]]) -> Iterator[tuple[int, Request]]:
    """Each message of a chat: its number, and how it is stored. What follows `->->` is the data's own numbering."""
    for batch, part in enumerate(chat):
        for message in (message for turn in part["turns"] for message in turn):
            text = masked(message["content"].split("->->")[0].strip())[0]
            created = (_START + timedelta(days=batch, seconds=message["id"])).isoformat()
            source = f"{name}/batch-{batch}#{message['id']}"
            yield (
                message["id"],
                Request(text or "-", kind="episode", scope=name, source=source, created=created, whole=True),
            )


def flat(value: Any) -> list[int]:
    """The message numbers in a list, or in a dict of lists."""
    if isinstance(value, dict):
        return [n for part in value.values() for n in flat(part)]
    if isinstance(value, list):
        return [n for part in value for n in flat(part)]
    return [] if value is None else [value]


if __name__ == "__main__":
    run("beam", __doc__, messages, GROUPS, halves=HALVES)
