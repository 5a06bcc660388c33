"""The benchmark of a year: its twin has the same bytes, its readers read by Zipf's law."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from atlas import MemoryEngine, template
from atlas.errors import NotFound
from atlas.ingest import Request

THINGS = (
    *("boiler", "old mill", "garden gate", "tram ticket", "blue bicycle"),
    *("harbour office", "piano lesson", "kite", "walrus", "lamp"),
)
START = datetime(2026, 1, 5, 9, tzinfo=UTC)


def _module(name: str) -> ModuleType:
    """A module of the benchmarks, which import each other as scripts do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
        return import_module(name)


year = _module("_year")


def test_a_day_has_its_share_of_turns_in_order_and_begins_anew_at_the_end():
    talk, kept = [f"turn {n}" for n in range(7)], [f"note {n}" for n in range(3)]
    assert [len(day) for day in year.days(talk, kept, 4, 5)] == [5] * 4
    assert list(year.days(talk, kept, 3, 5))[2] == ["turn 6", "turn 0", "turn 1", "note 1", "note 2"]


def test_some_are_read_far_more_often_than_others():
    readers = year.Readers(7, 100)
    readers.stored([str(n) for n in range(100)])
    counts = sorted(Counter(readers.read(20_000)).values(), reverse=True)
    assert counts[0] / counts[9] == pytest.approx(10, rel=0.3)
    assert year.Readers(7, 100)._weights.tolist() == readers._weights.tolist()


def test_the_twin_has_the_same_files_and_tags(root, make_repo, git, tmp_path):
    twin = year.Twin(make_repo(tmp_path / "twin"))
    template.create(twin.root)
    texts = ["JWT refresh tokens raced.", "JWT audience claim is checked.", "JWT keys rotate each month."]
    with MemoryEngine(root) as engine:
        for text in texts:
            twin.follow(engine, engine.ingest_many([Request(text)]))
        assert any(len(engine.history(id)) > 1 for id in twin.paths), "the last gave the others a tag"
        assert year.sizes(engine)["notes"] == len(twin.paths) == len(year.standing(engine))
    assert year.trees(root) == year.trees(twin.root)
    assert git(twin.root, "status", "--porcelain") == ""


def test_after_undoing_every_run_nothing_is_other_than_without_them(root, make_repo, tmp_path, monkeypatch):
    """Forgotten, brought back, drawn into a cluster meanwhile: all of it is taken back to the byte."""
    twin = year.Twin(make_repo(tmp_path / "twin"))
    template.create(twin.root)
    chance, ids = random.Random(2), []  # a tag is given between a memory's return and its next step down
    runs: list[tuple[str, str]] = []
    with MemoryEngine(root) as engine:
        for month in range(9):
            monkeypatch.setenv("ATLAS_NOW", (START + timedelta(days=35 * month)).isoformat())
            done = engine.ingest_many([said(chance, month, n) for n in range(4)])
            twin.follow(engine, done)
            ids += done
            for id in chance.sample(ids[:12], 2):
                with suppress(NotFound):
                    engine.expand(id)
            runs += [(ran.task, ran.commit) for ran in engine.maintain(yes=True) if ran.commit and ran.task != "usage"]
        assert {"forget", "revive", "clusters"} <= {task for task, _ in runs}
        assert year.trees(root) != year.trees(twin.root)
        for _, commit in reversed(runs):
            engine.undo(commit)
    assert year.trees(root) == year.trees(twin.root)


def said(chance: random.Random, month: int, number: int) -> Request:
    """One of many things said of a few subjects, in the conversation of its month."""
    who, what = chance.choice(("Ana", "Ben")), chance.choice(THINGS)
    text = f"{who} said that the {what} wants {chance.randint(2, 90)} new parts. It was talked about for long."
    return Request(text, kind="episode", source=f"talk-{month}#{number}")
