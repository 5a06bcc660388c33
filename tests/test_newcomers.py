"""What a new memory puts an end to is closed in its own commit, and nothing else is."""

from __future__ import annotations

import pytest

from atlas import MemoryEngine


@pytest.fixture
def at(monkeypatch):
    """`at(day)`: it is that day of May, in the morning."""
    return lambda day: monkeypatch.setenv("ATLAS_NOW", f"2026-05-{day:02}T09:00:00Z")


def meta(engine, id: str) -> dict[str, str]:
    return dict(engine.expand(id).meta)


def test_a_change_closes_what_was_in_one_commit_and_undo_opens_it(engine, root, git, at):
    at(1)
    old = engine.ingest("Ana's desk is on floor 2")[0]
    at(9)
    new = engine.ingest("Ana moved to floor 5 yesterday")
    assert (meta(engine, old)["valid_to"], meta(engine, old)["superseded_by"]) == ("2026-05-08", new[0])
    assert len(git(root, "show", "--format=", "--name-only", new.applied.commit).split()) == 2
    assert engine.search("where does Ana sit").hits[0].id == new[0]
    assert engine.search("where does Ana sit", valid_at="2026-05-05").hits[0].id == old
    engine.undo()
    assert "valid_to" not in meta(engine, old)


def test_a_return_is_a_new_period(engine, at):
    at(1)
    first = engine.ingest("Ana's desk is on floor 2")[0]
    at(9)
    second = engine.ingest("Ana moved to floor 5")[0]
    at(30)
    third = engine.ingest("Ana is back on floor 2")[0]
    assert [meta(engine, id).get("superseded_by") for id in (first, second, third)] == [second, third, None]
    assert engine.search("where does Ana sit").hits[0].id == third


def test_what_is_only_said_differently_stays_as_it_is(engine, at):
    at(1)
    ids = [engine.ingest(text)[0] for text in ("Staging listens on port 5433", "Ben's desk is on floor 2")]
    at(9)
    engine.ingest("Staging listens on port 5434")
    engine.ingest("Ana moved to floor 5")
    assert all(not {"valid_to", "superseded_by", "trust"} & set(meta(engine, id)) for id in ids)


def test_what_a_person_wrote_is_left_alone(engine, root, notes, at):
    at(1)
    text = "---\ncreated: 2026-05-01\n---\n# Ana's desk is on floor 2\n"
    notes({"ana.md": text})
    at(9)
    engine.ingest("Ana moved to floor 5")
    assert (root / "ana.md").read_text() == text


def test_a_given_day_closes_too_and_the_cluster_of_both_is_joined_all_the_same(engine, at):
    at(1)
    old = engine.ingest("Ana's desk is on floor 2")[0]
    engine.ingest("Ana likes green tea")
    at(9)
    new = engine.ingest("Ana's desk is on floor 5", valid_from="2026-05-07")[0]
    memory = engine.expand(old)
    assert (memory.meta["superseded_by"], memory.meta["valid_to"]) == (new, "2026-05-07")
    assert "ana" in memory.clusters


def test_one_scope_says_nothing_of_another(engine, root, at):
    at(1)
    old = engine.ingest("Ana's desk is on floor 2", scope="one")[0]
    at(9)
    with MemoryEngine(root, scope="two") as other:
        other.ingest("Ana moved to floor 5")
    assert "valid_to" not in meta(engine, old)
