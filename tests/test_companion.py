"""A vault beside an agent, without a framework: what it recalls, what it keeps, and that it never stands in the way."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest
from filelock import FileLock

from atlas import MemoryEngine
from atlas.companion import Companion, asked, use
from atlas.errors import AtlasError, UsageError
from atlas.messages import Message
from atlas.toolspec import Tool

DESK = "My desk is on floor 5 of the Lisbon office."
SAID = [Message("user", DESK), Message("assistant", "Noted.")]


def said(caplog):
    return [one.message for one in caplog.records if one.name == "atlas.companion"]


def test_what_was_captured_is_recalled(engine):
    companion = Companion(engine)
    assert companion.recall("Where is my desk?") == ""
    assert len(companion.capture(SAID, "monday")) >= 1
    shown = companion.recall("Where is my desk?")
    assert shown.startswith("<memory-")
    assert "floor 5" in shown
    assert companion.view("Where is my desk?", budget=20) is None
    assert companion.recall("  ") == ""


def test_the_same_again_stores_nothing_whatever_ids_it_has(engine):
    companion = Companion(engine)
    companion.capture(SAID, "monday")
    again = [{"role": "user", "content": DESK, "id": "x1"}, {"role": "assistant", "content": "Noted.", "id": "x2"}]
    assert len(companion.capture(again, "monday")) == 0
    assert len(companion.capture([*again, {"role": "user", "content": "My cat is called Minka."}], "monday")) >= 1
    episodes = [one for one in engine.memories() if one.meta["kind"] == "episode"]
    assert sum("floor 5" in one.detail for one in episodes) == 1


def test_the_same_beside_the_event_loop(engine):
    companion = Companion(engine)

    async def both():
        await companion.acapture(SAID, "monday")
        return await companion.arecall("Where is my desk?"), await companion.arecall(" ")

    shown, nothing = asyncio.run(both())
    assert "floor 5" in shown
    assert nothing == ""


def test_a_folder_is_opened_and_closed_and_an_engine_is_the_callers(root, engine):
    with Companion(root) as companion:
        companion.capture(SAID)
    assert companion.engine is not engine
    with Companion(engine) as companion:
        assert "floor 5" in companion.recall("Where is my desk?")
    assert engine.search("desk").hits, "still open"


def test_a_scope_is_a_capability(root, engine):
    with Companion(root, scope="team") as companion:
        companion.capture(SAID)
        assert [one.path.startswith("team/") for one in engine.memories()] == [True] * len(engine.memories())
        assert companion.tools(["search"])[0].call({"query": "desk"})["results"]
    with Companion(root, scope="other") as companion:
        assert companion.recall("Where is my desk?") == ""
        assert companion.tools(["search"])[0].call({"query": "desk"})["results"] == []
    with pytest.raises(UsageError, match="open it with scope='team'"):
        Companion(engine, scope="team")


def test_filters_and_a_budget_hold_for_every_recall(engine):
    engine.ingest(DESK, kind="fact")
    engine.ingest("The desk of the office in Porto is on floor 2.", kind="note")
    assert "Porto" not in Companion(engine, filters={"kind": ["fact"]}).recall("Which floor is the desk on?")
    assert Companion(engine, budget=10).recall("Which floor is the desk on?") == ""


# ---------------------------------------------------------------------- failures


def test_a_vault_that_is_locked_is_a_warning_and_no_error(root, caplog):
    with (root / "atlas.toml").open("a") as file:
        file.write("\n[index]\nlock_seconds = 0.05\n")
    (root / ".atlas").mkdir(exist_ok=True)
    with FileLock(root / ".atlas" / "index.lock"), FileLock(root / ".atlas" / "write.lock"), Companion(root) as beside:
        assert beside.recall("Where is my desk?") == ""
        assert beside.capture(SAID) is None
        assert asyncio.run(beside.acapture(SAID)) is None
    assert [one.levelno for one in caplog.records] == [logging.WARNING] * 3
    assert "could not be read: The index is in use" in said(caplog)[0]
    assert "could not be written: " in said(caplog)[1]


def test_what_is_no_message_is_a_warning_that_names_it(engine, caplog):
    assert Companion(engine).capture([{"content": "Hello"}]) is None
    assert "Message 1 has no role" in said(caplog)[0]


def test_a_mistake_of_the_program_is_no_failure_of_the_vault(engine):
    with pytest.raises(TypeError):
        Companion(engine, filters={"colour": "red"}).recall("Where is my desk?")


def test_what_is_saved_and_not_committed_is_told(engine, root, git, caplog):
    git(root, "checkout", "-q", "--detach")
    assert len(Companion(engine).capture(SAID)) >= 1
    assert said(caplog)[0].startswith("What was said is saved, and not committed: ")


@pytest.mark.parametrize("wrong", [{"mode": "slow"}, {"budget": -1}])
def test_a_setting_that_cannot_be_meant_is_refused_at_once(engine, wrong):
    with pytest.raises(UsageError, match="fast or fine"):
        Companion(engine, **wrong)


def test_a_vault_is_opened_at_once_or_not_at_all(tmp_path):
    (tmp_path / "notes.md").write_text("# A note\n")
    with pytest.raises(AtlasError, match=r"no atlas\.toml"):
        Companion(tmp_path)


# ------------------------------------------------------------------------- tools


def test_tools_are_named_for_a_list_with_others(engine):
    companion = Companion(engine)
    assert [tool.name for tool in companion.tools(wanted=True)] == ["memory_search", "memory_remember"]
    assert [tool.name for tool in companion.tools(["view", "why"], "team_")] == ["team_view", "team_why"]
    assert companion.tools(wanted=False) == []
    with pytest.raises(UsageError, match="There is no tool 'fly'"):
        companion.tools(["fly"])


def test_a_tool_answers_in_json_and_fails_in_words(engine, caplog):
    search, remember = Companion(engine).tools(wanted=True)
    assert json.loads(use(remember, {"text": DESK}))["stored"][0]["title"]
    assert "floor 5" in use(search, {"query": "Where is my desk?"})
    assert use(search, {}) == "Error: `memory_search` wants 'query': a question or key words."

    def broken(**_):
        raise OSError("/home/ana/secret is gone")

    told = use(Tool("memory_broken", "", (), broken), {})
    assert told == "Error: the memory cannot be reached now."
    assert "/home/ana/secret" in said(caplog)[0], "for the program's log, not for the model"


def test_the_question_is_what_a_person_said_last():
    assert asked([]) == ""
    assert asked([*SAID, Message("user", "Where?"), Message("user", " "), Message("tool", "x")]) == "Where?"


def test_an_engine_that_another_thread_closed_does_not_stop_the_agent(root):
    companion = Companion(MemoryEngine(root))
    companion.engine.close()
    assert companion.recall("Where is my desk?") == ""
