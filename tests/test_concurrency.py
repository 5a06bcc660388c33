"""Many processes on one vault: nothing is lost, nobody fails, and the index is as if they had come one by one."""

from __future__ import annotations

import time
from pathlib import Path

import children
import pytest
import same

from atlas import template
from atlas.engine import MemoryEngine

WRITERS, TEXTS, READERS = 8, 12, 2


def remember(root: str, who: int) -> list[str]:
    """A process that stores its texts one by one."""
    with MemoryEngine(root, create=False, resident=False) as engine:
        return [id for n in range(TEXTS) for id in engine.ingest(text(who, n))]


def text(who: int, number: int) -> str:
    return f"Station {who:02d} wrote down reading {number:03d}: the river stood at {who * 100 + number} centimetres."


def look(root: str, done: str, resident: bool) -> tuple[int, int]:
    """A process that searches until it is told to stop: how often, and how many memories it saw last."""
    looks = seen = 0
    with MemoryEngine(root, create=False, resident=resident) as engine:
        while not Path(done).exists():
            hits = engine.retrieve("river reading of the station", k=500)
            assert len(hits) >= seen, "a memory that was found is gone"
            assert len({hit.id for hit in hits}) == len(hits)
            seen, looks = len(hits), looks + 1
            time.sleep(0.5)
    return looks, seen


@pytest.fixture
def vault(repo):
    template.create(repo)
    return repo


def test_eight_processes_write_while_two_search(vault, git, sound, tmp_path):
    done = tmp_path / "done"
    readers = [children.start(look, str(vault), str(done), turn % 2 == 0) for turn in range(READERS)]
    writers = [children.start(remember, str(vault), who) for who in range(WRITERS)]
    try:
        stored = [id for child in writers for id in child.result(300)]
    finally:
        done.touch()
    assert all(looks > 0 for looks, _ in (child.result() for child in readers))
    everything = {text(who, n) for who in range(WRITERS) for n in range(TEXTS)}
    assert len(set(stored)) == len(everything) == WRITERS * TEXTS
    files = [place.read_text() for place in (vault / "memories").rglob("*.md")]
    assert len(files) == len(everything)
    assert {line for file in files for line in file.splitlines()} >= everything
    ops = git(vault, "log", "--format=%(trailers:key=Atlas-Op,valueonly,separator=%x2C)").split()
    assert ops.count("ingest") == len(everything)
    assert git(vault, "status", "--porcelain", "--", "*.md") == ""
    with MemoryEngine(vault, create=False) as engine:
        assert engine.status()["waiting"] == []
        same.check(vault, engine, queries=["river reading", "station 03", "307 centimetres"])
    assert not list(vault.rglob(".atlas-tmp-*"))
    assert not list((vault / ".atlas" / "pending").glob("*"))
    sound(vault)
