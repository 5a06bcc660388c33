"""What was forgotten: found when it is asked for, brought back whole, undone in part."""

from __future__ import annotations

import pytest
from shell import atlas

from atlas import MemoryEngine, ladder
from atlas.errors import NotFound, UsageError
from atlas.memory import Change, Record, Rung
from atlas.survey import blob_id
from atlas.tombstones import Tombstone

DAY = "2026-11-30"
LONG = (
    "The staging database moved to another host in May.\n\n"
    "Since then the walrus service asks it on port 5433, and everything else still asks the old one on 5432.\n\n"
    "Whoever changes that has to tell the people who run the nightly export, since it breaks without a word."
)


@pytest.fixture
def long(engine) -> str:
    return engine.ingest(LONG, whole=True)[0]


def step(engine, *ids: str, to: Rung = Rung.L1) -> str:
    """One commit that takes these memories down a rung; its id."""
    changes = []
    for id in ids:
        card = engine._card(id)
        data = engine._read_bytes(card.path)
        if to == Rung.TOMBSTONE:
            stone = Tombstone(id, card.path, blob_id(data), DAY)
            changes += [Change(card.path, None, blob_id(data), id), Change(f"{STONES}/{id}.jsonl", stone.line.encode())]
            continue
        new = ladder.down(data, to, DAY)
        there = ladder.archived(card.path) if to == Rung.L0 else card.path
        moved = [Change(card.path, None, blob_id(data), id)] if there != card.path else []
        changes += [*moved, Change(there, new, None if moved else blob_id(data), id)]
    return engine._hand.apply(changes, Record("forget", "Forget", memories=ids)).commit


STONES = "archive/tombstones"


def test_a_search_says_what_it_might_have_found(engine, long):
    engine.ingest("The walrus lives in the Arctic.")
    assert engine.search("walrus service port 5433").forgotten == ()
    step(engine, long)
    found = engine.search("walrus service port 5433")
    assert found.forgotten == (long,)
    (hit,) = [hit for hit in engine.search("walrus service port 5433", frozen=True).hits if hit.id == long]
    assert "5433" in hit.text
    assert engine.search("penguins of Antarctica").forgotten == ()


@pytest.mark.parametrize("rung", list(Rung)[1:])
def test_restored_it_is_the_same_to_the_byte(engine, root, long, rung):
    path = engine.expand(long).path
    whole = (root / path).read_bytes()
    step(engine, long, to=rung)
    engine.restore(long)
    assert (root / path).read_bytes() == whole
    assert not list((root / "archive").rglob("*.*"))
    assert engine.search("walrus service port 5433").forgotten == ()
    assert long in [hit.id for hit in engine.search("walrus service port 5433").hits]


def test_what_was_edited_since_is_kept(engine, root, long):
    step(engine, long)
    engine.tag(long, ["staging"])
    engine.restore(long)
    memory = engine.expand(long)
    assert "5433" in memory.detail
    assert "staging" in memory.tags


def test_another_file_in_its_place_is_not_overwritten(engine, root, long):
    path = engine.expand(long).path
    step(engine, long, to=Rung.TOMBSTONE)
    (root / path).write_text("# Mine\n")
    with pytest.raises(UsageError, match="Another file"):
        engine.restore(long)
    assert (root / path).read_text() == "# Mine\n"


def test_a_tombstone_is_found_by_its_last_letters_and_its_path(engine, root, long):
    path = engine.expand(long).path
    step(engine, long, to=Rung.TOMBSTONE)
    assert engine.restore(long[-6:].lower())[1] == [long]
    step(engine, long, to=Rung.TOMBSTONE)
    assert engine.restore(path)[1] == [long]


def test_a_scope_does_not_tell_of_another(engine, root):
    id = engine.ingest(LONG, whole=True, scope="team")[0]
    step(engine, id)
    with MemoryEngine(root, scope="team/") as team, MemoryEngine(root, scope="other/") as other:
        assert team.search("walrus service port 5433").forgotten == (id,)
        assert other.search("walrus service port 5433").forgotten == ()
        assert other.search("walrus service port 5433", frozen=True).hits == ()


def test_without_the_blob_nothing_is_promised(engine, root, git, tmp_path, long):
    """A shallow clone lacks the old blobs: search goes on, and restoring says so."""
    step(engine, long)
    git(root, "clone", "-q", "--depth", "1", f"file://{root}", str(tmp_path / "shallow"))
    with MemoryEngine(tmp_path / "shallow") as shallow:
        assert shallow.search("walrus service port 5433").forgotten == ()
        with pytest.raises(UsageError, match="nothing to restore"):
            shallow.restore(long)


