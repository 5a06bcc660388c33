"""A crew of CrewAI with a scripted model and a vault's tools and memory: `run_crewai.py VAULT TURN…`."""

from __future__ import annotations

import json
import sys
from typing import Any

from crewai import Agent, BaseLLM, Crew, Task
from crewai.memory import Memory
from oracle import ordered, reply

from atlas.integrations.crewai import MemoryAtlasStorage, memory_tools


class Oracle(BaseLLM):
    """A model that answers in words, calling tools in words too, out of what stands in its prompt."""

    def __init__(self) -> None:
        super().__init__(model="oracle")
        self.seen: list[str] = []

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        said = [messages] if isinstance(messages, str) else [str(one["content"]) for one in messages]
        prompt = "\n".join(said)
        self.seen.append(prompt)
        turn = prompt.rpartition("Current Task: ")[2].partition("\n")[0]
        order = ordered(turn)
        if "Current Task: " not in prompt:
            return "{}"  # CrewAI's memory asks what a text is about, and does without
        if order and "Observation: {" not in prompt:
            return f"Thought: that is worth it.\nAction: memory_remember\nAction Input: {json.dumps(order)}"
        return f"Thought: I know.\nFinal Answer: {reply(turn, prompt)}"

    def supports_function_calling(self) -> bool:
        return False

    def get_context_window_size(self) -> int:
        return 8000


def ask(model: Oracle, turn: str, tools: list[Any], memory: Memory | None = None) -> str:
    """What a crew of one says to this."""
    agent = Agent(role="Desk", goal="Answer.", backstory="You know the office.", llm=model, tools=tools)
    task = Task(description=turn, expected_output="One sentence.", agent=agent)
    return str(Crew(agents=[agent], tasks=[task], memory=memory or False).kickoff())


def main(root: str, *turns: str) -> None:
    model = Oracle()
    storage = MemoryAtlasStorage(root)
    memory = Memory(storage=storage, embedder=storage.embedder, llm=model)
    answers = [ask(model, turn, memory_tools(storage.companion.engine), memory) for turn in turns]
    memory.close()
    print(json.dumps({"answers": answers}))


if __name__ == "__main__":
    main(*sys.argv[1:])
