"""Usage: counted once, per device, in a file of its own; reading never dirties a note."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import write

from atlas import MemoryEngine, journal, usage
from atlas.memory import Use

days = st.lists(st.dates().map(str), max_size=30).map(lambda found: tuple(sorted(set(found))))
uses = st.builds(Use, st.integers(0, 99), days, days)


@pytest.fixture
def stored(engine) -> str:
    return engine.ingest("Staging listens on port 5433.")[0]


def folded(root: Path) -> list[dict]:
    (file,) = (root / "usage").glob("*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def use(engine, id: str) -> Use:
    return usage.known(engine.config).get(id, Use())


def test_what_counts_as_read(engine, stored):
    engine.search("port of staging")
    engine.expand(stored)
    engine.expand(stored, as_of="HEAD")
    engine.search("port of staging", as_of="HEAD")
    engine.why_not("port", stored)
    engine.view("port of staging")
    engine.rest()
    assert use(engine, stored).reads == 3, "a search, one shown, one in a view; the past and the curious do not count"


def test_of_a_long_list_only_the_first_count(engine):
    ids = [engine.ingest(f"Service {name} listens on port {n}.")[0] for n, name in enumerate("abcdefgh", 9000)]
    engine.search("which service listens on which port")
    assert sum(use(engine, id).reads for id in ids) == 3


def test_reading_touches_no_note_and_folding_is_one_commit(engine, root, git, stored):
    engine.search("port of staging")
    assert git(root, "status", "--porcelain") == ""
    (ran,) = engine.maintain()
    assert ran.task == "usage"
    assert git(root, "show", "--format=", "--name-only", ran.commit).split() == list(ran.changed)
    assert ran.changed[0].startswith("usage/")
    assert folded(root)[1]["id"] == stored
    assert engine.maintain() == [], "nothing was read since"


def test_nothing_is_counted_twice(engine, root, stored):
    engine.search("port of staging")
    engine.maintain()
    engine.search("port of staging")
    assert use(engine, stored).reads == 2
    engine.maintain()
    assert use(engine, stored).reads == 2
    assert folded(root)[1]["reads"] == 2


def test_a_fold_that_was_never_committed_counts_once(engine, root, stored):
    """A kill between the file and its commit: the file itself says how far it counted."""
    engine.search("port of staging")
    engine.maintain()
    (root / ".atlas" / "upkeep.json").unlink(missing_ok=True)
    assert engine.maintain() == []
    assert use(engine, stored).reads == 1


def test_a_line_cut_short_waits_for_its_end(engine, root, stored):
    engine.search("port of staging")
    (file,) = journal.files(engine.config)
    whole = file.read_bytes()
    file.write_bytes(whole + whole[: len(whole) // 2])
    engine.maintain()
    file.write_bytes(whole + whole)
    assert use(engine, stored).reads == 2


def test_without_the_derived_folder_the_counts_stay(engine, root, stored):
    engine.search("port of staging")
    engine.maintain()
    engine.close()
    shutil.rmtree(root / ".atlas")
    with MemoryEngine(root) as again:
        assert use(again, stored).reads == 1
        again.search("port of staging")
        again.maintain()
        assert use(again, stored).reads == 2
    assert len(list((root / "usage").glob("*.jsonl"))) == 2, "it is another device now"


def test_devices_add_up_and_never_conflict(engine, root, git, tmp_path, stored):
    git(root, "clone", "-q", str(root), str(tmp_path / "two"))
    git(tmp_path / "two", "config", "user.name", "Ada Example")
    git(tmp_path / "two", "config", "user.email", "ada@example.test")
    with MemoryEngine(tmp_path / "two") as two:
        for one in (engine, two):
            one.search("port of staging")
            one.maintain()
        git(tmp_path / "two", "pull", "-q", "--no-rebase", "--no-edit")
        assert use(two, stored).reads == 2


def test_a_run_nobody_asked_for_folds_once_a_day(engine, stored, monkeypatch):
    monkeypatch.setenv("ATLAS_NOW", "2026-05-01T09:00:00Z")
    engine.search("port of staging")
    assert engine.maintain(unasked=True)
    engine.search("port of staging")
    assert engine.maintain(unasked=True) == []
    monkeypatch.setenv("ATLAS_NOW", "2026-05-02T09:00:00Z")
    assert engine.maintain(unasked=True)


def test_undo_passes_over_usage(engine, stored):
    engine.append(stored, "Since May.")
    engine.search("port of staging")
    engine.maintain()
    engine.undo()
    assert "Since May" not in engine.expand(stored).detail


def test_lines_that_are_none_are_passed_over(engine, root, stored):
    write(root, "usage/other.jsonl", f'nonsense\n[]\n{{"id": 3}}\n{{"id": "{stored}", "reads": 4, "days": null}}\n')
    assert use(engine, stored).reads == 4


@given(uses, uses, uses)
def test_uses_add_up_in_any_order(a, b, c):
    assert usage.joined(a, b) == usage.joined(b, a)
    assert usage.joined(usage.joined(a, b), c) == usage.joined(a, usage.joined(b, c))
