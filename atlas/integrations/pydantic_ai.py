"""Pydantic AI: a capability that brings memories into an agent's instructions, and keeps what was said.

    agent = Agent(model, capabilities=[MemoryAtlas("./memory")])

Its parts may be used alone: `memory.instructions` for `@agent.instructions`, and `await memory.remember(result)` after
a run. Memories stand in the instructions of a request, never in a message, so no later turn sends old ones again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any, Self

from atlas.companion import Companion, asked, use
from atlas.integrations import needing
from atlas.messages import ASSISTANT, TOOL, USER, Call, Message
from atlas.remembering import Ingested
from atlas.toolspec import Tool

with needing("Pydantic AI", "pydantic-ai"):
    from pydantic_ai import AgentRunResult, FunctionToolset, RunContext
    from pydantic_ai import Tool as AgentTool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        ModelMessage,
        ModelResponse,
        RetryPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext


class MemoryAtlas(AbstractCapability[Any]):
    """A vault's memories for every request of an agent, and what was said in a run remembered, be it that it fails.

    The conversation is `conversation`, else that of the run. With `capture=False` nothing is stored. `tools` gives the
    agent tools for its memory too (`toolset`): `True` to search and to remember, or their names (`toolbox`). `options`
    are those of `Companion`.
    """

    def __init__(
        self,
        vault: Any,
        *,
        conversation: str = "",
        capture: bool = True,
        tools: bool | Sequence[str] = False,
        **options: Any,
    ) -> None:
        self.companion = Companion(vault, **options)
        self.conversation, self.capture = conversation, capture
        self.toolset = FunctionToolset([_bound(tool) for tool in self.companion.tools(tools)])
        self._sent: list[ModelMessage] = []

    # ------------------------------------------------------------------ recalling

    async def instructions(self, ctx: RunContext[Any]) -> str:
        """What the vault holds on what was asked, as instructions."""
        question = _said(ctx.prompt) or asked(_messages(ctx.messages))
        return await self.companion.arecall(question, self._conversation(ctx.conversation_id))

    def get_instructions(self) -> Any:
        """The same, as the agent asks for it."""
        return self.instructions

    def get_toolset(self) -> Any:
        """Its tools, as the agent asks for them."""
        return self.toolset if self.toolset.tools else None

    # ------------------------------------------------------------------ capturing

    async def remember(self, result: AgentRunResult[Any]) -> Ingested | None:
        """Keep what was said in a run; None, if the vault fails."""
        return await self._keep(result.new_messages(), result.conversation_id)

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Keep what was said in the run."""
        if self.capture:
            await self.remember(result)
        return result

    async def for_run(self, ctx: RunContext[Any]) -> Self:
        """One for this run, which knows what is said in it."""
        return copy(self)

    async def before_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> Any:
        """Take note of what was said so far: the context of a run that failed is that of its beginning."""
        self._sent = [one for one in ctx.messages if one.run_id == ctx.run_id]
        return request_context

    async def on_run_error(self, ctx: RunContext[Any], *, error: BaseException) -> AgentRunResult[Any]:
        """Keep what was said until the run failed; a run that was stopped is left alone."""
        if self.capture and isinstance(error, Exception):
            await self._keep(self._sent, ctx.conversation_id)
        raise error

    async def _keep(self, said: Sequence[ModelMessage], conversation: str | None) -> Ingested | None:
        return await self.companion.acapture(_messages(said), self._conversation(conversation))

    def _conversation(self, given: str | None) -> str:
        return self.conversation or given or ""


def _bound(tool: Tool) -> AgentTool[Any]:
    async def run(**given: Any) -> str:
        return await asyncio.to_thread(use, tool, given)

    return AgentTool.from_schema(run, tool.name, tool.about, tool.schema)


def _messages(said: Iterable[ModelMessage]) -> list[Message]:
    """What was said, called and answered; a system prompt is none of these."""
    return [message for one in said for message in (_answer(one) if isinstance(one, ModelResponse) else _given(one))]


def _answer(one: ModelResponse) -> Iterator[Message]:
    text = "\n".join(part.content for part in one.parts if isinstance(part, TextPart))
    calls = [part for part in one.parts if isinstance(part, ToolCallPart)]
    if text or calls:
        made = tuple(Call(call.tool_name, call.args_as_json_str(), call.tool_call_id) for call in calls)
        yield Message(ASSISTANT, text, time=one.timestamp, calls=made)


def _given(one: ModelMessage) -> Iterator[Message]:
    for part in one.parts:
        if isinstance(part, UserPromptPart):
            yield Message(USER, _said(part.content), time=part.timestamp)
        elif isinstance(part, ToolReturnPart):
            text, failed = part.model_response_str(), part.outcome != "success"
            yield Message(TOOL, text, part.timestamp, tool=part.tool_name, answers=part.tool_call_id, failed=failed)
        elif isinstance(part, RetryPromptPart) and part.tool_name:
            text, answers = part.model_response(), part.tool_call_id
            yield Message(TOOL, text, part.timestamp, tool=part.tool_name, answers=answers, failed=True)


def _said(content: str | Sequence[Any] | None) -> str:
    """The words of a prompt; pictures and files have none."""
    if content is None or isinstance(content, str):
        return content or ""
    texts = [one if isinstance(one, str) else getattr(one, "content", None) for one in content]
    return "\n".join(text for text in texts if isinstance(text, str))
