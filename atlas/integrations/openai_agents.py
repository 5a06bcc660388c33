"""OpenAI Agents: a session that survives the process, and memories in an agent's instructions.

    session = MemoryAtlasSession("ana", "./memory")
    agent = Agent(name="Desk", instructions=session.instructions("Be brief."))
    await Runner.run(agent, "Where is my desk?", session=session)

The items of the session are kept word for word in the vault's journal (`transcripts`), and replayed exactly; what was
said also becomes memories, for this session and every other.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from atlas.companion import Companion, asked, use
from atlas.integrations import needing
from atlas.messages import ASSISTANT, TOOL, Call, Message, message, words
from atlas.toolspec import Tool
from atlas.transcripts import Transcript

with needing("OpenAI Agents", "openai-agents"):
    from agents import Agent, FunctionTool, RunContextWrapper, TResponseInputItem
    from agents.memory import SessionSettings

#: Gives the instructions of an agent for one call of its model.
Instructions = Callable[[RunContextWrapper[Any], Agent[Any]], Awaitable[str]]


class MemoryAtlasSession:
    """A session in a vault: give it to `Runner.run(…, session=…)`. `options` are those of `Companion`.

    With `capture=False` nothing said becomes a memory, and the session is no more than kept.
    """

    def __init__(
        self,
        session_id: str,
        vault: Any,
        *,
        session_settings: SessionSettings | None = None,
        capture: bool = True,
        **options: Any,
    ) -> None:
        self.session_id, self.session_settings = session_id, session_settings or SessionSettings()
        self.companion, self.capture = Companion(vault, **options), capture
        self._transcript = Transcript(self.companion.engine.config, session_id)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # ------------------------------------------------------------------- a session

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items, oldest first; the last `limit` of them."""
        most = self.session_settings.limit if limit is None else limit
        items = (await asyncio.to_thread(self._transcript.read)).items
        return items if most is None or most < 0 else items[len(items) - min(most, len(items)) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items; when the assistant has spoken, what was said becomes memories."""
        await asyncio.to_thread(self._add, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item back. What it became stays in memory: `atlas forget` is for that."""
        item: TResponseInputItem | None = await asyncio.to_thread(self._transcript.pop)
        return item

    async def clear_session(self) -> None:
        """Remove the items. What they became stays in memory."""
        await asyncio.to_thread(self._transcript.clear)

    def _add(self, items: Sequence[Any]) -> None:
        self._transcript.add(items)
        if self.capture and any(one.role == ASSISTANT and one.text for one in _messages(items)):
            self._keep()

    def _keep(self) -> None:
        told = self._transcript.read()
        said = _messages(told.new)
        if said and self.companion.capture(said, self.session_id) is not None:
            self._transcript.keep(len(told.items))

    async def flush(self) -> None:
        """Make memories of what was said and not answered: a model that raised leaves such words."""
        if self.capture:
            await asyncio.to_thread(self._keep)

    async def aclose(self) -> None:
        """Flush, and close the vault if it was opened here."""
        await self.flush()
        await asyncio.to_thread(self.companion.close)

    # ---------------------------------------------------------------- instructions

    def instructions(self, base: str = "") -> Instructions:
        """Instructions for an agent: `base`, and what the vault holds on the question, anew for every call."""
        return instructions(self.companion, base, conversation=self.session_id)

    def tools(self, wanted: bool | Sequence[str] = True) -> list[FunctionTool]:
        """Tools for an agent's memory: to search and to remember, or those of these names (`toolbox`)."""
        return tools(self.companion, wanted)


def tools(companion: Companion, wanted: bool | Sequence[str] = True) -> list[FunctionTool]:
    """The same for agents that keep no session."""
    return [_bound(tool) for tool in companion.tools(wanted)]


def _bound(tool: Tool) -> FunctionTool:
    async def run(_context: Any, arguments: str) -> str:
        try:
            given = json.loads(arguments or "{}")
        except ValueError as err:
            return f"Error: the arguments are not JSON: {err}"
        return await asyncio.to_thread(use, tool, given)

    return FunctionTool(tool.name, tool.about, tool.schema, run, strict_json_schema=False)


def instructions(companion: Companion, base: str = "", *, conversation: str = "") -> Instructions:
    """The same for agents that keep no session, or another one."""

    async def with_memories(context: RunContextWrapper[Any], agent: Agent[Any]) -> str:
        memories = await companion.arecall(asked(_messages(context.turn_input)), conversation)
        return "\n\n".join(filter(None, (base, memories)))

    return with_memories


def _messages(items: Iterable[Any]) -> list[Message]:
    """What of the items of a session was said, called and answered; reasoning is neither."""
    return [found for item in items if isinstance(item, Mapping) and (found := _message(item))]


def _message(item: Mapping[str, Any]) -> Message | None:
    kind = item.get("type", "message")
    if kind == "message" and item.get("role"):
        return message(item)
    if kind == "function_call":
        call = Call(str(item.get("name", "")), str(item.get("arguments", "")), str(item.get("call_id", "")))
        return Message(ASSISTANT, "", calls=(call,))
    if kind == "function_call_output":
        return Message(TOOL, words(item.get("output")), answers=str(item.get("call_id", "")))
    return None
