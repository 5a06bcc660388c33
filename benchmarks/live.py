"""Whole dialogues lived through by sessions of the real engine: every turn a view, then a memory.

    python benchmarks/live.py PATH/locomo10.json [--dialogues 10]

Each dialogue of LoCoMo has a vault of its own and one session. A turn is asked first, as a view of 2,000 tokens, and
stored then, without a commit; what the session does after an answer is waited for, as if the agent had thought
meanwhile. Hot and warm have 6,000 tokens together, about 120 turns. From the 30th turn on, the figures are the
session's own (`atlas stats`): how much of the first ten hits was ready before it was asked for, how much of each view
was the beginning of the last one, how much of what was made ready the very next turn needed, what the session hid that
a view made anew would have shown. Two dialogues run at a time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import _common
from _trace import FIRST, said

from atlas import MemoryEngine

BUDGET = 2000
#: No commits; and no more room beside the view than for some 120 turns, as in `cache_hit_rate.py`.
SETTINGS = "[git]\ncommit = false\n\n[scene]\nwarm_tokens = 4000\n"
#: What is told of each dialogue, and averaged over all.
SHARES = ("hit_rate", "prefix_reuse", "regret", "prefetch_accuracy", "prefetch_coverage")


def main(data: Path, dialogues: int) -> None:
    """Live through the dialogues; keep the figures."""
    wanted = json.loads(data.read_text(encoding="utf-8"))[:dialogues]
    with ProcessPoolExecutor(2) as pool:
        lived = dict(zip((one["sample_id"] for one in wanted), pool.map(live, wanted), strict=True))
    figures = {
        "mean": {name: round(statistics.mean(one[name] for one in lived.values()), 4) for name in SHARES},
        "most tokens": max(one["most tokens"] for one in lived.values()),
        "view ms": round(statistics.median(one["view ms"] for one in lived.values()), 1),
        "after ms": round(statistics.median(one["after ms"] for one in lived.values()), 1),
        "dialogues": lived,
    }
    _common.keep("live", figures, data=data.name, sha256=_common.sha256(data), budget=BUDGET, first=FIRST)


def live(dialogue: Mapping[str, Any]) -> dict[str, Any]:
    """One dialogue, turn after turn."""
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        with MemoryEngine(vault):
            _common.identify(vault)
        (vault / "atlas.toml").write_text(SETTINGS, encoding="utf-8")
        with MemoryEngine(vault) as engine:
            session = engine.session()
            views, after, most = [], [], 0
            for number, (text, _, request) in enumerate(said(dialogue)):
                if number >= FIRST:
                    began = time.perf_counter()
                    view = session.view(text, budget=BUDGET)
                    views.append(time.perf_counter() - began)
                    session.settle()
                    after.append(time.perf_counter() - began - views[-1])
                    most = max(most, view.tokens)
                engine.ingest_many([request])
            told = session.stats()
    return {
        **{name: told[name] for name in (*SHARES, "turns", "prefetched", "topic_shifts")},
        "most tokens": most,
        "view ms": round(1000 * statistics.median(views), 1),
        "after ms": round(1000 * statistics.median(after), 1),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the data set")
    parser.add_argument("--dialogues", type=int, default=10, help="so many of its dialogues, the first ones")
    options = parser.parse_args()
    main(options.data, options.dialogues)
