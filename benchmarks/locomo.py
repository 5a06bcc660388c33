"""Recall of evidence on LoCoMo through the real engine: each turn a memory, each question within its own dialogue.

    python benchmarks/locomo.py PATH/locomo10.json

Every turn is ingested as any text would be (label, summary, entities, clusters, commits), with speaker and date in
the text; its session is its source, so turns of a session are neighbours. A question is one search in the scope of its
dialogue; recall@k is the share of its evidence turns among the first k hits, averaged over questions.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import _common

from atlas import MemoryEngine
from atlas.ingest import Request

KS = (5, 10)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


def sessions(dialogue: dict[str, Any]) -> Iterator[tuple[str, datetime, str, list[dict[str, str]]]]:
    """Each session of a dialogue: name, time, time as written, turns."""
    talk = dialogue["conversation"]
    for number in sorted(int(m[1]) for key in talk if (m := re.fullmatch(r"session_(\d+)", key))):
        written = talk[f"session_{number}_date_time"]
        when = datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        yield f"session_{number}", when, written, talk[f"session_{number}"]


def requests(dialogue: dict[str, Any]) -> Iterator[tuple[str, Request]]:
    """Each turn of a dialogue: its id, and how it is stored."""
    name = dialogue["sample_id"]
    for session, when, written, turns in sessions(dialogue):
        for place, turn in enumerate(turns):
            text = f"{turn['speaker']} ({written}): {turn['text']}"
            created = when + timedelta(seconds=place)
            source = f"{name}/{session}#{turn['dia_id']}"
            yield turn["dia_id"], Request(text, kind="episode", scope=name, source=source, created=created.isoformat())


def evidence(question: dict[str, Any], ids: dict[str, str]) -> set[str]:
    """The memories that hold a question's evidence; some golds name turns that do not exist."""
    named = (f"D{int(a)}:{int(b)}" for e in question.get("evidence", []) for a, b in re.findall(r"D:?(\d+):(\d+)", e))
    return {ids[turn] for turn in named if turn in ids}


def main(path: Path) -> None:
    """Store the dialogues, ask the questions, print recall."""
    dialogues = json.loads(path.read_text(encoding="utf-8"))
    hits: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    with tempfile.TemporaryDirectory() as folder, MemoryEngine(Path(folder) / "vault") as engine:
        _common.git(Path(folder) / "vault", "config", "user.email", "bench@example.test")
        _common.git(Path(folder) / "vault", "config", "user.name", "bench")
        began = time.perf_counter()
        stored = {d["sample_id"]: store(engine, d) for d in dialogues}
        ingesting = time.perf_counter() - began
        latencies = []
        for dialogue in dialogues:
            for question in dialogue["qa"]:
                gold = evidence(question, stored[dialogue["sample_id"]])
                if not gold:
                    continue
                began = time.perf_counter()
                found = [h.id for h in engine.retrieve(question["question"], k=max(KS), scope=dialogue["sample_id"])]
                latencies.append(time.perf_counter() - began)
                for k in KS:
                    hits[question["category"]][k].append(len(gold & set(found[:k])) / len(gold))
    figures = {"categories 1-4": row([q for c in (1, 2, 3, 4) for q in [hits[c]]])}
    figures |= {f"{c} {name}": row([hits[c]]) for c, name in CATEGORIES.items()}
    figures["ingest"] = {"turns": sum(map(len, stored.values())), "seconds": round(ingesting, 1)}
    figures["search seconds"] = _common.spread(latencies)
    _common.keep("locomo", figures, data=path.name, sha256=_common.sha256(path))


def store(engine: MemoryEngine, dialogue: dict[str, Any]) -> dict[str, str]:
    """Ingest one dialogue; turn id → memory id (a repeated turn has the memory of its first telling)."""
    turns, wanted = zip(*requests(dialogue), strict=True)
    done = engine.ingest_many(wanted)
    return dict(zip(turns, done.per_text, strict=True))


def row(groups: list[dict[int, list[float]]]) -> dict[str, float]:
    """Mean recall at each k, and how many questions stand behind it."""
    values = {k: [v for group in groups for v in group[k]] for k in KS}
    means = {f"recall@{k}": round(sum(v) / max(len(v), 1), 4) for k, v in values.items()}
    return {**means, "questions": len(values[KS[0]])}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
