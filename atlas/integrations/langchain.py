"""LangChain: a middleware that puts memories in front of every model call, and keeps what was said.

    agent = create_agent(model, middleware=[MemoryAtlasMiddleware("./memory")])

Memories are part of the request alone: neither the messages of the agent's state nor its checkpoints ever hold them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from atlas import messages
from atlas.companion import PREFIX, Companion, use
from atlas.integrations import needing
from atlas.toolspec import Tool

with needing("LangChain", "langchain"):
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
    from langchain_core.tools import BaseTool, StructuredTool
    from langgraph.config import get_config
    from langgraph.errors import GraphBubbleUp
    from langgraph.runtime import Runtime

_NAME = "MemoryAtlasMiddleware"
#: What models take in no name of a tool.
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


def _merged(old: dict[str, str] | None, new: dict[str, str] | None) -> dict[str, str]:
    return {**(old or {}), **(new or {})}


class MemoryAtlasState(AgentState):
    """The agent's state, and beside it the id of the message up to which each middleware has captured.

    An id and not a number: a summary that takes the place of messages makes the list shorter.
    """

    atlas_captured: Annotated[dict[str, str], PrivateStateAttr, _merged]


class MemoryAtlasMiddleware(AgentMiddleware):
    """Memories in front of every model call of an agent, and what was said remembered after its run.

    `placement="system"` adds them behind the system prompt, `"last"` in front of the last thing the user said: then all
    before it stays the same, and a provider's prompt cache holds it. The conversation is the `thread_id` of the run,
    else `conversation`. With `capture=False` nothing is stored. Two of them in one agent need two names.

    `tools` gives the agent tools for its memory too: `True` to search and to remember, or their names (`toolbox`). They
    are called `memory_search` and so on, or by the middleware's name where it has one. `options` are those of
    `Companion`.
    """

    state_schema = MemoryAtlasState

    def __init__(
        self,
        vault: Any,
        *,
        placement: Literal["system", "last"] = "system",
        conversation: str = "",
        capture: bool = True,
        tools: bool | Sequence[str] = False,
        name: str = _NAME,
        **options: Any,
    ) -> None:
        super().__init__()
        if placement not in ("system", "last"):
            raise ValueError('The placement of memories is "system" or "last".')
        self.companion = Companion(vault, **options)
        self.placement, self.conversation, self.capture = placement, conversation, capture
        self._name = name
        prefix = PREFIX if name == _NAME else _UNFIT.sub("_", name) + "_"
        self.tools = [_bound(tool) for tool in self.companion.tools(tools, prefix)]

    @property
    def name(self) -> str:
        """What this one is called in the agent."""
        return self._name

    # ------------------------------------------------------------------ recalling

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        """The call with memories in it; what was said is kept even if the model raises."""
        memories = self.companion.recall(_question(request.messages), self._conversation())
        try:
            return handler(self._with(request, memories))
        except GraphBubbleUp:  # a pause of the run, and no failure
            raise
        except Exception:  # whatever a model raises, then no hook comes after it; it is raised again
            self._keep(request.state)
            raise

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """The same, beside the event loop."""
        memories = await self.companion.arecall(_question(request.messages), self._conversation())
        try:
            return await handler(self._with(request, memories))
        except GraphBubbleUp:
            raise
        except Exception:  # the same
            await self._akeep(request.state)
            raise

    def _with(self, request: ModelRequest, memories: str) -> ModelRequest:
        if not memories:
            return request
        place = _last_said(request.messages) if self.placement == "last" else None
        if place is None:
            return request.override(system_message=_behind(request.system_message, memories))
        said = list(request.messages)
        said[place] = said[place].model_copy(update={"content": _before(memories, said[place].content)})
        return request.override(messages=said)

    # ------------------------------------------------------------------ capturing

    def after_agent(self, state: MemoryAtlasState, runtime: Runtime) -> dict[str, Any] | None:
        """Keep what was said in this run."""
        return self._keep(state)

    async def aafter_agent(self, state: MemoryAtlasState, runtime: Runtime) -> dict[str, Any] | None:
        """The same, beside the event loop."""
        return await self._akeep(state)

    def _keep(self, state: Mapping[str, Any]) -> dict[str, Any] | None:
        said = self._new(state)
        done = self.companion.capture(said, self._conversation()) if said else None
        return None if done is None else self._captured(said)

    async def _akeep(self, state: Mapping[str, Any]) -> dict[str, Any] | None:
        said = self._new(state)
        done = await self.companion.acapture(said, self._conversation()) if said else None
        return None if done is None else self._captured(said)

    def _captured(self, said: Sequence[AnyMessage]) -> dict[str, Any]:
        return {"atlas_captured": {self.name: str(said[-1].id or "")}}

    def _new(self, state: Mapping[str, Any]) -> list[AnyMessage]:
        """The messages after the one captured last; all of them where that is gone: the vault knows what it has."""
        if not self.capture:
            return []
        last = (state.get("atlas_captured") or {}).get(self.name)
        said = list(state["messages"])
        start = next((n for n in range(len(said), 0, -1) if last and said[n - 1].id == last), 0)
        return [one for one in said[start:] if one.additional_kwargs.get("lc_source") != "summarization"]

    def _conversation(self) -> str:
        try:
            thread = get_config().get("configurable", {}).get("thread_id")
        except RuntimeError:  # a hook called outside of a run
            thread = None
        return str(thread or self.conversation)


def _last_said(said: Sequence[AnyMessage]) -> int | None:
    """Where the last message of a person stands; what follows it, calls of tools and answers, must not be parted."""
    return next((n for n in range(len(said) - 1, -1, -1) if isinstance(said[n], HumanMessage)), None)


def _question(said: Sequence[AnyMessage]) -> str:
    place = _last_said(said)
    return "" if place is None else messages.words(said[place].content)


def _behind(prompt: SystemMessage | None, memories: str) -> SystemMessage:
    """The system prompt with memories behind it, in a block of their own: what a cache holds of it stays as it was."""
    block = {"type": "text", "text": memories}
    if prompt is None:
        return SystemMessage([block])
    old = [{"type": "text", "text": prompt.content}] if isinstance(prompt.content, str) else prompt.content
    return prompt.model_copy(update={"content": [*old, block]})


def _before(memories: str, content: str | list[Any]) -> str | list[Any]:
    """Memories in front of the content of a message, in the same form: some servers take nothing but a text."""
    if isinstance(content, str):
        return f"{memories}\n\n{content}"
    return [{"type": "text", "text": memories}, *content]


def _bound(tool: Tool) -> BaseTool:
    def run(**given: Any) -> str:
        return use(tool, given)

    async def arun(**given: Any) -> str:
        return await asyncio.to_thread(use, tool, given)

    return StructuredTool(
        name=tool.name, description=tool.about, args_schema=tool.schema, func=run, coroutine=arun, tags=["memory"]
    )
