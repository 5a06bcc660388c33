"""How long it takes to import and to export a large number of memories: those of mem0, chats, a folder, a table.

    python benchmarks/importing.py [RECORDS]

The data is made up, from a seed: RECORDS (10,000) memories of mem0, as many messages of ChatGPT in conversations of
eight, as many notes in a folder, as many rows of a table; each into a vault of its own. `again` imports the same export
a second time, which stores nothing. Peak memory is that of the whole process, so far.
"""

from __future__ import annotations

import csv
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _common

from atlas import MemoryEngine

RECORDS, TURNS, SEED = 10_000, 8, 1
_WHO = ("Ana", "Ben", "Cleo", "Dan", "Eve", "Finn")
_DOES = ("prefers", "measured", "repaired", "ordered", "painted", "described", "forgot", "counted")
_WHAT = ("the pump", "the boiler", "a bridge", "the archive", "the mill", "a heron", "the ledger", "the antenna")
_WHERE = ("in the cellar", "behind the mill", "at the harbour", "on floor 5", "near the station", "in the shed")


def main(records: int) -> None:
    """Import each made-up export twice, export the memories once, and keep the figures."""
    figures: dict[str, Any] = {"records": records}
    with tempfile.TemporaryDirectory() as temp:
        folder = Path(temp)
        for name, make in EXPORTS.items():
            place = make(folder / name, records, random.Random(SEED))
            figures[name] = measured(folder / f"{name}-vault", place)
    _common.keep("importing", figures, data="made up", seed=SEED)


def measured(vault: Path, place: Path) -> dict[str, Any]:
    """Seconds of the first import, of the same again, and of an export as JSON."""
    vault.mkdir()
    _common.git(vault, "init", "--quiet", "--initial-branch=main")
    _common.identify(vault)
    _common.atlas("init", cwd=vault)
    with MemoryEngine(vault) as engine:
        before = cpu()
        first, seconds = timed(lambda: engine.import_memories(place))
        spent = cpu() - before
        second, again = timed(lambda: engine.import_memories(place))
        exported, out = timed(lambda: engine.export_memories(vault.parent / "out.json", format="json"))
    assert second.imported == 0, second.report
    return {
        "format": first.report.source,
        "imported": first.imported,
        "left out": len(first.skipped),
        "commits": int(_common.git(vault, "rev-list", "--count", "HEAD")),
        "seconds": round(seconds, 2),
        "CPU seconds": round(spent, 2),
        "memories per second": round(first.imported / seconds),
        "again seconds": round(again, 2),
        "export seconds": round(out, 2),
        "exported": exported,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (2**20 if sys.platform == "darwin" else 2**10),
    }


def cpu() -> float:
    """Seconds of processor this process has used, and Git for it."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What a piece of work gives, and its wall seconds."""
    began = time.perf_counter()
    return work(), time.perf_counter() - began


def sentence(chance: random.Random, number: int) -> str:
    """A statement that no other is, about things that many are about."""
    return (
        f"{chance.choice(_WHO)} {chance.choice(_DOES)} {chance.choice(_WHAT)} {chance.choice(_WHERE)}, entry {number}."
    )


def mem0(place: Path, records: int, chance: random.Random) -> Path:
    """Memories of six users over three years."""
    rows = [
        {
            "id": f"m{n}",
            "memory": sentence(chance, n),
            "user_id": chance.choice(_WHO).lower(),
            "metadata": {},
            "categories": [chance.choice(_DOES)],
            "created_at": stamp(chance),
        }
        for n in range(records)
    ]
    place.write_text(json.dumps({"results": rows}))
    return place


def chatgpt(place: Path, records: int, chance: random.Random) -> Path:
    """Conversations of eight messages."""
    talks = [_talk(f"c{start}", start, chance) for start in range(0, records, TURNS)]
    place.write_text(json.dumps(talks))
    return place


def _talk(id: str, start: int, chance: random.Random) -> dict[str, Any]:
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    began = 1.6e9 + chance.random() * 1e8
    parent = "root"
    for n in range(TURNS):
        name = f"{id}-{n}"
        said = " ".join(sentence(chance, start + n) for _ in range(1 + n % 2))
        message = {
            "id": name,
            "author": {"role": ("user", "assistant")[n % 2], "name": None, "metadata": {}},
            "create_time": began + 30 * n,
            "content": {"content_type": "text", "parts": [said]},
            "recipient": "all",
        }
        mapping[name] = {"id": name, "message": message, "parent": parent, "children": []}
        mapping[parent]["children"].append(name)
        parent = name
    return {"title": id, "create_time": began, "mapping": mapping, "current_node": parent, "conversation_id": id}


def folder(place: Path, records: int, chance: random.Random) -> Path:
    """Notes in a hundred folders, linked at random."""
    for n in range(records):
        note = place / f"area {n % 100}" / f"Note {n}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        link = f"[[Note {chance.randrange(records)}]]"
        note.write_text(f"---\ntags: [t{n % 50}]\n---\n# Note {n}\n\n{sentence(chance, n)} {link}\n")
    return place


def table(place: Path, records: int, chance: random.Random) -> Path:
    """Rows with an id, a text and a date."""
    file = place.with_suffix(".csv")
    with file.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["id", "text", "created_at"])
        rows.writerows([n, sentence(chance, n), stamp(chance)] for n in range(records))
    return file


def stamp(chance: random.Random) -> str:
    """A day of three years."""
    return f"{chance.randrange(2023, 2026)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}T12:00:00Z"


EXPORTS = {"mem0": mem0, "chatgpt": chatgpt, "folder": folder, "table": table}

if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS)
