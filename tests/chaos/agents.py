"""Agents of the chaos suite: functions that run in processes of their own, and say what they were told is stored."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import tempfile
from pathlib import Path

from support import script

from atlas.engine import MemoryEngine
from atlas.errors import AtlasError


def store(root: str, texts: list[str]) -> list[str]:
    """Store these texts; their tokens, once they are stored."""
    with MemoryEngine(root, create=False, resident=False) as engine:
        for text in texts:
            engine.ingest(text)
    return [text.partition(" ")[0] for text in texts]


def store_and_tell(root: str, texts: list[str], told: str) -> None:
    """Store texts one by one and write down what was said to be stored."""
    with MemoryEngine(root, create=False, resident=False) as engine, Path(told).open("a") as said:
        for text in texts:
            engine.ingest(text)
            said.write(text.partition(" ")[0] + "\n")
            said.flush()


def add_lines(root: str, path: str, words: list[str]) -> list[str]:
    """Append a line for each word; those that were taken."""
    taken = []
    with MemoryEngine(root, create=False, resident=False) as engine:
        for word in words:
            try:
                engine.append(path, f"An agent wrote {word}.")
                taken.append(word)
            except AtlasError:  # gone, or changed ten times in a row: refused in words, so nothing is owed
                continue
    return taken


def store_in_little_room(root: str, text: str, room: int) -> list[str]:
    """Store a text where no file may grow beyond `room` bytes; its token, if it was taken.

    A full disk is an error that Git reports and tidies up after; this limit would end it by a signal, hence a Git that
    ignores the signal.
    """
    with tempfile.TemporaryDirectory() as folder:
        script(Path(folder, "git"), f"trap '' XFSZ\nexec {shutil.which('git')} \"$@\"\n")
        os.environ["PATH"] = os.pathsep.join([folder, os.environ["PATH"]])
        return _store_in_little_room(root, text, room)


def _store_in_little_room(root: str, text: str, room: int) -> list[str]:
    with MemoryEngine(root, create=False, resident=False) as engine:
        engine.search("so that the index is there")
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            stored = engine.ingest(text)
        except (AtlasError, OSError):
            return []
    return [text.partition(" ")[0]] if stored.memories else []
