"""Whose words a note holds: what a person wrote or edited is never taken for Atlas's."""

from __future__ import annotations

import pytest
from support import write

from atlas import MemoryEngine, authors
from atlas.git import find
from atlas.template import create


@pytest.fixture
def ours(engine, root):
    return lambda: authors.ours(find(root))


def by_hand(root, git, message="by hand") -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)


def stored(engine, text="Staging listens on port 5433.") -> str:
    return engine.ingest(text).memories[0].path


def test_what_was_ingested_is_ours_and_what_a_person_wrote_is_not(engine, root, git, ours):
    path = stored(engine)
    write(root, "notes/own.md", "# Mine\n")
    by_hand(root, git)
    assert ours() == {path}


def test_later_verbs_of_an_agent_leave_it_ours(engine, ours):
    path = stored(engine)
    engine.tag(path, ["port"])
    engine.append(path, "Since May.")
    engine.feedback(path, good=True)
    assert ours() == {path}


def test_an_edit_by_hand_makes_it_a_persons(engine, root, git, ours):
    path = stored(engine)
    (root / path).write_text((root / path).read_text() + "\nI checked this.\n")
    by_hand(root, git)
    assert ours() == set()


def test_an_edit_that_atlas_kept_before_replacing_it_is_a_persons_too(engine, root, ours):
    path = stored(engine)
    engine.append(path, "Since May.")
    (root / path).write_text((root / path).read_text().replace("kind: fact", "kind: decision"))
    engine.undo()
    assert ours() == set()


def test_adopting_a_note_does_not_take_it(engine, root, git, ours):
    write(root, "notes/own.md", "# Mine\n")
    by_hand(root, git)
    engine.adopt()
    assert ours() == set()


def test_a_note_that_moves_stays_whose_it_is(engine, root, git, ours):
    path = stored(engine)
    write(root, "notes/own.md", "# Mine\n")
    by_hand(root, git)
    engine.move(path, "area/port.md")
    engine.move("notes/own.md", "area/own.md")
    assert ours() == {"area/port.md"}


def test_a_section_taken_out_of_a_persons_note_is_the_persons(engine, root, git, ours):
    write(root, "notes/own.md", "# Mine\n\n## Part\n\nMy words.\n")
    by_hand(root, git)
    engine.split("notes/own.md", "Part")
    assert ours() == set()


def test_undone_it_is_still_ours_deleted_by_a_person_not(engine, root, git, ours):
    path = stored(engine)
    engine.append(path, "Since May.")
    engine.undo()
    assert ours() == {path}
    (root / path).unlink()
    by_hand(root, git, "away with it")
    engine.restore(path)
    assert ours() == set(), "a person's commit is among those that made it"


def test_a_bundle_may_hold_anybodys_words(engine, root, tmp_path, make_repo):
    stored(engine)
    engine.export_memories(tmp_path / "b.json")
    create(make_repo(tmp_path / "other"))
    with MemoryEngine(tmp_path / "other") as other:
        other.import_memories(tmp_path / "b.json")
        assert authors.ours(find(other.config.root)) == set()


def test_two_sides_of_a_merge_are_ours_a_third_version_is_not(engine, root, git, ours):
    path = stored(engine)
    git(root, "checkout", "-qb", "side")
    engine.tag(path, ["a"])
    git(root, "checkout", "-q", "-")
    git(root, "merge", "-q", "--no-ff", "-m", "take it", "side")
    assert ours() == {path}
    git(root, "checkout", "-qb", "other", "HEAD~1")
    engine.ingest("Ana likes tea.")
    git(root, "checkout", "-q", "-")
    git(root, "merge", "-q", "--no-commit", "--no-ff", "other")
    (root / path).write_text((root / path).read_text().replace("Staging", "Production"))
    git(root, "commit", "-qam", "merged by hand")
    assert path not in ours()


def test_before_the_first_commit_nothing_is_anybodys(tmp_path, git):
    git(tmp_path, "init", "-q")
    assert authors.ours(find(tmp_path)) == set()
