"""What the cases about Git share: a command line for hooks, the log with its trailers, and a memory that must wait."""

from __future__ import annotations

import sys
from pathlib import Path

from atlas.engine import MemoryEngine

#: The command line, as a shell script of a hook would call it.
ATLAS = f"PYTHONPATH='{Path(__file__).parents[2]}' '{sys.executable}' -P -m atlas"


def log(folder: Path, git, *words: str) -> list[str]:
    """The subject of every commit, its operation before it."""
    return git(folder, "log", "--format=%(trailers:key=Atlas-Op,valueonly,separator=%x2C)%s", *words).splitlines()


def said_not_committed(engine: MemoryEngine, text: str, *words: str) -> str:
    """Remember a text where no commit can be made: saved, findable, waiting, and why. The new file's path."""
    stored = engine.ingest(text)
    (memory,) = stored.memories
    assert not stored.applied.committed
    assert all(word in stored.applied.note for word in words), stored.applied.note
    assert engine.retrieve(text)[0].path == memory.path
    assert memory.path in engine.status()["waiting"]
    return memory.path
