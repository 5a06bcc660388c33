"""An agent of Pydantic AI with a scripted model and a vault beside it: `run_pydantic_ai.py VAULT TURN…`."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from oracle import ordered, reply
from pydantic_ai import Agent, models
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from atlas.integrations.pydantic_ai import MemoryAtlas

models.ALLOW_MODEL_REQUESTS = False


class Oracle:
    """A model that answers from its instructions, and keeps what it was given."""

    def __init__(self) -> None:
        self.seen: list[tuple[str | None, list[ModelMessage]]] = []

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """What it says."""
        self.seen.append((info.instructions, list(messages)))
        parts = [part for one in messages for part in one.parts]
        said = str([part.content for part in parts if isinstance(part, UserPromptPart)][-1])
        order = ordered(said)
        if order and not isinstance(parts[-1], ToolReturnPart):
            return ModelResponse(parts=[ToolCallPart("memory_remember", order)])
        return ModelResponse(parts=[TextPart(reply(said, str(info.instructions)))])


async def talk(root: str, *turns: str) -> dict[str, Any]:
    """The answers to these turns."""
    memory = MemoryAtlas(root, tools=True)
    agent = Agent(FunctionModel(Oracle().answer), instructions="Be brief.", capabilities=[memory])
    answers, history = [], None
    for turn in turns:
        result = await agent.run(turn, message_history=history)
        answers.append(str(result.output))
        history = result.all_messages()
    memory.companion.close()
    return {"answers": answers}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(talk(*sys.argv[1:]))))
