"""Feedback: praise, doubt, correction; each recorded, none losing anything."""

from __future__ import annotations

import pytest
from shell import atlas
from support import write

from atlas import usage
from atlas.errors import UsageError


@pytest.fixture
def stored(engine) -> str:
    return engine.ingest("Staging listens on port 5432.", importance=0.5)[0]


def meta(engine, id):
    return engine.expand(id).meta


def test_praise_makes_it_more_important_and_counts_as_read(engine, stored):
    engine.feedback(stored, good=True)
    assert usage.known(engine.config)[stored].reads == 1
    assert meta(engine, stored)["importance"] == "0.6"
    for _ in range(30):
        engine.feedback(stored, good=True)
    assert float(meta(engine, stored)["importance"]) <= 1


def test_doubt_contests_it(engine, stored):
    engine.feedback(stored, good=False)
    assert (meta(engine, stored)["importance"], meta(engine, stored)["trust"]) == ("0.25", "contested")
    assert len(usage.known(engine.config)[stored].wrong) == 1


def test_what_a_person_rejected_stays_rejected(engine, root):
    write(root, "n.md", "---\ntrust: rejected\n---\n# N\n")
    engine.feedback("n.md", good=False)
    assert meta(engine, "n.md")["trust"] == "rejected"


def test_a_correction_takes_its_place_in_one_commit(engine, root, git, stored):
    judged = engine.feedback(stored, good=False, correction="Staging listens on port 5433.")
    new, old = meta(engine, judged.corrected_by), meta(engine, stored)
    assert new["supersedes"] == [stored]
    assert old["superseded_by"] == judged.corrected_by
    assert old["valid_to"]
    assert len(git(root, "show", "--format=", "--name-only", judged.applied.commit).split()) == 2
    assert engine.search("which port does staging listen on").hits[0].id == judged.corrected_by
    engine.undo()
    assert "superseded_by" not in meta(engine, stored)


def test_it_stays_in_its_scope(engine):
    id = engine.ingest("Staging listens on port 5432.", scope="team")[0]
    judged = engine.feedback(id, good=False, correction="Staging listens on port 5433.")
    assert engine.expand(judged.corrected_by).path.startswith("team/memories/")


def test_what_cannot_be(engine, stored):
    with pytest.raises(UsageError, match="no correction"):
        engine.feedback(stored, good=True, correction="x")
    engine.feedback(stored, good=False, correction="Staging listens on port 5433.")
    with pytest.raises(UsageError, match="corrected before"):
        engine.feedback(stored, good=False, correction="Staging listens on port 5434.")
    with pytest.raises(UsageError, match="remembered already"):
        engine.feedback(engine.ingest("Ana likes tea.")[0], good=False, correction="Staging listens on port 5433.")


def test_on_the_command_line(engine, root, stored):
    ran = atlas("feedback", stored, "--wrong", "Staging listens on port 5433.", "--json", cwd=root)
    assert ran.json["corrected_by"]
    assert ran.json["committed"]
    assert ran.json["note"] == "", "the index is closed by then, and follows"
    assert atlas("feedback", stored, cwd=root).code == 2
    assert atlas("feedback", "nobody", "--good", cwd=root).code == 1
