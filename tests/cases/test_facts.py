"""A3: facts that change. What held at a day, what was believed on a day, and the correction before the mistake."""

from __future__ import annotations

import pytest

from atlas.engine import MemoryEngine

OLD = "---\nid: 01J00000000000000000000A02\nvalid_from: 2026-01-01\n{}---\nAna's desk is on floor 2\n"
NEW = "---\nid: 01J00000000000000000000A05\nvalid_from: 2026-01-08\n{}---\nAna moved to floor 5 yesterday\n"
BACK = "---\nid: 01J00000000000000000000A22\nvalid_from: 2026-01-30\n---\nAna is back on floor 2\n"
BEN = "---\nvalid_from: 2026-01-30\n---\nBen's desk is on floor 2\n"


@pytest.fixture
def told(vault, git, monkeypatch):
    """The same vault on days 1, 9 and 30, each a commit with the tag of its day."""
    days = {
        "day1": {"desk-2.md": OLD.format("")},
        "day9": {"desk-2.md": OLD.format("valid_to: 2026-01-08\n"), "desk-5.md": NEW.format("")},
        "day30": {"desk-5.md": NEW.format("valid_to: 2026-01-30\n"), "desk-back.md": BACK, "ben.md": BEN},
    }
    for day, notes in days.items():
        for path, text in notes.items():
            vault.put(path, text)
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"2026-01-{day[3:].zfill(2)}T12:00:00Z")
        git(vault.root, "add", "-A")
        git(vault.root, "commit", "-qm", day)
        git(vault.root, "tag", day)
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    monkeypatch.setenv("ATLAS_NOW", "2026-02-01T00:00:00Z")
    return vault


def places(vault, **options):
    with MemoryEngine(vault.root, create=False) as engine:
        found = engine.search("where is Ana's desk, on which floor?", **options)
    return [hit.path for hit in found.hits if hit.path.startswith("desk-")]


def test_a3_what_was_valid(told):
    assert places(told, valid_at="2026-01-05") == ["desk-2.md"]
    assert places(told, valid_at="2026-01-08") == ["desk-5.md"]
    assert places(told, valid_at="2026-01-31") == ["desk-back.md"]


def test_a3_what_was_believed(told):
    assert places(told, as_of="day1") == ["desk-2.md"]
    assert places(told, as_of="2026-01-05") == ["desk-2.md"]
    assert set(places(told, as_of="day9")) == {"desk-2.md", "desk-5.md"}


def test_a3_what_was_believed_of_another_time(told):
    """On day 5 nobody knew of the move; on day 9 it was known to have been on day 8, and nothing of the return."""
    assert places(told, as_of="day1", valid_at="2026-01-31") == ["desk-2.md"]
    assert places(told, as_of="day9", valid_at="2026-01-31") == ["desk-5.md"]
    assert places(told, as_of="day9", valid_at="2026-01-05") == ["desk-2.md"]


def test_a3_what_holds_comes_before_what_held(told):
    """Lowered, not hidden; and Ben is untouched."""
    with MemoryEngine(told.root, create=False) as engine:
        hits = {hit.path: hit for hit in engine.search("where is Ana's desk").hits}
        assert "outdated" in hits["desk-2.md"].why
        assert not {"outdated", "successor"} & hits["ben.md"].why.keys()
        assert not {"outdated", "successor"} & hits["desk-back.md"].why.keys()
        hits = {hit.path: hit for hit in engine.search("where is Ana's desk", as_of="day1").hits}
        assert "outdated" not in hits["desk-2.md"].why
        assert all("outdated" not in h.why for h in engine.search("Ana's desk", valid_at="2026-01-05").hits)


@pytest.mark.parametrize("name", ["01J00000000000000000000A05", "desk-5", "[[desk-5]]", "desk-5.md"])
def test_a3_a_correction_outranks_the_mistake(vault, name):
    """The old fact has every word of the question, the new one two of them; by id, name, link or path it wins."""
    vault.put("desk-2.md", OLD.format(f'superseded_by: "{name}"\n'))
    vault.put("desk-5.md", NEW.format("superseded_by: desk-back\n"))
    vault.put("desk-back.md", BACK)
    for query in ("Ana's desk", "is Ana's desk on floor 2", "on which floor is Ana's desk?"):
        assert vault.paths(query, k=10).index("desk-back.md") == 0
        assert {"desk-2.md", "desk-5.md"} <= set(vault.paths(query, k=10))
