"""An agent of the OpenAI Agents SDK with a scripted model and a vault's session: `run_openai_agents.py VAULT TURN…`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from oracle import ordered, reply

from atlas.integrations.openai_agents import MemoryAtlasSession

set_tracing_disabled(disabled=True)


class Oracle(Model):
    """A model that answers from its instructions and its input, and keeps what it was given."""

    def __init__(self) -> None:
        self.seen: list[tuple[str | None, list[Any]]] = []

    async def get_response(self, system_instructions: str | None, input: Any, *_: Any, **__: Any) -> ModelResponse:
        items = [{"role": "user", "content": input}] if isinstance(input, str) else list(input)
        self.seen.append((system_instructions, items))
        said = [one["content"] for one in items if one.get("role") == "user"][-1]
        order = ordered(said)
        if order and items[-1].get("type") != "function_call_output":
            call = ResponseFunctionToolCall(
                type="function_call",
                name="memory_remember",
                arguments=json.dumps(order),
                call_id=f"call-{len(self.seen)}",
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        text = ResponseOutputText(type="output_text", text=reply(said, f"{system_instructions}"), annotations=[])
        told = ResponseOutputMessage(
            id="__fake_id__", type="message", role="assistant", status="completed", content=[text]
        )
        return ModelResponse(output=[told], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def talk(root: str, session: str, *turns: str) -> dict[str, Any]:
    """The answers to these turns, and the items of the session."""
    model = Oracle()
    async with MemoryAtlasSession(session, root) as memory:
        agent = Agent(name="Desk", instructions=memory.instructions("Be brief."), model=model, tools=memory.tools())
        answers = [str((await Runner.run(agent, turn, session=memory)).final_output) for turn in turns]
        return {"answers": answers, "items": await memory.get_items()}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(talk(*sys.argv[1:]))))
