"""LangChain's own agents, with the middleware: what its model is given, what its state holds, what the vault keeps."""

from __future__ import annotations

import asyncio
import logging

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from oracle import DESK, STANDUP, kept
from run_langchain import Oracle

from atlas.integrations.langchain import MemoryAtlasMiddleware

pytestmark = pytest.mark.agents
QUESTION = "Where is my desk?"


class Broken(Oracle):
    """A model whose provider is down."""

    def _generate(self, messages, *_, **__):
        self.seen.append(list(messages))
        raise ConnectionError("the provider is down")


def agent_of(engine, model=None, *, thread="one", more=(), checkpointer=None, **options):
    """An agent over this engine, how to call it, and its model."""
    model = Oracle() if model is None else model
    middleware = [MemoryAtlasMiddleware(engine, **options), *more]
    made = create_agent(model, system_prompt="Be brief.", middleware=middleware, checkpointer=checkpointer)
    return made, {"configurable": {"thread_id": thread}}, model


def ask(made, config, said):
    return made.invoke({"messages": [("user", said)]}, config)["messages"]


# ----------------------------------------------------------------- two processes


def test_what_is_said_in_one_process_is_known_in_the_next(run):
    first = run("langchain", DESK, f"Remember: {STANDUP}")
    assert first == {"answers": ["Noted.", "Noted."], "calls": 3}
    assert run("langchain", "Where is my desk?", "When is the standup?")["answers"] == ["It is floor 5.", "It is 9:40."]


# --------------------------------------------------------------------- injecting


def test_memories_are_in_the_request_and_nowhere_else(engine):
    engine.ingest(DESK)
    saver = InMemorySaver()
    made, config, model = agent_of(engine, checkpointer=saver, capture=False)
    said = ask(made, config, QUESTION)
    assert said[-1].text == "It is floor 5."
    system = model.seen[0][0]
    assert system.content[0]["text"] == "Be brief."
    assert "<memory-" in system.content[1]["text"]
    assert [one.type for one in model.seen[0]] == ["system", "human"]
    assert [one.type for one in said] == ["human", "ai"]
    state = made.get_state(config).values
    assert "<memory-" not in str(state)
    assert set(made.invoke({"messages": [("user", "And now?")]}, config)) == {"messages"}
    assert "<memory-" not in str(saver.storage)


def test_the_blocks_of_a_system_prompt_stay_as_they_are(engine):
    engine.ingest(DESK)
    block = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    model = Oracle()
    made = create_agent(
        model, system_prompt=SystemMessage([block], id="s"), middleware=[MemoryAtlasMiddleware(engine, capture=False)]
    )
    made.invoke({"messages": [("user", QUESTION)]})
    system = model.seen[0][0]
    assert system.content[0] == block
    assert "<memory-" in system.content[1]["text"]
    assert system.id == "s"


def test_memories_in_front_of_the_last_thing_said_leave_all_before_it_the_same(engine):
    engine.ingest(DESK)
    made, config, model = agent_of(engine, placement="last", checkpointer=InMemorySaver())
    ask(made, config, "What is on floor 5?")
    said = ask(made, config, QUESTION)
    first, second = model.seen
    assert [one.type for one in second] == ["system", "human", "ai", "human"]
    assert second[0].content == first[0].content == "Be brief."
    assert second[1].content == "What is on floor 5?", "an earlier turn is as the user typed it"
    assert second[3].content.startswith("<memory-")
    assert second[3].content.endswith(f"\n\n{QUESTION}")
    assert said[-2].content == QUESTION


def test_a_message_of_blocks_keeps_its_blocks(engine):
    engine.ingest(DESK)
    made, config, model = agent_of(engine, placement="last", capture=False)
    picture = {"type": "image", "url": "https://example.test/desk.png"}
    made.invoke({"messages": [HumanMessage([{"type": "text", "text": QUESTION}, picture])]}, config)
    content = model.seen[0][-1].content
    assert "<memory-" in content[0]["text"]
    assert content[1:] == [{"type": "text", "text": QUESTION}, picture]


