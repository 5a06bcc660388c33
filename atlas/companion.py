"""A vault beside an agent: what is recalled for it, and what of its conversation is kept. No framework in here.

An agent goes on without its memory. Where the vault cannot answer or store, that is logged as a warning with the
reason, and the agent gets nothing; what was not stored is given again by the door that asked for it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from atlas.engine import MemoryEngine
from atlas.errors import AtlasError, UsageError
from atlas.memory import Scope, View
from atlas.messages import USER, Message, read
from atlas.remembering import Ingested
from atlas.toolbox import Toolbox
from atlas.toolspec import Tool

log = logging.getLogger(__name__)

#: The tools an agent is given where it only says that it wants some, and how their names begin in its list.
TOOLS = ("search", "remember")
PREFIX = "memory_"


class Companion:
    """A vault, opened for the agents of a program. Safe to use from threads, by any number of conversations.

    `vault` is an engine, which stays the caller's to close, or a folder, which is opened in `scope`. `budget` is the
    most tokens a recall takes, `mode` that of `engine.ingest`; `filters` are those of a search: `kind`, `tag`, and so
    on.
    """

    def __init__(
        self,
        vault: MemoryEngine | str | os.PathLike[str],
        *,
        scope: str | None = None,
        budget: int | None = None,
        mode: str = "fast",
        filters: Mapping[str, Any] | None = None,
    ) -> None:
        if mode not in ("fast", "fine") or (budget or 0) < 0:  # else it would be a warning at every turn
            raise UsageError("A vault beside an agent wants the mode fast or fine, and a budget of 0 tokens or more.")
        self._own = not isinstance(vault, MemoryEngine)
        self.engine = vault if isinstance(vault, MemoryEngine) else MemoryEngine(vault, scope=scope)
        if scope and self.engine.config.scope != Scope(scope):
            raise UsageError(f"This engine is open in another scope: open it with scope={scope!r}.")
        self.budget, self.mode, self.filters = budget, mode, dict(filters or {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the engine, if it was opened here."""
        if self._own:
            self.engine.close()

    # ------------------------------------------------------------------ recalling

    def recall(self, query: str, conversation: str = "") -> str:
        """What to put in front of an agent that is asked this, fenced; "" where nothing fits or the vault fails.

        It goes on from the last recall of the same conversation, so that a provider's prompt cache keeps hitting.
        """
        shown = self.view(query, conversation)
        return shown.text if shown else ""

    def view(self, query: str, conversation: str = "", budget: int | None = None) -> View | None:
        """The same with what is in it, in at most `budget` tokens; None where that is nothing."""
        if not query.strip():
            return None
        most = self.budget if budget is None else budget
        with going_on("read"):
            shown = self.engine.view(query, budget=most, session=conversation or "main", **self.filters)
            return shown if shown.items else None
        return None

    async def arecall(self, query: str, conversation: str = "") -> str:
        """`recall`, beside the event loop."""
        return await asyncio.to_thread(self.recall, query, conversation) if query.strip() else ""

    # ------------------------------------------------------------------ capturing

    def capture(self, said: Iterable[Message | Mapping[str, Any]], conversation: str = "") -> Ingested | None:
        """Keep what is worth it of a conversation; None, if the vault fails. What it holds already is passed over."""
        with going_on("written"):
            # Frameworks draw an id for a message each time they are given it: what was said tells it apart instead.
            messages = [replace(one, id="") for one in read(said)]
            done = self.engine.ingest(messages=messages, conversation=conversation, mode=self.mode)
            if done.applied.note:
                log.warning("What was said is saved, and not committed: %s", done.applied.note)
            for line in self.engine.said():
                log.warning("%s", line)
            for line in done.said:
                log.info("%s", line)
            return done
        return None

    async def acapture(self, said: Iterable[Message | Mapping[str, Any]], conversation: str = "") -> Ingested | None:
        """`capture`, beside the event loop."""
        return await asyncio.to_thread(self.capture, list(said), conversation)

    # ---------------------------------------------------------------------- tools

    def tools(self, wanted: bool | Sequence[str], prefix: str = PREFIX) -> list[Tool]:
        """The tools of these names (`toolbox`), or `TOOLS` for True, named so that they tell themselves from others."""
        names = TOOLS if wanted is True else tuple(wanted or ())
        known = {tool.name: tool for tool in Toolbox(self.engine).tools}
        for name in names:
            if name not in known:
                raise UsageError(f"There is no tool {name!r}: there are {', '.join(known)}.")
        return [replace(known[name], name=prefix + name) for name in names]


def use(tool: Tool, given: Mapping[str, Any]) -> str:
    """What a tool answers a model, as JSON; where it fails, the reason in words, so that the model can do otherwise."""
    try:
        return json.dumps(tool.call(given), ensure_ascii=False)
    except AtlasError as err:
        return f"Error: {err}"
    except OSError as err:
        log.warning("The tool %s could not reach the vault: %s", tool.name, err)
        return "Error: the memory cannot be reached now."


@contextmanager
def going_on(done: str) -> Iterator[None]:
    """Around what an agent can do without: errors of the vault and the disk are logged as a warning, not raised."""
    try:
        yield
    except (AtlasError, OSError) as err:
        log.warning("The agent goes on without its memory, which could not be %s: %s", done, err)


def asked(said: Iterable[Message]) -> str:
    """What a person said last, which is what an agent is to answer."""
    return next((one.text for one in reversed(list(said)) if one.role == USER and one.text.strip()), "")
