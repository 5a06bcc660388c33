"""LlamaIndex's own engines over a vault: what they retrieve, what its memory holds, what the vault keeps."""

from __future__ import annotations

import asyncio
import logging

import pytest
from llama_index.core.chat_engine import ContextChatEngine, SimpleChatEngine
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import InsertMethod
from llama_index.core.query_engine import RetrieverQueryEngine
from oracle import DESK, STANDUP, kept
from run_llamaindex import Oracle, count, memory_of

from atlas.integrations.llamaindex import MemoryAtlasBlock, MemoryAtlasRetriever

pytestmark = pytest.mark.agents
QUESTION = "Where is my desk?"


def text_of(messages):
    return "\n".join(str(one.content) for one in messages)


# ----------------------------------------------------------------- two processes


def test_what_is_said_in_one_process_is_known_in_the_next(run):
    assert run("llamaindex", DESK, STANDUP)["answers"] == ["Noted.", "Noted."]
    second = run("llamaindex", "Where is my desk?", "When is the standup?")
    assert second["answers"] == ["It is floor 5.", "It is 9:40."]


# --------------------------------------------------------------------- retrieving


def test_a_query_engine_answers_from_the_vault(engine):
    (id,) = engine.ingest(DESK, kind="fact")
    engine.ingest(STANDUP)
    retriever = MemoryAtlasRetriever(engine, k=1)
    answer = RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query(QUESTION)
    (found,) = answer.source_nodes
    assert found.node.node_id == id
    assert found.node.metadata["kind"] == "fact"
    assert found.node.metadata["path"].startswith("memories/")
    assert DESK in str(answer)
    assert "memories/" not in str(answer), "a path is not for the model"


def test_the_same_beside_the_event_loop(engine):
    engine.ingest(DESK)
    retriever = MemoryAtlasRetriever(engine)
    nodes = asyncio.run(retriever.aretrieve(QUESTION))
    assert [one.node.text for one in nodes] == [one.node.text for one in retriever.retrieve(QUESTION)]


def test_a_chat_engine_has_the_vault_as_context(engine):
    engine.ingest(DESK)
    block = MemoryAtlasBlock(engine)
    chat = ContextChatEngine.from_defaults(
        retriever=MemoryAtlasRetriever(engine), llm=Oracle(), memory=memory_of(block, "ana")
    )
    assert str(chat.chat(QUESTION)) == "It is floor 5."


def test_a_search_is_narrowed(engine):
    engine.ingest(DESK, tags=["office"])
    engine.ingest("My desk at home is by the window.")
    nodes = MemoryAtlasRetriever(engine, search={"tag": ["office"]}).retrieve(QUESTION)
    assert [one.node.text for one in nodes] == [DESK]
    assert MemoryAtlasRetriever(engine, filters={"kind": ["skill"]}).retrieve(QUESTION) == []


def test_nothing_is_retrieved_where_nothing_is_likely_to_answer(engine):
    engine.ingest(DESK)
    assert MemoryAtlasRetriever(engine).retrieve("zebra finch migration") == []


def test_what_a_memory_says_passes_for_no_mark_of_a_prompt(engine):
    engine.ingest("The desk says <|im_end|> and more.")
    (found,) = MemoryAtlasRetriever(engine).retrieve("What does the desk say?")
    assert "<|im_end|>" not in found.node.text


# ------------------------------------------------------------------------- block


@pytest.mark.parametrize("method", [InsertMethod.SYSTEM, InsertMethod.USER])
def test_memories_are_in_the_prompt_and_not_in_the_history(engine, method):
    engine.ingest(DESK)
    memory = memory_of(MemoryAtlasBlock(engine), "ana", insert_method=method)
    model = Oracle(seen=[])
    chat = SimpleChatEngine.from_defaults(llm=model, memory=memory)
    assert str(chat.chat(QUESTION)) == "It is floor 5."
    assert "<memory>\n<atlas>\n<memory-" in model.seen[0]
    assert "<memory-" not in text_of(memory.get_all())


def test_a_long_chat_is_captured_as_it_leaves_and_the_rest_at_the_end(engine):
    block = MemoryAtlasBlock(engine)
    memory = memory_of(block, "ana", token_limit=600, token_flush_size=120, chat_history_token_ratio=0.5)
    said = [f"Shelf number {n} of the archive holds the letters of {1800 + n}." for n in range(20)]
    for one in said:
        memory.put_messages([ChatMessage(role="user", content=one), ChatMessage(role="assistant", content="Noted.")])
    before = "\n".join(kept(engine))
    assert 0 < sum(one in before for one in said) < len(said)
    block.flush(memory)
    after = "\n".join(kept(engine))
    assert [after.count(one) for one in said] == [1] * len(said)
    assert {str(one.meta["source"]).partition("#")[0] for one in engine.memories()} == {"ana"}
    block.flush(memory)
    assert "\n".join(kept(engine)) == after


def test_a_block_that_has_too_little_room_is_told_in_fewer_tokens(engine):
    for n in range(12):
        engine.ingest(f"Shelf number {n} of the archive holds the letters of {1800 + n}, bound in red leather.")
    block = MemoryAtlasBlock(engine)
    question = ChatMessage(role="user", content="What does the shelf of the archive hold?")
    wide, narrow = (memory_of(block, "ana", token_limit=limit) for limit in (3000, 200))
    texts = []
    for memory in (wide, narrow):
        memory.put(question)
        texts.append(text_of(memory.get()))
    assert [text.count("</memory-") for text in texts] == [1, 1], "fewer memories, and the frame whole"
    assert 0 < texts[1].count("letters of") < texts[0].count("letters of")
    assert len(count(texts[1])) <= 200


def test_a_text_that_is_not_the_blocks_is_not_made_shorter(engine):
    block = MemoryAtlasBlock(engine)
    assert asyncio.run(block.atruncate("what nobody was told", 10)) is None


# ---------------------------------------------------------------------- failures


def test_an_engine_goes_on_without_its_memory(locked, caplog):
    engine, release = locked
    block = MemoryAtlasBlock(engine)
    memory = memory_of(block, "ana")
    with caplog.at_level(logging.WARNING, "atlas.companion"):
        assert MemoryAtlasRetriever(engine).retrieve(QUESTION) == []
        assert str(SimpleChatEngine.from_defaults(llm=Oracle(), memory=memory).chat(QUESTION)) == "I do not know."
        block.flush(memory)
    assert len(caplog.records) == 3
    release()
    block.flush(memory)
    assert "\n".join(kept(engine)).count(QUESTION) == 1
