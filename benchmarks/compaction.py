"""Whether summaries lose facts, and what they save: on generated conversations, and on the sessions of LoCoMo.

    python benchmarks/compaction.py [PATH/locomo10.json]

*Generated*: 1,000 conversations with numbers, dates, names and denials planted in them (`_planted.py`), each compacted
by the planner of upkeep, in memory. Every second summary is careless: it drops lines, exchanges digits and names,
affirms what was denied. A fact is lost if no sentence of the summary, nor of what is left of its turn, has all its
words: an oracle that shares no rule with the loss check it judges.

*LoCoMo*: each turn an episode, its session the source. *before* and *after* are tokens of all memories without their
metadata; *live* leaves out labels in the archive. Of every turn that stepped down, each number in digits, each name
inside a sentence and each sentence with `not`, `never`, `no` or `n't` is looked for in the summaries by plain patterns.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import _common
import _planted
from locomo import sessions

from atlas import compaction, markdown, tokens
from atlas.ingest import Request

CONVERSATIONS = 1000
_HALF = 5
_DENYING = re.compile(r"\b(?:not|never|no|cannot|without|nobody|nothing|none)\b|n['’]t\b", re.IGNORECASE)
_CLAIMS = re.compile(r"(?<=[.!?])[\"”]?\s+")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")


def generated(count: int) -> dict[str, Any]:
    """The planted facts of so many conversations, and how many of them were lost."""
    made = facts = lost = down = told = 0
    for seed in range(count):
        turns, _, after, plan = _planted.compacted(seed)
        made += bool(plan.changes)
        down += max(0, len(plan.rows) - 1)
        told += len(turns) if plan.changes else 0
        facts += sum(len(turn.planted) for turn in turns)
        lost += len(_planted.lost(turns, after))
    return {
        "conversations": count, "summaries made": made, "careless summaries refused whole": count - made,
        "turns stepped down": down, "turns": told, "facts planted": facts, "facts lost": lost,
    }  # fmt: skip


def talked(path: Path) -> list[dict[str, float]]:
    """Each half of LoCoMo: what compaction saves, and what it loses."""
    counts = [
        dict.fromkeys(("memories", "stepped down", "before", "after", "live", "checked", "lost"), 0) for _ in (0, 1)
    ]
    for number, dialogue in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        files, view = _planted.remembered(_turns(dialogue))
        plan = compaction.plan(replace(view, now=_planted.NOW))
        _count(counts[number >= _HALF], files, _planted.applied(files, plan.changes))
    return [
        {
            **half,
            "share after": round(half["after"] / half["before"], 3),
            "share live": round(half["live"] / half["before"], 3),
        }
        for half in counts
    ]


def _turns(dialogue: dict[str, Any]) -> Iterator[Request]:
    for name, when, _, said in sessions(dialogue):
        for turn in said:
            source = f"{dialogue['sample_id']}/{name}#{turn['dia_id']}"
            text = f"{turn['speaker']}: {turn['text']}"
            yield Request(text, kind="episode", source=source, created=when, whole=True)


def _count(counts: dict[str, int], files: dict[str, bytes], after: dict[str, bytes]) -> None:
    size = tokens.load("", Path()).count
    counts["memories"] += len(files)
    counts["before"] += sum(size(_planted.body(data)) for data in files.values())
    counts["after"] += sum(size(_planted.body(data)) for data in after.values())
    counts["live"] += sum(size(_planted.body(data)) for path, data in after.items() if not path.startswith("archive/"))
    summaries = "\n".join(_planted.body(data) for data in after.values() if b"\nderived_from:" in data)
    for path, data in files.items():
        if after.get(path) == data:
            continue
        counts["stepped down"] += 1
        checked, lost = _missing(markdown.original(markdown.parse(data.decode(), path)), summaries)
        counts["checked"] += checked
        counts["lost"] += lost


def _missing(text: str, summaries: str) -> tuple[int, int]:
    """(facts looked for, facts not found) of one turn."""
    plain = " ".join(text.split()).partition(": ")[2]
    wanted = [*re.findall(r"\d[\d.,]*\d|\d", plain), *_NAME.findall(plain)]
    wanted += [claim for claim in _CLAIMS.split(plain) if _DENYING.search(claim)]
    whole = " ".join(summaries.split())
    return len(wanted), sum(one.strip(' ."”') not in whole for one in wanted)


def main(path: Path | None) -> None:
    """Measure, print, keep."""
    figures: dict[str, Any] = {"generated": generated(CONVERSATIONS)}
    facts: dict[str, Any] = {"config": {"worth": compaction.WORTH, "room": compaction.ROOM}}
    if path:
        half_a, half_b = talked(path)
        figures["locomo"] = {"dialogues 1-5": half_a, "dialogues 6-10": half_b}
        facts |= {"data": path.name, "sha256": _common.sha256(path)}
    _common.keep("compaction", figures, **facts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, help="locomo10.json")
    main(parser.parse_args().path)