def test_a_call_and_its_answer_are_not_parted(engine):
    @tool
    def clock() -> str:
        """The time."""
        return "noon"

    class Clocked(Oracle):
        def _generate(self, messages, *rest, **more):
            done = super()._generate(messages, *rest, **more)
            if messages[-1].type == "human":
                done.generations[0].message = AIMessage("", tool_calls=[{"name": "clock", "args": {}, "id": "1"}])
            return done

    engine.ingest(DESK)
    model = Clocked()
    middleware = MemoryAtlasMiddleware(engine, placement="last")
    made = create_agent(model, tools=[clock], middleware=[middleware])
    assert made.invoke({"messages": [("user", QUESTION)]})["messages"][-1].text == "It is floor 5."
    first, second = model.seen
    assert [one.type for one in second] == ["human", "ai", "tool"]
    assert first[0].content == second[0].content, "the same question in one run gives the same prompt"


def test_no_memories_change_nothing(engine):
    made, config, model = agent_of(engine)
    ask(made, config, "Hello there.")
    assert model.seen[0][0].content == "Be brief."


def test_a_placement_is_one_of_two(engine):
    with pytest.raises(ValueError, match='"system" or "last"'):
        MemoryAtlasMiddleware(engine, placement="first")


# --------------------------------------------------------------------- capturing


def test_each_message_is_captured_once(engine):
    made, config, _ = agent_of(engine, checkpointer=InMemorySaver())
    ask(made, config, DESK)
    ask(made, config, STANDUP)
    ask(made, config, "My cat is called Minka.")
    text = "\n".join(kept(engine))
    assert [text.count(said) for said in (DESK, STANDUP, "Minka.")] == [1, 1, 1]
    assert made.get_state(config).values["atlas_captured"].keys() == {"MemoryAtlasMiddleware"}


def test_a_history_that_the_caller_keeps_is_captured_once(engine):
    made, config, _ = agent_of(engine)
    said = [("user", DESK)]
    said = [*said, ("ai", made.invoke({"messages": said}, config)["messages"][-1].text), ("user", STANDUP)]
    made.invoke({"messages": said}, config)
    text = "\n".join(kept(engine))
    assert [text.count(one) for one in (DESK, STANDUP)] == [1, 1]


def test_what_was_said_is_kept_when_the_model_raises(engine):
    saver = InMemorySaver()
    made, config, _ = agent_of(engine, Broken(), checkpointer=saver)
    with pytest.raises(ConnectionError):
        ask(made, config, DESK)
    assert "\n".join(kept(engine)).count(DESK) == 1
    again, config, _ = agent_of(engine, checkpointer=saver)
    ask(again, config, QUESTION)
    assert "\n".join(kept(engine)).count(DESK) == 1, "and once, when the run goes on"


