"""Nothing a person wrote is replaced before Git holds it."""

from __future__ import annotations

import pytest

from atlas import MemoryEngine
from atlas.errors import GitRefused
from atlas.template import create


@pytest.fixture
def engine(repo):
    create(repo)
    with MemoryEngine(repo) as opened:
        yield opened


def history_of(git, root, path):
    """Every version of a file in history."""
    shas = git(root, "log", "--format=%H", "--", path).split()
    return [git(root, "show", f"{sha}:{path}") for sha in shas]


def test_an_import_over_uncommitted_edits_keeps_them(engine, repo, git, tmp_path):
    stored = engine.ingest("The boiler valve is red and must stay shut.").memories[0]
    engine.export_memories(tmp_path / "bundle.json")
    place = repo / stored.path
    place.write_text(place.read_text() + "\nAdded by hand.\n")
    done = engine.import_memories(tmp_path / "bundle.json", mode="overwrite")
    assert done.imported == 1
    assert "Added by hand." not in place.read_text()
    assert any("Added by hand." in text for text in history_of(git, repo, stored.path))


def test_an_import_that_cannot_keep_them_is_refused(engine, repo, git, tmp_path):
    stored = engine.ingest("The boiler valve is red and must stay shut.").memories[0]
    engine.export_memories(tmp_path / "bundle.json")
    place = repo / stored.path
    place.write_text(place.read_text() + "\nAdded by hand.\n")
    git(repo, "checkout", "--quiet", "--detach")
    with pytest.raises(GitRefused):
        engine.import_memories(tmp_path / "bundle.json", mode="overwrite")
    assert "Added by hand." in place.read_text()


def test_undoing_a_tag_gives_back_a_note_that_was_in_no_commit(engine, repo):
    (repo / "n.md").write_text("only mine\n")
    engine.tag("n.md", ["work"])
    engine.undo()
    assert (repo / "n.md").read_text() == "only mine\n"


def test_a_note_git_ignores_is_edited_and_stays_out_of_history(engine, repo, git):
    (repo / ".gitignore").write_text("/.atlas/\nprivate/\n")
    (repo / "private").mkdir()
    (repo / "private" / "n.md").write_text("only mine\n")
    applied = engine.tag("private/n.md", ["work"])
    assert not applied.committed
    assert "ignore" in applied.note
    assert "work" in (repo / "private" / "n.md").read_text()
    assert "private/n.md" not in git(repo, "log", "--all", "--name-only", "--format=")
    assert engine._hand.waiting() == []
