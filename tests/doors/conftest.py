"""Tests with the real frameworks: a file is collected where its framework is; `test_frameworks.py` says it must be."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from oracle import FRAMEWORKS
from shell import environment

from atlas import MemoryEngine

HERE = Path(__file__).parent
collect_ignore = [
    name
    for file, module in FRAMEWORKS.items()
    if find_spec(module) is None
    for name in (file, file.replace("test_", "run_"))
]
#: CrewAI reports home at every start, 5 s of it in vain where there is no network, unless it is told not to.
QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "OTEL_SDK_DISABLED": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
}
os.environ.update(QUIET)


@pytest.fixture(scope="session", autouse=True)
def crewai_home(home):
    """What CrewAI writes lies in the empty home of the run."""
    os.environ["CREWAI_STORAGE_DIR"] = str(home / "crewai")


@pytest.fixture
def run(root) -> Callable[..., dict[str, Any]]:
    """`run("langchain", "Hello", …)`: these turns with a scripted agent, in a process of its own; what it told."""

    def turns(framework: str, *said: str) -> dict[str, Any]:
        words = [sys.executable, "-W", "error::UserWarning:atlas", str(HERE / f"run_{framework}.py"), str(root), *said]
        done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout.splitlines()[-1])
        assert isinstance(found, dict)
        return found

    return turns


@pytest.fixture
def locked(root) -> Iterator[tuple[MemoryEngine, Callable[[], None]]]:
    """An engine on a vault that others hold for longer than it waits, and how to let go of it."""
    with (root / "atlas.toml").open("a") as file:
        file.write("\n[index]\nlock_seconds = 0.1\n")
    (root / ".atlas").mkdir(exist_ok=True)
    locks = [FileLock(root / ".atlas" / name) for name in ("index.lock", "write.lock")]
    for lock in locks:
        lock.acquire()

    def release() -> None:
        for lock in locks:
            lock.release()

    with MemoryEngine(root) as engine:
        yield engine, release
    release()


@pytest.fixture(autouse=True)
def loop() -> Iterator[None]:
    """An event loop that is closed afterwards: what frameworks do from code that is not asynchronous leaves it open."""
    loops = [asyncio.new_event_loop()]
    asyncio.set_event_loop(loops[0])
    yield
    with suppress(RuntimeError):  # `asyncio.run` takes it away
        loops.append(asyncio.get_event_loop())
    for one in loops:
        one.close()
    asyncio.set_event_loop(None)
