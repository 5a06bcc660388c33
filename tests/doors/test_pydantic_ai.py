"""Pydantic AI's own agents with the capability: what a request holds, what the vault keeps."""

from __future__ import annotations

import asyncio
import logging

import pytest
from oracle import DESK, STANDUP, kept
from pydantic_ai import Agent
from pydantic_ai.messages import ImageUrl, ModelMessagesTypeAdapter, ModelResponse, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from run_pydantic_ai import Oracle

from atlas.integrations.pydantic_ai import MemoryAtlas

pytestmark = pytest.mark.agents
QUESTION = "Where is my desk?"


def broken(_messages, _info):
    """A model whose provider is down."""
    raise ConnectionError("the provider is down")


def agent_of(memory, model=None):
    model = model or Oracle()
    answer = model.answer if isinstance(model, Oracle) else model
    return Agent(FunctionModel(answer), instructions="Be brief.", capabilities=[memory]), model


# ----------------------------------------------------------------- two processes


def test_what_is_said_in_one_process_is_known_in_the_next(run):
    assert run("pydantic_ai", DESK, f"Remember: {STANDUP}")["answers"] == ["Noted.", "Noted."]
    second = run("pydantic_ai", "Where is my desk?", "When is the standup?")
    assert second["answers"] == ["It is floor 5.", "It is 9:40."]


# --------------------------------------------------------------------- injecting


def test_memories_are_in_the_instructions_and_in_no_message(engine):
    engine.ingest(DESK)
    agent, model = agent_of(MemoryAtlas(engine, capture=False))
    first = agent.run_sync(QUESTION)
    assert first.output == "It is floor 5."
    assert model.seen[0][0].startswith("Be brief.\n\n<memory-")
    parts = [str(part) for one in first.all_messages() for part in one.parts]
    assert not any("<memory-" in part for part in parts)
    saved = ModelMessagesTypeAdapter.dump_json(first.all_messages())
    assert ModelMessagesTypeAdapter.validate_json(saved) == first.all_messages()


def test_the_question_is_found_in_a_prompt_of_parts_and_in_the_history(engine):
    engine.ingest(DESK)
    memory = MemoryAtlas(engine, capture=False)
    agent, model = agent_of(memory)
    result = agent.run_sync([QUESTION, ImageUrl("https://example.test/desk.png")])
    assert "<memory-" in model.seen[0][0]
    agent.run_sync(message_history=result.all_messages()[:1])
    assert "<memory-" in model.seen[1][0]


def test_the_parts_work_alone(engine):
    engine.ingest(DESK)
    memory = MemoryAtlas(engine)
    model = Oracle()
    agent = Agent(FunctionModel(model.answer), toolsets=[memory.toolset])
    agent.instructions(memory.instructions)
    result = agent.run_sync(QUESTION)
    assert result.output == "It is floor 5."
    assert kept(engine) == []
    asyncio.run(memory.remember(result))
    asyncio.run(memory.remember(result))
    assert "\n".join(kept(engine)).count(QUESTION) == 1


# --------------------------------------------------------------------- capturing


def test_each_word_is_kept_once(engine):
    agent, _ = agent_of(MemoryAtlas(engine))
    first = agent.run_sync(DESK)
    agent.run_sync(STANDUP, message_history=first.all_messages())
    text = "\n".join(kept(engine))
    assert [text.count(one) for one in (DESK, STANDUP)] == [1, 1]
    sources = {str(one.meta["source"]).partition("#")[0] for one in engine.memories()}
    assert len(sources) == 1, "one conversation"


def test_what_was_said_is_kept_when_the_model_raises(engine):
    agent, _ = agent_of(MemoryAtlas(engine), broken)
    with pytest.raises(ConnectionError):
        agent.run_sync(DESK)
    assert "\n".join(kept(engine)).count(DESK) == 1


def test_what_was_said_before_a_later_request_failed_is_kept(engine):
    def tired(messages, info):
        if len(messages) > 1:
            broken(messages, info)
        return ModelResponse(parts=[ToolCallPart("clock", {})])

    agent, _ = agent_of(MemoryAtlas(engine), tired)
    agent.tool_plain(clock)
    with pytest.raises(ConnectionError):
        agent.run_sync(DESK)
    assert "\n".join(kept(engine)).count(DESK) == 1


def clock() -> str:
    """The time."""
    return "noon"


def test_a_tool_is_called_with_what_its_schema_says(engine):
    """The framework's own test model calls every tool with arguments drawn from its schema."""
    memory = MemoryAtlas(engine, tools=["search", "remember"], capture=False)
    result = Agent(TestModel(), capabilities=[memory]).run_sync("Go on.")
    assert "memory_search" in result.output
    assert "memory_remember" in result.output


def test_runs_at_once_do_not_mix(engine):
    memory = MemoryAtlas(engine)

    async def both():
        agent, _ = agent_of(memory)
        return await asyncio.gather(*(agent.run(f"{DESK} Number {n}.") for n in range(4)))

    asyncio.run(both())
    text = "\n".join(kept(engine))
    assert [text.count(f"Number {n}.") for n in range(4)] == [1, 1, 1, 1]


def test_runs_at_once_keep_their_own_words_when_they_fail(engine):
    memory, both = MemoryAtlas(engine), asyncio.Barrier(2)

    async def late(_messages, _info):
        await both.wait()
        raise ConnectionError("the provider is down")

    async def fail():
        agent, _ = agent_of(memory, late)
        return await asyncio.gather(agent.run(DESK), agent.run(STANDUP), return_exceptions=True)

    assert [type(one) for one in asyncio.run(fail())] == [ConnectionError, ConnectionError]
    text = "\n".join(kept(engine))
    assert [text.count(one) for one in (DESK, STANDUP)] == [1, 1]


# ---------------------------------------------------------------------- failures


def test_an_agent_goes_on_without_its_memory(locked, caplog):
    engine, _ = locked
    agent, _ = agent_of(MemoryAtlas(engine))
    with caplog.at_level(logging.WARNING, "atlas.companion"):
        assert agent.run_sync(QUESTION).output == "I do not know."
    assert len(caplog.records) == 2
