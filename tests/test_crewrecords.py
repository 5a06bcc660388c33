"""Memories as records: what a program saved comes back as it was, and nothing else is changed in its name."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from atlas import MemoryEngine, markdown
from atlas.crewrecords import Embedded, Records, Row
from atlas.errors import UsageError
from atlas.models import Choice, load

NOON = datetime(2026, 5, 1, 12)  # noqa: DTZ001 - in UTC and without a zone, as the program counts
LONG = "# The boiler\n\nIt hums at night.\n\n## Summary\n\nNot this one.\n\n- one\n- two\n\n```\ncode\n```"


@pytest.fixture
def records(engine):
    return Records(engine, Embedded(engine.config))


def searched(records, text, *narrowed):
    (vector,) = records._embedded.vectors([text])
    return [row for row, _ in records.search(vector, *(narrowed or (None, None, None, 10)))]


@pytest.mark.parametrize(
    "text", ["One line.", LONG, "tail  \n\n\nend", "日本 café 🦭", "title: not metadata\n---\nbody"]
)
def test_a_record_comes_back_as_it_was(records, text):
    row = Row("", text, "/a/b", ("x", "y"), {"n": 1, "deep": {"t": ["é", None]}}, 0.25, NOON, "ana#3", private=True)
    (id,) = records.save([row])
    (found,) = records.named([id])
    assert found.text.strip() == text.strip()
    assert set(found.categories) == {"x", "y"}
    assert (found.scope, found.metadata, found.importance, found.created) == ("/a/b", row.metadata, 0.25, NOON)
    assert (found.source, found.private, found.own) == ("ana#3", True, True)


def test_a_text_that_is_there_is_not_stored_again(records, engine):
    first = records.save([Row("", "The boiler hums at night.", "/a")])
    again = records.save([Row("", "The boiler hums at night.", "/a"), Row("", "The kettle sings.", "/a")])
    assert again[0] == first[0]
    assert len(engine.memories()) == 2


def test_saving_many_is_a_commit(records, engine, root, git):
    before = int(git(root, "rev-list", "--count", "HEAD"))
    records.save([Row("", f"Shelf {n} holds the letters of {1800 + n}.", "/a") for n in range(20)])
    assert int(git(root, "rev-list", "--count", "HEAD")) == before + 1
    records.delete(records.fitting("/a"))
    assert int(git(root, "rev-list", "--count", "HEAD")) == before + 2
    assert engine.memories() == []


@pytest.mark.parametrize(
    ("given", "clean"),
    [("/", "/"), ("", "/"), ("a/b/", "/a/b"), ("/Team A/../x", "/Team-A/x"), ("/.git/hooks", "/git/hooks"),
     ("/memories", "/memories-"), ("/con/aux", "/con-/aux-"), ("/日本", "/日本")],
)  # fmt: skip
def test_any_scope_is_a_folder_that_every_system_can_have(records, given, clean):
    (id,) = records.save([Row("", "The boiler hums at night.", given)])
    (row,) = records.named([id])
    assert row.scope == clean
    assert [one.id for one in records.fitting(given)] == [id]
    assert [one.id for one in searched(records, "boiler", given, None, None, 5)] == [id]


def test_a_scope_is_not_one_that_begins_alike(records):
    ids = records.save([Row("", "The boiler hums.", "/a"), Row("", "The kettle sings.", "/ab")])
    assert [row.scope for row in records.fitting("/a")] == ["/a"]
    assert [row.scope for row in records.fitting("/a", ids=ids)] == ["/a"]
    assert [row.scope for row in records.fitting("/", ids=[*ids, "gone"])] == ["/a", "/ab"]
    assert records.scopes("/a") == []
    assert records.scopes("/") == ["/a", "/ab"]


def test_a_note_is_a_record_of_its_folder(records, notes):
    notes(
        {"team/boiler.md": "---\ntags: [heat]\ncreated: 2026-05-01\n---\n# Boiler\n\nIt hums.\n", "top.md": "# Top\n"}
    )
    found = {row.scope: row for row in records.fitting()}
    assert set(found) == {"/team", "/"}
    assert (found["/team"].text, found["/team"].categories, found["/team"].own) == ("It hums.", ("heat",), False)
    assert records.categories("/team") == {"heat": 1}


def test_a_note_of_a_person_is_neither_changed_nor_removed(records, notes, text, caplog):
    notes({"boiler.md": "# Boiler\n\nIt hums.\n"})
    (row,) = records.fitting()
    before = text("boiler.md")
    records.update(Row(row.id, "It sings."))
    assert records.delete([row]) == 0
    assert text("boiler.md") == before
    assert [one.message for one in caplog.records] == [
        "boiler.md was not saved by CrewAI, so it is not changed.",
        "1 memories were not saved by CrewAI, so they stay.",
    ]


def test_a_change_keeps_what_a_person_added_to_the_metadata(records, engine, text):
    (id,) = records.save([Row("", "The boiler hums at night.", "/a", ("x",))])
    engine.edit(id, lambda old: markdown.edit(old, {"colour": "red"}))
    records.update(Row(id, "The boiler is quiet now.", "/a", ("y",), {"n": 2}, 0.75, private=True))
    (memory,) = engine.memories([id])
    assert memory.meta["colour"] == "red"
    assert memory.tags == ("y",)
    (row,) = records.named([id])
    assert (row.text, row.metadata, row.importance, row.private) == ("The boiler is quiet now.", {"n": 2}, 0.75, True)
    same = text(memory.path)
    records.update(row)
    assert text(memory.path) == same


def test_a_scope_of_the_engine_is_the_root(root):
    with MemoryEngine(root, scope="team") as engine:
        records = Records(engine, Embedded(engine.config))
        (id,) = records.save([Row("", "The boiler hums at night.", "/a")])
        assert engine.memories()[0].path.startswith("team/a/memories/")
        assert records.named([id])[0].scope == "/a"
        assert records.scopes("/") == ["/a"]
        records.update(Row(id, "The boiler hums at night.", "/"))
        assert engine.memories()[0].path.startswith("team/memories/2")
        assert [row.scope for row in searched(records, "boiler")] == ["/"]


def test_damaged_metadata_is_no_metadata(records, notes):
    notes(
        {
            "a.md": "---\ncrewai: '{broken'\nimportance: high\ncreated: soon\n---\n# A\n",
            "b.md": "---\ncrewai: '[1]'\n---\n# B\n",
        }
    )
    assert [(row.metadata, row.importance, row.own) for row in records.fitting()] == [({}, 0.5, True), ({}, 0.5, True)]


def test_nearness_is_the_cosine_and_the_words_count(records):
    records.save([Row("", "The boiler hums at night.", "/a"), Row("", "Error E-4711 means the pump is stuck.", "/a")])
    (vector,) = records._embedded.vectors(["E-4711"])
    found = records.search(vector, None, None, None, 1)
    assert "E-4711" in found[0][0].text
    model = load(Choice())
    assert found[0][1] == pytest.approx(float(np.dot(*model.embed(["E-4711", found[0][0].text]))), abs=1e-5)


def test_a_vault_without_an_embedder_is_told_what_to_choose(root):
    with MemoryEngine(root, embedding_model="none") as engine, pytest.raises(UsageError, match="embedding"):
        Embedded(engine.config).vectors(["x"])
