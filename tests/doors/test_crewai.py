"""CrewAI's own crews and its own memory over a vault."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from crewai.memory import Memory
from crewai.memory.storage.backend import StorageBackend
from crewai.memory.types import MemoryRecord
from oracle import DESK, STANDUP
from run_crewai import Oracle, ask

from atlas.errors import UsageError
from atlas.integrations.crewai import MemoryAtlasStorage, MemoryAtlasTool, memory_tools

pytestmark = pytest.mark.crewai
QUESTION = "Where is my desk?"


@pytest.fixture
def storage(engine):
    return MemoryAtlasStorage(engine)


@pytest.fixture
def memory(storage):
    made = Memory(storage=storage, embedder=storage.embedder, llm=Oracle())
    yield made
    made.close()


# ----------------------------------------------------------------- two processes


def test_what_is_said_in_one_process_is_known_in_the_next(run):
    assert run("crewai", f"Remember: {STANDUP}")["answers"] == ["Noted."]
    assert run("crewai", "When is the standup?")["answers"] == ["It is 9:40."]


# ------------------------------------------------------------------------- tools


def test_a_crew_uses_the_tools(engine):
    model = Oracle()
    assert ask(model, f"Remember: {DESK}", memory_tools(engine)) == "Noted."
    assert [DESK in one.detail for one in engine.memories()] == [True]
    assert '"stored": [' in model.seen[-1]


def test_a_tool_is_described_as_everywhere_else(engine):
    search, remember = memory_tools(engine)
    assert (search.name, remember.name) == ("memory_search", "memory_remember")
    assert "Find memories by words and meaning." in search.description
    assert search.args_schema.model_json_schema()["required"] == ["query"]
    assert MemoryAtlasTool.of(engine, "view").name == "memory_view"
    with pytest.raises(UsageError, match="There is no tool 'fly'"):
        MemoryAtlasTool.of(engine, "fly")


def test_a_tool_answers_and_tells_why_it_cannot(engine):
    engine.ingest(DESK)
    search, remember = memory_tools(engine)
    assert "floor 5" in search.run(query=QUESTION)
    assert search.run(query=QUESTION, k=0).startswith("Error: ")
    assert "wants either a text or messages" in remember.run()
    with pytest.raises(ValueError, match="validation failed"):
        search.run(k="many")


# ----------------------------------------------------------------------- storage


def test_it_is_a_storage_as_the_framework_means_it(storage):
    assert isinstance(storage, StorageBackend)


def test_a_record_is_a_memory_and_comes_back_as_it_was(engine, memory, root):
    record = memory.remember(
        DESK, scope="/office/lisbon", categories=["desk"], metadata={"floor": 5, "near": ["window"]}, importance=0.8
    )
    (found,) = engine.memories()
    assert found.path.startswith("office/lisbon/memories/")
    assert found.id == record.id
    assert "desk" in found.tags
    match = memory.recall(QUESTION, depth="shallow")[0].record
    assert (match.id, match.content, match.scope, match.categories) == (record.id, DESK, "/office/lisbon", ["desk"])
    assert (match.metadata, match.importance) == ({"floor": 5, "near": ["window"]}, 0.8)
    assert abs(match.created_at - datetime.now(UTC).replace(tzinfo=None)) < timedelta(minutes=1)


def test_what_a_person_wrote_is_found_and_not_changed(notes, engine, memory, storage, text):
    notes({"desk.md": f"# {DESK}\n\nAsk Ana for the key.\n"})
    (match,) = memory.recall(QUESTION, depth="shallow")
    assert match.record.content == "Ask Ana for the key."
    before = text("desk.md")
    memory.update(match.record.id, content="My desk is on floor 9.")
    memory.forget(record_ids=[match.record.id])
    memory.reset()
    assert text("desk.md") == before


def test_a_record_is_changed_in_its_place_and_moved_with_its_scope(engine, memory, text):
    record = memory.remember(DESK, scope="/office", categories=["desk"], importance=0.5)
    memory.update(record.id, content="My desk is on floor 9 by the window.", scope="/home", importance=0.9)
    (found,) = engine.memories()
    assert found.id == record.id
    assert found.path.startswith("home/memories/2")
    assert "floor 9" in text(found.path)
    assert "floor 5" not in text(found.path)
    match = memory.recall("Where is my desk by the window?", depth="shallow")[0].record
    assert (match.scope, match.importance, match.created_at) == ("/home", 0.9, record.created_at.replace(microsecond=0))


def test_deleted_records_are_gone_and_git_has_them(engine, memory, storage):
    first = memory.remember(DESK, scope="/office")
    second = memory.remember(STANDUP, scope="/team")
    assert memory.forget(scope="/office") == 1
    assert [one.id for one in storage.list_records()] == [second.id]
    assert storage.get_record(first.id) is None
    engine.restore(first.id)
    assert storage.get_record(first.id).content == DESK
    memory.reset()
    assert storage.count() == 0


def test_records_are_chosen_by_scope_category_metadata_age_and_nearness(engine, storage):
    old = datetime(2020, 1, 1)  # noqa: DTZ001 - without a zone, as CrewAI counts
    records = [
        MemoryRecord(content=DESK, scope="/a", categories=["x y"], metadata={"n": 1}, created_at=old),
        MemoryRecord(content="My desk lamp is green.", scope="/a/b", categories=["z"], metadata={"n": 2}),
        MemoryRecord(content="My desk chair squeaks.", scope="/ab"),
    ]
    storage.save(records)

    def found(**narrowed):
        (vector,) = storage.embedder(["my desk"])
        return {one.content for one, _ in storage.search(vector, **narrowed)}

    desk, lamp, chair = (one.content for one in records)
    assert found() == {desk, lamp, chair}
    assert found(scope_prefix="/a") == {desk, lamp}
    assert found(scope_prefix="/a/b") == {lamp}
    assert found(categories=["x y"]) == {desk}
    assert found(metadata_filter={"n": 2}) == {lamp}
    assert len(found(limit=2)) == 2
    assert found(min_score=0.999) == set()
    (exact, score), *_ = storage.search(storage.embedder([lamp])[0])
    assert exact.content == lamp
    assert score == pytest.approx(1.0, abs=1e-4)
    assert storage.list_scopes("/") == ["/a", "/ab"]
    assert storage.list_scopes("/a") == ["/a/b"]
    assert storage.list_categories("/a") == {"x-y": 1, "z": 1}
    info = storage.get_scope_info("/a")
    assert (info.record_count, info.child_scopes, info.oldest_record) == (2, ["/a/b"], old)
    assert [one.content for one in storage.list_records(limit=1, offset=2)] == [desk]
    assert storage.delete(older_than=datetime(2021, 1, 1)) == 1  # noqa: DTZ001
    assert storage.count("/a") == 1


def test_a_private_record_is_for_its_source_alone(memory):
    memory.remember(DESK, scope="/a", source="ana", private=True)
    assert memory.recall(QUESTION, depth="shallow") == []
    assert memory.recall(QUESTION, depth="shallow", source="ben") == []
    assert [one.record.content for one in memory.recall(QUESTION, depth="shallow", source="ana")] == [DESK]


def test_a_vector_of_another_embedder_is_refused_with_the_remedy(storage):
    with pytest.raises(UsageError, match="embedder of its storage"):
        storage.search([0.1] * 256)


def test_the_same_beside_the_event_loop(storage):
    async def use():
        await storage.asave([MemoryRecord(content=DESK, scope="/a")])
        found = await storage.asearch(storage.embedder([QUESTION])[0], limit=1)
        return found, await storage.adelete(scope_prefix="/a")

    ((record, _),), gone = asyncio.run(use())
    assert (record.content, gone) == (DESK, 1)


def test_a_deep_recall_finds_it_too(memory):
    memory.remember(DESK, scope="/a", categories=["desk"], importance=0.5)
    assert [one.record.content for one in memory.recall(QUESTION, depth="deep")] == [DESK]
