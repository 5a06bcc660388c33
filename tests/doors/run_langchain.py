"""An agent of LangChain with a scripted model and a vault beside it: `run_langchain.py VAULT TURN…`."""

from __future__ import annotations

import json
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from oracle import ordered, reply
from pydantic import Field

from atlas.integrations.langchain import MemoryAtlasMiddleware


class Oracle(BaseChatModel):
    """A model that answers from its prompt, and keeps what it was given."""

    seen: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "oracle"

    def bind_tools(self, tools: Any, **_: Any) -> Oracle:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.seen.append(list(messages))
        prompt = "\n".join(str(one.text) for one in messages)
        said = [str(one.text) for one in messages if one.type == "human"][-1].rpartition("\n\n")[2]
        order = ordered(said)
        if order and not isinstance(messages[-1], ToolMessage):
            told = AIMessage(
                "", tool_calls=[{"name": "memory_remember", "args": order, "id": f"call-{len(self.seen)}"}]
            )
        else:
            told = AIMessage(reply(said, prompt))
        return ChatResult(generations=[ChatGeneration(message=told)])


def main(root: str, *turns: str) -> None:
    model = Oracle()
    middleware = MemoryAtlasMiddleware(root, tools=True)
    agent = create_agent(model, system_prompt="Be brief.", middleware=[middleware], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": f"thread of {turns[0]}"}}
    answers = [str(agent.invoke({"messages": [("user", turn)]}, config)["messages"][-1].text) for turn in turns]
    middleware.companion.close()
    print(json.dumps({"answers": answers, "calls": len(model.seen)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
