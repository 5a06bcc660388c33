"""Recall of evidence on BEAM 100K through the real engine: each message a memory, each question within its own chat.

    python benchmarks/beam.py PATH/beam-100k.tar.xz

A message is stored whole, as any text would be; its batch is its source, so messages of a batch are neighbours. The
values in it that look like credentials are blotted out first, since the engine refuses to store them. A question is one
search in the scope of its chat; the 46 questions that name no source message are left out.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import _common
from _recall import Question, Tally, engine_answer

from atlas import MemoryEngine
from atlas.credentials import masked
from atlas.ingest import Request

#: The data says only which day a batch begins, in words of several forms: order is all that is kept.
_START = datetime(2024, 1, 1, tzinfo=UTC)
_FIRST_HALF = 10


def main(path: Path) -> None:
    """Store the chats, ask the questions, print recall."""
    with tempfile.TemporaryDirectory() as folder, MemoryEngine(Path(folder) / "vault") as engine:
        _common.identify(Path(folder) / "vault")
        chats = _common.unpack(path, Path(folder) / "data")
        began = time.perf_counter()
        asked = list(stored(engine, chats))
        ingesting = time.perf_counter() - began
        tally = Tally(asked, engine_answer(engine))
        messages = engine.stats()["memories"]
    figures: dict[str, Any] = {"all": tally.row()}
    figures |= {f"half {half}": tally.row(half=half) for half in "AB"}
    figures |= {kind: tally.row(categories=[kind]) for kind in sorted({q.category for q in asked})}
    figures["ingest"] = {"turns": messages, "seconds": round(ingesting, 1)}
    figures["search seconds"] = _common.spread(tally.seconds)
    _common.keep("beam", figures, data=path.name, sha256=_common.sha256(path))


def stored(engine: MemoryEngine, chats: Path) -> Iterator[Question]:
    """Ingest every chat; its questions. Half A is chats 1 to 10, half B the others."""
    for folder in sorted((p for p in chats.rglob("chat.json")), key=lambda p: int(p.parent.name)):
        name = folder.parent.name
        numbers, wanted = zip(*requests(f"chat-{name}", json.loads(folder.read_text(encoding="utf-8"))), strict=True)
        ids = dict(zip(numbers, engine.ingest_many(wanted).per_text, strict=True))
        half = "A" if int(name) <= _FIRST_HALF else "B"
        kinds = json.loads((folder.parent / "questions.json").read_text(encoding="utf-8"))
        for kind, questions in kinds.items():
            for question in questions:
                gold = frozenset(ids[n] for n in flat(question.get("source_chat_ids")) if n in ids)
                if gold:
                    yield Question(question["question"], f"chat-{name}", gold, kind, half)


def requests(name: str, chat: list[dict[str, Any]]) -> Iterator[tuple[int, Request]]:
    """Each message of a chat: its number, and how it is stored. What follows `->->` is the data's own numbering."""
    for batch, part in enumerate(chat):
        for turn in part["turns"]:
            for message in turn:
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
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