def test_it_is_forgotten_after_a_rebuild_too(engine, long):
    step(engine, long)
    engine.refresh(rebuild=True)
    assert engine.search("walrus service port 5433").forgotten == (long,)


def test_a_part_of_a_run_is_undone(engine, root, long):
    other = engine.ingest("Ana likes green tea with a little honey.")[0]
    paths = [engine.expand(id).path for id in (long, other)]
    before = [(root / path).read_bytes() for path in paths]
    commit = step(engine, long, other, to=Rung.L0)
    _, back = engine.undo(commit, only=[other])
    assert back == [other]
    assert [(root / path).exists() for path in paths] == [False, True]
    assert (root / paths[1]).read_bytes() == before[1]
    engine.undo(commit)
    assert [(root / path).read_bytes() for path in paths] == before


def test_a_part_of_a_run_with_tombstones(engine, root, long):
    other = engine.ingest("Ana likes green tea.")[0]
    commit = step(engine, long, other, to=Rung.TOMBSTONE)
    engine.undo(commit, only=[long])
    assert engine.expand(long).id == long
    assert [file.name for file in (root / STONES).iterdir()] == [f"{other}.jsonl"]
    with pytest.raises(NotFound):
        engine.undo(commit, only=["nobody"])


def test_on_the_command_line(engine, root, long):
    step(engine, long)
    ran = atlas("search", "walrus service port 5433", cwd=root)
    assert "1 forgotten memory matches; --frozen shows it" in ran.err
    ran = atlas("search", "walrus service port 5433", "--frozen", "--json", cwd=root)
    assert ran.json["hits"][0]["id"] == long
    ran = atlas("search", "walrus", "--frozen", "--as-of", "HEAD", cwd=root)
    assert (ran.code, "frozen or as-of" in ran.err) == (2, True)
    ran = atlas("undo", "--only", long, "--json", cwd=root)
    assert ran.json["restored"] == [long]


# ----------------------------------------------------------------------- needed again


@pytest.fixture
def later(monkeypatch):
    """Memories step down on `DAY`; now it is a day later."""
    monkeypatch.setenv("ATLAS_NOW", "2026-12-01T09:00:00Z")


def revived(engine) -> list[str]:
    return [row.id for ran in engine.maintain() if ran.task == "revive" for row in ran.rows]


@pytest.mark.parametrize("rung", [Rung.L1, Rung.L0])
def test_what_is_read_again_comes_back_whole(engine, root, long, later, rung):
    path = engine.expand(long).path
    whole = (root / path).read_bytes()
    step(engine, long, to=rung)
    engine.expand(long)
    assert revived(engine) == [long]
    assert (root / path).read_bytes() == whole
    assert not list((root / "archive").rglob("*.md"))
    assert revived(engine) == []


def test_what_was_edited_in_between_comes_along(engine, long, later):
    step(engine, long)
    engine.tag(long, ["walrus"])
    engine.expand(long)
    assert revived(engine) == [long]
    memory = engine.expand(long)
    assert "5433" in memory.detail
    assert "walrus" in memory.tags


def test_what_was_read_before_it_was_forgotten_does_not(engine, long, monkeypatch):
    monkeypatch.setenv("ATLAS_NOW", f"{DAY}T08:00:00Z")
    engine.expand(long)
    step(engine, long)
    monkeypatch.setenv("ATLAS_NOW", "2026-12-01T09:00:00Z")
    assert revived(engine) == []


def test_what_a_person_edits_meanwhile_waits(engine, root, git, long, later):
    step(engine, long)
    engine.expand(long)
    path = root / engine.expand(long).path
    path.write_text(path.read_text() + "\nMy own words.\n")
    before = path.read_bytes()
    assert revived(engine) == []
    assert path.read_bytes() == before


def test_without_the_blob_it_stays_as_it_is(engine, root, git, tmp_path, long, later):
    step(engine, long)
    git(root, "clone", "-q", "--depth", "1", f"file://{root}", str(tmp_path / "shallow"))
    for key, value in (("user.name", "Ada"), ("user.email", "ada@example.test")):
        git(tmp_path / "shallow", "config", key, value)
    with MemoryEngine(tmp_path / "shallow") as shallow:
        shallow.expand(long)
        assert revived(shallow) == []