def test_a_run_that_pauses_has_not_failed(engine):
    class Asking(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            interrupt("May I?")
            return handler(request)

    made, config, _ = agent_of(engine, checkpointer=InMemorySaver(), more=[Asking()])
    made.invoke({"messages": [("user", DESK)]}, config)
    assert kept(engine) == []
    assert made.invoke(Command(resume="yes"), config)["messages"][-1].text == "Noted."
    assert "\n".join(kept(engine)).count(DESK) == 1


def test_a_summary_in_the_place_of_messages_is_no_message(engine):
    class Short(Oracle):
        def _generate(self, messages, *rest, **more):
            return super()._generate(messages or [HumanMessage("")], *rest, **more)

    summary = SummarizationMiddleware(model=Short(), trigger=("messages", 4), keep=("messages", 1), token_counter=len)
    made, config, _ = agent_of(engine, checkpointer=InMemorySaver(), more=[summary])
    for said in (DESK, STANDUP, "My cat is called Minka.", "My dog is called Bo."):
        ask(made, config, said)
    state = made.get_state(config).values["messages"]
    assert any(one.additional_kwargs.get("lc_source") == "summarization" for one in state)
    text = "\n".join(kept(engine))
    assert "summary" not in text
    assert [text.count(one) for one in (DESK, STANDUP, "Minka", "Bo.")] == [1, 1, 1, 1]


def test_threads_are_conversations_of_their_own(engine):
    made, config, _ = agent_of(engine, checkpointer=InMemorySaver(), thread="ana")
    ask(made, config, DESK)
    ask(made, {"configurable": {"thread_id": "ben"}}, STANDUP)
    sources = {str(one.meta["source"]).partition("#")[0] for one in engine.memories()}
    assert sources == {"ana", "ben"}


def test_nothing_is_captured_without_leave(engine):
    made, config, _ = agent_of(engine, capture=False)
    ask(made, config, DESK)
    assert kept(engine) == []


# --------------------------------------------------------- async, streams, several


def test_the_same_beside_the_event_loop(engine):
    made, config, model = agent_of(engine, checkpointer=InMemorySaver())

    async def both():
        await made.ainvoke({"messages": [("user", DESK)]}, config)
        return await made.ainvoke({"messages": [("user", QUESTION)]}, {"configurable": {"thread_id": "two"}})

    assert asyncio.run(both())["messages"][-1].text == "It is floor 5."
    assert "\n".join(kept(engine)).count(DESK) == 1
    assert "<memory-" in str(model.seen[1][0].content)


def test_what_was_said_is_kept_when_the_model_raises_beside_the_event_loop(engine):
    made, config, _ = agent_of(engine, Broken())
    with pytest.raises(ConnectionError):
        asyncio.run(made.ainvoke({"messages": [("user", DESK)]}, config))
    assert "\n".join(kept(engine)).count(DESK) == 1


def test_an_answer_streams_through(engine):
    engine.ingest(DESK)
    made, config, _ = agent_of(engine)
    chunks = list(made.stream({"messages": [("user", QUESTION)]}, config, stream_mode="messages"))
    assert "".join(chunk.text for chunk, _ in chunks) == "It is floor 5."
    assert any(QUESTION in one for one in kept(engine))


def test_two_vaults_beside_one_agent(engine, tmp_path, make_repo):
    from atlas import MemoryEngine
    from atlas.template import create

    create(make_repo(tmp_path / "team"))
    with MemoryEngine(tmp_path / "team") as team:
        team.ingest(STANDUP)
        other = MemoryAtlasMiddleware(team, name="team", capture=False, tools=True)
        made, config, model = agent_of(engine, more=[other], tools=True, checkpointer=InMemorySaver())
        assert ask(made, config, "When is the standup?")[-1].text == "It is 9:40."
        ask(made, config, DESK)
        assert {"memory_search", "memory_remember", "team_search", "team_remember"} <= {
            one.name for one in made.nodes["tools"].bound.tools_by_name.values()
        }
        assert team.memories() != []
        assert all(DESK not in one.detail for one in team.memories())
        assert str(model.seen[0][0].content).count("</memory-") == 1


def test_two_of_one_name_are_refused_by_the_framework(engine):
    with pytest.raises(AssertionError, match="duplicate middleware"):
        agent_of(engine, more=[MemoryAtlasMiddleware(engine)])


# ------------------------------------------------------------------------- tools


def test_a_tool_that_fails_tells_the_model_why(engine):
    (search, remember) = MemoryAtlasMiddleware(engine, tools=True).tools
    assert "no argument 'question'" in search.invoke({"question": "x"})
    assert search.invoke({"query": "desk", "k": 0}).startswith("Error: ")
    assert '"stored"' in asyncio.run(remember.ainvoke({"text": DESK}))
    assert "floor 5" in search.invoke({"query": QUESTION})


# ---------------------------------------------------------------------- failures


def test_an_agent_goes_on_without_its_memory(locked, caplog):
    """A vault that another process holds: the answer comes all the same, and a warning says what happened."""
    engine, release = locked
    made, config, _ = agent_of(engine, checkpointer=InMemorySaver())
    with caplog.at_level(logging.WARNING, "atlas.companion"):
        assert ask(made, config, QUESTION)[-1].text == "I do not know."
    assert [one.levelname for one in caplog.records] == ["WARNING", "WARNING"]
    assert all("goes on without its memory" in one.message for one in caplog.records)
    release()
    ask(made, config, DESK)
    text = "\n".join(kept(engine))
    assert [text.count(one) for one in (QUESTION, DESK)] == [1, 1], "what could not be kept then is kept now"
