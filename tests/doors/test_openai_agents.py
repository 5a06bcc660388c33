"""The OpenAI Agents SDK's own runner over a session in a vault."""

from __future__ import annotations

import asyncio
import logging

import pytest
from agents import Agent, Runner
from agents.memory import Session, SessionSettings
from oracle import DESK, STANDUP, kept
from run_openai_agents import Oracle

from atlas.integrations.openai_agents import MemoryAtlasSession, instructions

pytestmark = pytest.mark.agents
QUESTION = "Where is my desk?"


class Broken(Oracle):
    """A model whose provider is down."""

    async def get_response(self, *_, **__):
        raise ConnectionError("the provider is down")


def talk(session, *turns, model=None):
    """The answers to these turns, one after the other, and the model."""
    model = model or Oracle()

    async def run():
        agent = Agent(name="Desk", instructions=session.instructions("Be brief."), model=model)
        return [str((await Runner.run(agent, turn, session=session)).final_output) for turn in turns]

    return asyncio.run(run()), model


# ----------------------------------------------------------------- two processes


def test_what_is_said_in_one_process_is_known_in_the_next(run):
    first = run("openai_agents", "monday", DESK, f"Remember: {STANDUP}")
    assert first["answers"] == ["Noted.", "Noted."]
    second = run("openai_agents", "tuesday", "Where is my desk?", "When is the standup?")
    assert second["answers"] == ["It is floor 5.", "It is 9:40."]


def test_a_session_goes_on_in_another_process_item_for_item(run):
    first = run("openai_agents", "monday", DESK, f"Remember: {STANDUP}")
    kinds = [one.get("type", one.get("role")) for one in first["items"]]
    assert kinds == ["user", "message", "user", "function_call", "function_call_output", "message"]
    again = run("openai_agents", "monday", QUESTION)
    assert again["items"][: len(first["items"])] == first["items"]
    assert len(again["items"]) == len(first["items"]) + 2


# ----------------------------------------------------------------------- session


def test_it_is_a_session_as_the_framework_means_it(engine):
    session = MemoryAtlasSession("ana", engine)
    assert isinstance(session, Session)

    async def use():
        items = [{"role": "user", "content": str(n)} for n in range(5)]
        await session.add_items(items)
        assert await session.get_items() == items
        assert await session.get_items(2) == items[3:]
        assert await session.get_items(0) == []
        assert await session.get_items(9) == items
        session.session_settings = SessionSettings(limit=1)
        assert await session.get_items() == items[4:]
        assert await session.pop_item() == items[4]
        await session.clear_session()
        assert await session.pop_item() is None
        assert await session.get_items() == []

    asyncio.run(use())


def test_an_item_that_is_no_json_is_refused_whole(engine):
    session = MemoryAtlasSession("ana", engine)
    with pytest.raises(TypeError):
        asyncio.run(session.add_items([{"role": "user", "content": "a"}, {"role": "user", "content": object()}]))
    assert asyncio.run(session.get_items()) == []


def test_memories_are_in_the_instructions_and_in_no_item(engine):
    engine.ingest(DESK)
    session = MemoryAtlasSession("ana", engine)
    answers, model = talk(session, QUESTION)
    assert answers == ["It is floor 5."]
    told, items = model.seen[0]
    assert told.startswith("Be brief.\n\n<memory-")
    assert items == [{"role": "user", "content": QUESTION}]
    assert "<memory-" not in str(asyncio.run(session.get_items()))


def test_each_word_is_kept_once(engine):
    session = MemoryAtlasSession("ana", engine)
    talk(session, DESK, STANDUP)
    assert session._transcript.read().new == [], "nothing is given twice"
    talk(MemoryAtlasSession("ana", engine), "My cat is called Minka.")
    text = "\n".join(kept(engine))
    assert [text.count(one) for one in (DESK, STANDUP, "Minka.")] == [1, 1, 1]


def test_what_was_said_is_kept_when_the_model_raises(engine):
    session = MemoryAtlasSession("ana", engine)
    with pytest.raises(ConnectionError):
        talk(session, DESK, model=Broken())
    assert asyncio.run(session.get_items()) == [{"role": "user", "content": DESK}]
    asyncio.run(session.flush())
    assert "\n".join(kept(engine)).count(DESK) == 1
    talk(session, QUESTION)
    assert "\n".join(kept(engine)).count(DESK) == 1


def test_a_session_may_only_be_kept(engine):
    session = MemoryAtlasSession("ana", engine, capture=False)
    talk(session, DESK)
    asyncio.run(session.flush())
    assert engine.memories() == []
    assert len(asyncio.run(session.get_items())) == 2


def test_an_agent_without_a_session_has_memories_too(engine):
    engine.ingest(DESK)
    companion = MemoryAtlasSession("ana", engine).companion
    model = Oracle()
    agent = Agent(name="Desk", instructions=instructions(companion), model=model)
    assert asyncio.run(Runner.run(agent, QUESTION)).final_output == "It is floor 5."
    assert model.seen[0][0].startswith("<memory-")


def test_a_tool_takes_broken_arguments_as_a_model_sends_them(engine):
    (search, _) = MemoryAtlasSession("ana", engine).tools()
    assert "not JSON" in asyncio.run(search.on_invoke_tool(None, "{"))
    assert "wants 'query'" in asyncio.run(search.on_invoke_tool(None, ""))


# ---------------------------------------------------------------------- failures


def test_an_agent_goes_on_without_its_memory(locked, caplog):
    engine, release = locked
    session = MemoryAtlasSession("ana", engine)
    with caplog.at_level(logging.WARNING, "atlas.companion"):
        answers, _ = talk(session, DESK, QUESTION)
    assert answers == ["Noted.", "I do not know."]
    assert len(caplog.records) == 4
    assert len(asyncio.run(session.get_items())) == 4, "the session itself needs no index"
    release()
    asyncio.run(session.flush())
    text = "\n".join(kept(engine))
    assert [text.count(one) for one in (DESK, QUESTION)] == [1, 1]
