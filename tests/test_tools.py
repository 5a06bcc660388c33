"""Tool memories: one for each tool and lesson, counted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas import markdown, tools
from atlas.config import now
from atlas.ingest import Request

WORKED, FAILED = "pytest: worked: run it with -n 2", "pytest: failed: run it with -n 2"
TOOL = {"kind": "tool"}


def counts(engine, id):
    meta = engine.expand(id).meta
    return meta["tool"], int(meta.get("worked", 0)), int(meta.get("failed", 0))


def test_a_lesson_is_one_memory_and_its_uses_are_counted(engine, git, root):
    (id,) = engine.ingest(WORKED, **TOOL)
    assert counts(engine, id) == ("pytest", 1, 0)
    assert engine.expand(id).label == "pytest: run it with -n 2"
    again = engine.ingest(WORKED, **TOOL)
    assert (list(again), again.duplicates, again.per_text) == ([], (id,), (id,))
    assert again.applied.committed
    engine.ingest(FAILED, **TOOL)
    assert counts(engine, id) == ("pytest", 2, 1)
    memory = engine.expand(id)
    assert memory.summary.startswith("Worked twice, failed once; last on ")
    assert len(engine.search("pytest", kind=["tool"]).hits) == 1
    assert "Count what was told of tools again" in git(root, "log", "-1", "--format=%s")


def test_other_tools_and_other_lessons_are_memories_of_their_own(engine):
    texts = (WORKED, "pytest: worked: run it with -x", "ruff: worked: run it with -n 2")
    assert len(engine.ingest_many([Request(text, kind="tool") for text in texts])) == 3


def test_a_batch_counts_within_itself_in_one_commit(engine, git, root):
    before = int(git(root, "rev-list", "--count", "HEAD"))
    made = engine.ingest_many([Request(text, kind="tool") for text in (WORKED, FAILED, WORKED, WORKED)])
    assert int(git(root, "rev-list", "--count", "HEAD")) == before + 1
    assert len(made) == 1
    assert set(made.per_text) == set(made)
    assert counts(engine, made[0]) == ("pytest", 3, 1)


def test_the_same_place_is_counted_once(engine):
    (id,) = engine.ingest(WORKED, source="chat#3", **TOOL)
    for source in ("chat#3", "chat#9", "chat#9", "chat#3"):
        engine.ingest(WORKED, source=source, **TOOL)
    assert counts(engine, id)[1] == 2


def test_a_conversation_that_is_cut_otherwise_the_second_time_is_counted_once(engine):
    (id,) = engine.ingest(WORKED, source="chat#2,3", **TOOL)
    for source in ("chat#5,6", "chat#6", "chat#3,5", "chat#6,7", "other#6"):
        engine.ingest(WORKED, source=source, **TOOL)
    assert counts(engine, id)[1] == 4
    assert not engine.ingest(WORKED, source="chat#6", **TOOL).applied.paths


def test_what_is_not_trusted_is_not_counted_with_what_is(engine):
    (id,) = engine.ingest(WORKED, **TOOL)
    engine.ingest(WORKED, trust="untrusted", **TOOL)
    assert counts(engine, id)[1] == 1


def test_a_persons_words_stay(engine, root, git):
    (id,) = engine.ingest(WORKED, **TOOL)
    place = root / engine.expand(id).path
    place.write_text(place.read_text().replace("Worked once.", "Works on my machine."))
    git(root, "commit", "-qam", "mine")
    kept = place.read_text()
    engine.ingest(WORKED, **TOOL)
    assert place.read_text() == kept


def test_a_text_of_another_form_is_stored_as_it_is(engine):
    (id,) = engine.ingest("Run pytest with -n 2, it is faster.", **TOOL)
    memory = engine.expand(id)
    assert memory.meta["kind"] == "tool"
    assert "tool" not in memory.meta
    assert "faster" in memory.detail


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["worked", "failed"]), st.sampled_from(["", "a#1", "b#2"])), max_size=12),
    st.text(min_size=1, max_size=40).filter(lambda text: text.strip() and "\0" not in text),
)
def test_the_counts_are_those_of_the_uses(uses, lesson):
    first = tools.read(f"git: worked: {lesson}")
    if first is None:
        return
    data = markdown.compose(
        meta={"id": "01", **tools.meta(first, None)}, label="git", summary=tools.summary(1, 0), detail=first.text
    ).encode("utf-8", "surrogatepass")
    wanted, seen = {"worked": 1, "failed": 0}, set()
    for outcome, source in uses:
        made = tools.counted(data, tools.Lesson("git", outcome, first.lesson), source or None, now())
        if source and source in seen:
            assert made is None
            continue
        seen.add(source)
        wanted[outcome] += 1
        assert made is not None
        data = made
    note = markdown.parse(data.decode("utf-8", "surrogatepass"), "")
    assert {name: int(note.meta.get(name, 0)) for name in wanted} == wanted
    assert note.summary.startswith(tools.summary(wanted["worked"], wanted["failed"]).rstrip("."))
    assert markdown.text_key(markdown.original(note)) == first.key


@pytest.mark.parametrize(
    "text", ["pytest worked", "worked: x", "pytest: maybe: x", "a: worked:", "x" * 90 + ": worked: y"]
)
def test_what_has_not_the_form_is_no_lesson(text):
    assert tools.read(text) is None
