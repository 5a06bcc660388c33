"""What a middleware adds to a call of a model, beyond the search itself: LangChain's agent with it and without.

    python benchmarks/middleware.py [--memories 1000] [--runs 200]

The same agent with a model that answers at once, bare and with the middleware, by turns. What the search takes
(`engine.view`) and what storing takes (`engine.ingest`) is measured inside the run and taken off; what is left is the
middleware and what LangChain does to call it. What a view does afterwards is waited for before the next run. Wall
time is what a user waits for; on a machine that does other work too, the time of the processor is the one to look at.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import _common
import _notes
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from atlas import MemoryEngine
from atlas.ingest import Request
from atlas.integrations.langchain import MemoryAtlasMiddleware

#: The first runs load what the framework loads when it is needed.
WARM = 5
PACKAGES = ("langchain", "langchain-core", "langgraph")


class Instant(BaseChatModel):
    """A model that takes no time."""

    @property
    def _llm_type(self) -> str:
        return "instant"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Noted."))])


def clocks() -> tuple[float, float]:
    """Milliseconds now: of the wall, of the processor for this thread.

    Not for the process: what a view does afterwards runs beside the rest of an asynchronous run.
    """
    return 1000 * time.perf_counter(), 1000 * time.thread_time()


def since(began: tuple[float, float]) -> tuple[float, float]:
    """Milliseconds since then, by both clocks."""
    now = clocks()
    return now[0] - began[0], now[1] - began[1]


class Metered:
    """The vault's own time within a run: `engine.view` and `engine.ingest`, measured in place.

    Of an asynchronous run, the vault's processor time is another thread's, and nothing of it is to be taken off.
    """

    def __init__(self, engine: MemoryEngine) -> None:
        self.spent = (0.0, 0.0)
        engine.view = self._timed(engine.view)
        engine.ingest = self._timed(engine.ingest)

    def _timed(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*words: Any, **named: Any) -> Any:
            began = clocks()
            try:
                return work(*words, **named)
            finally:
                wall, cpu = since(began)
                here = threading.current_thread() is threading.main_thread()
                self.spent = self.spent[0] + wall, self.spent[1] + cpu * here

        return run


def main(memories: int, runs: int) -> None:
    """Measure; keep the figures."""
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        with MemoryEngine(vault) as engine:
            _common.identify(vault)
            made = list(_notes.notes(memories))
            engine.ingest_many(Request(text, whole=True) for _, text in made)
            asked = [f"What is there on {Path(path).stem}?" for path, _ in made[:: max(1, memories // 20)]]
            metered = Metered(engine)
            figures = {
                f"{mode}, {'captured' if capture else 'recalled alone'}, {placement}": added(
                    engine, metered, asked, runs, mode=mode, capture=capture, placement=placement
                )
                for mode in ("sync", "async")
                for capture in (False, True)
                for placement in ("system", "last")
            }
    _common.keep(
        "middleware", figures, memories=memories, frameworks={name: version(name) for name in PACKAGES}, wanted_ms=0.5
    )


def added(
    engine: MemoryEngine, metered: Metered, asked: Sequence[str], runs: int, *, mode: str, capture: bool, placement: str
) -> dict[str, float]:
    """Milliseconds of a run: bare, in the vault, and what the middleware adds; medians of the runs."""
    middleware = MemoryAtlasMiddleware(engine, capture=capture, placement=placement)
    assert "<memory-" in middleware.companion.recall(asked[0]), "what is measured is a call with memories in it"
    agents = [create_agent(Instant(), system_prompt="Be brief."), create_agent(Instant(), middleware=[middleware])]
    seen: list[tuple[tuple[float, float], ...]] = []
    with asyncio.Runner() as runner:
        for number in range(runs + WARM):
            said = {"messages": [("user", f"{asked[number % len(asked)]} ({number})")]}
            took = []
            for agent in agents:
                engine.rest()
                metered.spent = (0.0, 0.0)
                began = clocks()
                _ = agent.invoke(said) if mode == "sync" else runner.run(agent.ainvoke(said))
                took.append(since(began))
            seen.append((took[0], metered.spent, took[1]))
    return {
        name: told
        for clock, unit in enumerate(("ms", "CPU ms"))
        for name, told in _rows([tuple(one[clock] for one in run) for run in seen[WARM:]], unit).items()
    } | {"runs": runs}


def _rows(runs: list[tuple[float, ...]], unit: str) -> dict[str, float]:
    """Medians: of the bare run, of the vault, of what is left."""
    return {
        f"bare {unit}": round(statistics.median(bare for bare, _, _ in runs), 3),
        f"vault {unit}": round(statistics.median(vault for _, vault, _ in runs), 3),
        f"added {unit}": round(statistics.median(whole - vault - bare for bare, vault, whole in runs), 3),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=200)
    given = parser.parse_args()
    main(given.memories, given.runs)
