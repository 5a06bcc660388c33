"""Time travel: ranking against the vault as it was."""

from __future__ import annotations

import pytest

from atlas import MemoryEngine
from atlas.errors import NotFound, UsageError
from atlas.template import create


@pytest.fixture
def root(repo, git):
    create(repo)
    (repo / "desk.md").write_text("---\nvalid_from: 2026-01-01\n---\nAna's desk is on floor 2\n")
    (repo / "boiler.md").write_text("The boiler valve is red\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "one", "--date=2026-01-01T00:00:00Z")
    git(repo, "tag", "first")
    (repo / "desk.md").write_text("---\nvalid_from: 2026-01-09\n---\nAna's desk is on floor 5\n")
    (repo / "boiler.md").unlink()
    (repo / "heron.md").write_text("A heron over slate\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "two")
    git(repo, "mv", "heron.md", "birds.md")
    git(repo, "commit", "-qm", "three")
    return repo


@pytest.fixture(params=[True, False], ids=["resident", "one-shot"])
def engine(root, request):
    with MemoryEngine(root, resident=request.param) as opened:
        yield opened


def texts(found):
    return [hit.text.strip() for hit in found.hits]


def test_the_past_answers_with_what_it_held(engine, root, git):
    now = engine.search("Ana's desk", k=1)
    then = engine.search("Ana's desk", k=1, as_of="first")
    assert texts(now) == ["Ana's desk is on floor 5"]
    assert texts(then) == ["Ana's desk is on floor 2"]
    assert then.tree == git(root, "rev-parse", "first").strip()
    assert texts(engine.search("Ana's desk", k=1)) == ["Ana's desk is on floor 5"]


def test_what_is_gone_is_found_there_and_what_is_new_is_not(engine):
    assert [h.path for h in engine.search("boiler valve", k=1, as_of="first").hits] == ["boiler.md"]
    assert all(h.path != "boiler.md" for h in engine.search("boiler valve").hits)
    assert all("heron" not in h.text for h in engine.search("heron slate", as_of="first").hits)


def test_a_memory_has_the_same_id_then_and_now(engine):
    now = engine.search("heron slate", k=1).hits[0]
    then = engine.search("heron slate", k=1, as_of="HEAD~1").hits[0]
    assert (now.path, then.path) == ("birds.md", "heron.md")
    assert now.id == then.id


def test_filters_hold_in_the_past_too(engine):
    assert texts(engine.search("desk", as_of="first", valid_at="2026-01-05"))[0] == "Ana's desk is on floor 2"
    assert all("floor" not in t for t in texts(engine.search("desk", as_of="first", valid_at="2025-01-01")))
    assert engine.search("desk", as_of="first", scope="elsewhere").hits == ()


def test_only_what_was_never_seen_is_derived(engine):
    engine.search("desk", as_of="first")
    with engine._index.reader() as reader:
        before = reader.con.execute("SELECT count(*) FROM notes").fetchall()
    engine.search("boiler", as_of="first")
    engine.search("boiler", as_of="HEAD~1")
    with engine._index.reader() as reader:
        assert reader.con.execute("SELECT count(*) FROM notes").fetchall() == before


def test_an_edit_after_a_look_at_the_past_is_seen(engine, root):
    engine.search("desk", as_of="first")
    (root / "desk.md").write_text("Ana's desk is on floor 9\n")
    assert texts(engine.search("Ana's desk", k=1)) == ["Ana's desk is on floor 9"]
    assert texts(engine.search("Ana's desk", k=1, as_of="first")) == ["Ana's desk is on floor 2"]


def test_many_moments_are_asked_in_turn(engine, root, git):
    for n in range(6):
        (root / "n.md").write_text(f"counter number {n}\n")
        git(root, "add", "-A")
        git(root, "commit", "-qm", f"n{n}")
        git(root, "tag", f"n{n}")
    for _ in range(2):
        for n in range(6):
            assert texts(engine.search("counter number", k=1, as_of=f"n{n}")) == [f"counter number {n}"]


def test_a_revision_that_is_none(engine, tmp_path):
    with pytest.raises(NotFound):
        engine.search("desk", as_of="no-such-thing")
    with pytest.raises(NotFound):
        engine.search("desk", as_of="1999-01-01")


def test_a_vault_without_git_has_no_past(tmp_path):
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "atlas.toml").write_text("")
    with MemoryEngine(tmp_path / "v") as engine, pytest.raises(UsageError):
        engine.search("desk", as_of="HEAD")


def test_a_name_is_followed_when_it_moves(engine, root, git):
    """What a name meant is remembered only as long as no ref changed."""
    assert texts(engine.search("Ana's desk", k=1, as_of="first")) == ["Ana's desk is on floor 2"]
    first = engine.search("Ana's desk", k=1, as_of="first").tree
    git(root, "tag", "--force", "first", "HEAD")
    assert texts(engine.search("Ana's desk", k=1, as_of="first")) == ["Ana's desk is on floor 5"]
    git(root, "pack-refs", "--all")
    git(root, "tag", "--force", "first", first)
    assert engine.search("Ana's desk", k=1, as_of="first").tree == first
    git(root, "tag", "--delete", "first")
    with pytest.raises(NotFound):
        engine.search("Ana's desk", as_of="first")


def test_what_still_held_at_that_commit_is_not_outdated_there(repo, git, monkeypatch):
    create(repo)
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-02-01T00:00:00Z")
    monkeypatch.setenv("ATLAS_NOW", "2026-06-01T00:00:00Z")
    (repo / "desk.md").write_text("---\nvalid_to: 2026-03-01\n---\nAna's desk is on floor 2\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "one")
    with MemoryEngine(repo) as engine:
        assert "outdated" in engine.search("desk").hits[0].why
        assert "outdated" not in engine.search("desk", as_of="HEAD").hits[0].why


def test_a_date_follows_the_branch(engine, root, git):
    before = engine.search("desk", as_of="2099-01-01").tree
    assert before == git(root, "rev-parse", "HEAD").strip()
    assert engine.search("desk", as_of="HEAD~1").tree == git(root, "rev-parse", "HEAD~1").strip()
    git(root, "commit", "--allow-empty", "-qm", "four")
    assert engine.search("desk", as_of="2099-01-01").tree == git(root, "rev-parse", "HEAD").strip()
    assert engine.search("desk", as_of="HEAD~1").tree == before
    with pytest.raises(NotFound):
        engine.search("desk", as_of="no-such-name")
    git(root, "tag", "no-such-name", before)
    assert engine.search("desk", as_of="no-such-name").tree == before
