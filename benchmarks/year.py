"""A simulated year: memories stored every day, read by Zipf's law, tended every week; beside a twin that never forgets.

    python benchmarks/year.py PATH/locomo10.json PATH/obsidian-hub.tar.xz [--days 365 --per-day 20 --reads 20]

The clock of everything is that of the simulation. At the end of every quarter: tokens of the vault against all that was
ever stored, and whether what is asked for again is still found. At the end every run of upkeep is undone, the newest
first, and what is left is compared with the twin, file by file.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import _common
from _year import Item, Readers, Twin, at, days, notes, sizes, standing, taken_in, trees, turns

from atlas import AtlasError, MemoryEngine, journal
from atlas.remembering import Ingested

QUARTER, WEEK, K = 91, 7, 10


class Year:
    """The simulation: a vault, its twin, and what was asked of them."""

    def __init__(self, folder: Path, wanted: argparse.Namespace) -> None:
        self.wanted = wanted
        self.vault, self.twin = folder / "vault", Twin(folder / "twin")
        self.readers = Readers(wanted.seed, wanted.days * wanted.per_day)
        self.items: dict[str, Item] = {}
        self.read_on: dict[str, list[int]] = {}
        self.in_vain = 0
        self.runs: list[tuple[str, str]] = []
        self.seconds: dict[str, list[float]] = {"ingest day": [], "maintain": [], "undo": []}
        self.stops: Counter[str] = Counter()

    def run(self) -> dict[str, Any]:
        """Live through it; the figures."""
        at(0, 8)
        for root in (self.vault, self.twin.root):
            root.mkdir()
            _common.git(root, "init", "--quiet", "--initial-branch=main")
            _common.identify(root)
            _common.atlas("init", cwd=root)
        quarters = []
        talk, kept = turns(self.wanted.dialogues, self.wanted.seed), notes(self.wanted.notes, self.wanted.seed)
        with MemoryEngine(self.vault) as engine:
            for day, items in enumerate(days(talk, kept, self.wanted.days, self.wanted.per_day)):
                self._day(engine, day, items)
                if day % WEEK == WEEK - 1:
                    self._tend(engine, day)
                if day % QUARTER == QUARTER - 1 or day == self.wanted.days - 1:
                    quarters.append(self._look(engine, day))
                    print(json.dumps(quarters[-1]), file=sys.stderr, flush=True)
            growth = {"commits": int(_common.git(self.vault, "rev-list", "--count", "HEAD")), "MB": self._packed()}
            undone = self._undo(engine)
        return {
            "quarters": quarters,
            "seconds": {name: self._spread(taken) for name, taken in self.seconds.items() if taken},
            "runs": dict(Counter(task for task, _ in self.runs)),
            "stopped, or not begun in time": dict(self.stops),
            "read in vain": self.in_vain,
            "repository": growth,
            "undone": undone,
        }

    # ------------------------------------------------------------------ a day

    def _day(self, engine: MemoryEngine, day: int, items: Sequence[Item]) -> None:
        at(day, 9)
        began = time.perf_counter()
        done = engine.ingest_many([item.request for item in items])
        self.seconds["ingest day"].append(time.perf_counter() - began)
        self.twin.follow(engine, done)
        self._known(done, items)
        at(day, 15)
        for id in self.readers.read(self.wanted.reads):
            self.read_on.setdefault(id, []).append(day)
            try:
                engine.expand(id)
            except AtlasError:
                self.in_vain += 1

    def _known(self, done: Ingested, items: Sequence[Item]) -> None:
        fresh = {one.id for one in done.memories}
        new = [
            (id, item) for id, item in zip(done.per_text, items, strict=True) if id in fresh and id not in self.items
        ]
        self.items.update(new)
        self.readers.stored([id for id, _ in new])

    def _tend(self, engine: MemoryEngine, day: int) -> None:
        at(day, 20)
        began = time.perf_counter()
        for ran in engine.maintain(yes=True):
            if ran.commit:
                self.runs.append((ran.task, ran.commit))
            if ran.stops or "not begun" in ran.note:
                self.stops[ran.task] += 1
        self.seconds["maintain"].append(time.perf_counter() - began)

    # -------------------------------------------------------------- a quarter

    def _look(self, engine: MemoryEngine, day: int) -> dict[str, Any]:
        """The vault and its twin at the end of a day. Whatever is asked here counts as no reading."""
        at(day, 22)
        with unread(engine):
            return self._seen(engine, day)

    def _seen(self, engine: MemoryEngine, day: int) -> dict[str, Any]:
        since = day - day % QUARTER
        asked = [id for id, on in self.read_on.items() if on[-1] >= since and self.items[id].questions]
        again = [id for id in asked if len(set(self.read_on[id])) > 1]
        with MemoryEngine(self.twin.root) as twin:
            live, ever = sizes(engine), sizes(twin)
            recall = {name: self._recall(one, again) for name, one in (("vault", engine), ("twin", twin))}
        told = self._recall(engine, again, told=taken_in(engine))
        whole = standing(engine)
        gone = [id for id in asked if id not in whole]
        thawed = self._recall(engine, gone, frozen=True) if gone else None
        return {
            "day": day + 1,
            "notes": {"vault": live["notes"], "ever": ever["notes"]},
            "tokens of texts": {
                "vault": live["text"],
                "ever": ever["text"],
                "share": _share(live["text"], ever["text"]),
            },
            "tokens of files": {
                "vault": live["files"],
                "ever": ever["files"],
                "share": _share(live["files"], ever["files"]),
            },
            "tokens of hub notes": live["hubs"],
            "asked again": len(again),
            f"recall@{K}": {**recall, "ratio": _share(recall["vault"], recall["twin"]), "with summaries": told},
            "asked, and forgotten": len(gone),
            "found there when frozen": thawed,
            "MB of .git": self._packed(),
        }

    def _recall(
        self,
        engine: MemoryEngine,
        ids: Sequence[str],
        *,
        frozen: bool = False,
        told: Mapping[str, Collection[str]] | None = None,
    ) -> float:
        """The share of the questions about these memories that have them among the first hits, or what `told` of them.

        `told` are the ids that each summary has taken in.
        """
        hits = asked = 0
        for id in ids:
            for question in self.items[id].questions:
                asked += 1
                first = {hit.id for hit in engine.search(question, k=K, abstain=False, frozen=frozen).hits}
                hits += id in first or any(id in (told or {}).get(one, ()) for one in first)
        return _share(hits, asked)

    def _packed(self) -> float:
        _common.git(self.vault, "gc", "--quiet")
        return round(sum(f.stat().st_size for f in (self.vault / ".git").rglob("*") if f.is_file()) / 1e6, 2)

    # --------------------------------------------------------------- the end

    def _undo(self, engine: MemoryEngine) -> dict[str, Any]:
        """Undo every run, the newest first; what then differs from the twin."""
        at(self.wanted.days, 9)
        refused = []
        for task, commit in reversed(self.runs):
            if task == "usage":  # what was read was read
                continue
            began = time.perf_counter()
            try:
                engine.undo(commit)
            except AtlasError as err:
                refused.append(f"{task}: {err}")
            self.seconds["undo"].append(time.perf_counter() - began)
        here, there = trees(self.vault), trees(self.twin.root)
        differ = sorted(path for path in here.keys() | there.keys() if here.get(path) != there.get(path))
        return {
            "runs": len(self.seconds["undo"]),
            "refused": refused[:10],
            "differ": len(differ),
            "such as": differ[:10],
        }

    @staticmethod
    def _spread(seconds: Sequence[float]) -> dict[str, float]:
        found = {"median": statistics.median(seconds), "most": max(seconds), "sum": sum(seconds)}
        return {name: round(value, 3) for name, value in found.items()}


@contextmanager
def unread(engine: MemoryEngine) -> Iterator[None]:
    """The journal as it was before."""
    before = {file: file.read_bytes() for file in journal.files(engine.config)}
    yield
    for file in journal.files(engine.config):
        if file in before:
            file.write_bytes(before[file])
        else:
            file.unlink()


def _share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0


def main(wanted: argparse.Namespace) -> None:
    """Simulate and keep the figures."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as temp:
        figures = Year(Path(temp), wanted).run()
    figures["seconds of the whole"] = round(time.perf_counter() - began)
    name = "year" if wanted.days == 365 else f"year-{wanted.days}"
    data = f"{wanted.dialogues.name}, {wanted.notes.name}"
    hashes = " ".join(_common.sha256(file) for file in (wanted.dialogues, wanted.notes))
    config = {"days": wanted.days, "per day": wanted.per_day, "reads": wanted.reads, "seed": wanted.seed}
    _common.keep(name, figures, data=data, sha256=hashes, config=config)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("dialogues", type=Path, help="LoCoMo")
    parser.add_argument("notes", type=Path, help="a vault of notes")
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--per-day", type=int, default=20)
    parser.add_argument("--reads", type=int, default=20, help="memories read a day")
    parser.add_argument("--seed", type=int, default=7)
    main(parser.parse_args())
