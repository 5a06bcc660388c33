"""Clusters found in a whole vault: how many, how large, what they are called, how stable and how pure they are.

    python benchmarks/clusters.py PATH/locomo10.json PATH/obsidian-hub.tar.xz

Turns of LoCoMo are stored as an agent would, all in one scope; the notes are a person's. A twentieth of each comes
later: stability is the adjusted Rand index (Hubert and Arabie, 1985) of the groups of the others before and after.
Purity is the share of a cluster that is of its commonest dialogue or session, weighed by size; beside it, that of
groups of the same sizes drawn at random. `upkeep` is a whole run with its commits, `found` the groups and the plan.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import _common
import _notes
from locomo import turns

from atlas import MemoryEngine, communities, hubs, upkeep
from atlas.memory import WHOLE_VAULT
from atlas.overview import Overview
from atlas.profiles import Profile, profiles

LATER, SEED, NAMES, MADE = 20, 1, 40, 10_000


def main(talks: Path, notes: Path) -> None:
    """Measure both vaults and a larger one, and keep the figures."""
    # The other tasks would forget and compact what lies years back.
    upkeep.TASKS = {name: upkeep.TASKS[name] for name in ("communities", "clusters")}
    with tempfile.TemporaryDirectory() as temp:
        figures = {
            "turns": of_turns(talks, Path(temp) / "turns"),
            "notes": of_notes(notes, Path(temp)),
            f"{MADE:,} made-up notes": of_size(Path(temp) / "made"),
        }
    hashes = {file.name: _common.sha256(file) for file in (talks, notes)}
    _common.keep("clusters", figures, data=", ".join(hashes), sha256=hashes)


def of_turns(data: Path, vault: Path) -> dict[str, Any]:
    """LoCoMo: every twentieth turn is stored after the first run."""
    requests = [replace(request, scope="") for request in turns(data).texts.values()]
    later = set(random.Random(SEED).sample(range(len(requests)), len(requests) // LATER))
    with _opened(vault) as engine:
        engine.ingest_many(request for n, request in enumerate(requests) if n not in later)
        first = _run(engine)
        engine.ingest_many(request for n, request in enumerate(requests) if n in later)
        second = _run(engine)
        found = _facts(engine, first, second)
        members = [[one.source for one in group] for group in _clusters(engine).values()]
    found["purity"] = {
        "dialogue": purity([[source.partition("/")[0] for source in group] for group in members]),
        "session": purity([[source.partition("#")[0] for source in group] for group in members]),
    }
    return found


def of_notes(archive: Path, folder: Path) -> dict[str, Any]:
    """A person's vault: every twentieth note is written after the first run."""
    vault = _common.unpack(archive, folder / "notes")
    files = sorted(place for place in vault.rglob("*.md") if not any(part.startswith(".") for part in place.parts))
    later = {place: place.read_bytes() for place in random.Random(SEED).sample(files, len(files) // LATER)}
    for place in later:
        place.unlink()
    _common.git(vault, "init", "--quiet", "--initial-branch=main")
    _common.identify(vault)
    _common.atlas("init", cwd=vault)
    _commit(vault)
    with MemoryEngine(vault) as engine:
        first = _run(engine)
        for place, text in later.items():
            place.write_bytes(text)
        _commit(vault)
        second = _run(engine)
        return _facts(engine, first, second)


def of_size(vault: Path) -> dict[str, Any]:
    """How long it takes in a larger vault, and how long to see that nothing is due."""
    _notes.write(vault, MADE)
    _common.git(vault, "init", "--quiet", "--initial-branch=main")
    _common.identify(vault)
    _common.atlas("init", cwd=vault)
    _commit(vault)
    with MemoryEngine(vault) as engine:
        engine.refresh()
        view = _overview(engine)
        found = _common.timed(lambda: communities.plan(view.view()), 3)
        first = _run(engine)
        (vault / "one more.md").write_text("# One more\n\nA note.\n", encoding="utf-8")
        _commit(vault)
        engine.refresh()
        kept = Overview(engine.config, engine._index, engine._under_git(), engine._read_or_none)  # noqa: SLF001
        undue = _common.timed(lambda: communities.plan(kept.view()), 5)
    return {"found seconds": _common.spread(found), "upkeep seconds": first["seconds"],
            "seconds with one new note": _common.spread(undue)}  # fmt: skip


def adjusted_rand(one: Mapping[str, int], two: Mapping[str, int]) -> float:
    """How far two groupings of the same things agree: 1 as one, 0 as by chance."""
    both = sorted(one.keys() & two.keys())
    pairs, rows, columns = (
        sum(n * (n - 1) / 2 for n in Counter(key).values())
        for key in ([(one[k], two[k]) for k in both], [one[k] for k in both], [two[k] for k in both])
    )
    chance = rows * columns / (len(both) * (len(both) - 1) / 2)
    most = (rows + columns) / 2
    return (pairs - chance) / (most - chance) if most != chance else 1.0


def purity(groups: Sequence[Sequence[str]]) -> dict[str, float]:
    """The share of what is of the commonest kind in its group; and in groups of these sizes drawn at random."""
    mixed = [kind for group in groups for kind in group]
    random.Random(SEED).shuffle(mixed)
    drawn, at = [], 0
    for group in groups:
        drawn.append(mixed[at : at + len(group)])
        at += len(group)
    return {"found": _pure(groups), "at random": _pure(drawn)}


def _pure(groups: Sequence[Sequence[str]]) -> float:
    most = sum(Counter(group).most_common(1)[0][1] for group in groups)
    return round(most / sum(map(len, groups)), 4)


def _opened(vault: Path) -> MemoryEngine:
    _common.git(vault.parent, "init", "--quiet", "--initial-branch=main", str(vault))
    _common.identify(vault)
    _common.atlas("init", cwd=vault)
    return MemoryEngine(vault)


def _commit(vault: Path) -> None:
    _common.git(vault, "add", "-A")
    _common.git(vault, "commit", "--quiet", "-m", "notes")


def _overview(engine: MemoryEngine) -> Overview:
    return Overview(engine.config, engine._index, engine._under_git(), engine._read_or_none, dry_run=True)  # noqa: SLF001


def _run(engine: MemoryEngine) -> dict[str, Any]:
    """One run of upkeep: its groups, and what it took."""
    engine.refresh()
    began = time.perf_counter()
    communities.plan(_overview(engine).view())
    found = time.perf_counter() - began
    began = time.perf_counter()
    for ran in engine.maintain():
        assert "not begun" not in ran.note, ran
    took = time.perf_counter() - began
    state = json.loads((engine.config.state / communities.FILE).read_text(encoding="utf-8"))
    return {"group": state["group"], "slugs": state["slugs"], "seconds": round(took, 2), "found": round(found, 2)}


def _clusters(engine: MemoryEngine) -> dict[str, list[Profile]]:
    """The members of the clusters that were found, by name."""
    state = json.loads((engine.config.state / communities.FILE).read_text(encoding="utf-8"))
    with engine._index.reader() as reader:  # noqa: SLF001
        by_id = {one.id: one for one in profiles(reader.con, WHOLE_VAULT)}
    found: dict[str, list[Profile]] = defaultdict(list)
    for id, number in state["group"].items():
        slug = state["slugs"].get(str(number))
        if slug and id in by_id:
            found[slug].append(by_id[id])
    return found


def _facts(engine: MemoryEngine, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    clusters = _clusters(engine)
    sizes = sorted(map(len, clusters.values()))
    kept = set(first["slugs"].values()) & set(second["slugs"].values())
    names = random.Random(SEED).sample(sorted(clusters), min(NAMES, len(clusters)))
    return {
        "memories": len(second["group"]),
        "clusters": len(clusters),
        "share in clusters": round(sum(sizes) / len(second["group"]), 4),
        "size": {"least": sizes[0], "median": statistics.median(sizes), "most": sizes[-1]},
        "pages": sum(1 for _ in (engine.config.root / hubs.FOLDER).glob("*.md")),
        "stability": round(adjusted_rand(first["group"], second["group"]), 4),
        "names kept": round(len(kept) / len(first["slugs"]), 4),
        "found seconds": [first["found"], second["found"]],
        "upkeep seconds": [first["seconds"], second["seconds"]],
        "names": {slug: len(clusters[slug]) for slug in sorted(names)},
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
