"""A real small model writes summaries and talks: what it writes passes the checks or is refused; the vault is whole.

It is weak on purpose. Nothing here says that it writes well; that a weak model does no harm is what is tested.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from smollm import SmolWriter

from atlas import MemoryEngine, compaction, drift, markdown, models, summaries
from atlas.models import offline
from atlas.models.writing import Budget, Budgeted

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
planted = import_module("_planted")

pytestmark = pytest.mark.local

TALK = "It is such a pleasure to sit together and talk about all of this with good friends all day. Thanks a lot!"
LONG = (
    "The boiler in the cellar was serviced on 3 May 2026 by Mira. It runs at 3 bar and never above 4 bar. "
    "The filter behind it is changed every six months, the next time in November. The valve on the left leaks a little "
    "when the tap upstairs is open, and nobody has found out why. Ana keeps spare filters on the shelf by the door. "
    "The invoice came to 240 euros and was paid in cash on the same day."
)


@pytest.fixture(scope="module")
def model() -> SmolWriter:
    """The model, which loads at its first answer."""
    return SmolWriter()


def test_it_answers_through_the_budget_like_any_other_model(model):
    writer = Budgeted(model, Budget(calls=1))
    assert "Paris" in writer.complete("What is the capital of France?")


@pytest.mark.parametrize(("boxes", "holds_all"), [(5, True), (12, False)])
def test_of_what_it_sums_up_no_fact_is_lost_whether_it_holds_them_all_or_not(model, boxes, holds_all):
    turns = [
        planted.Turn(
            f"Ana: {TALK} Box {n} holds {n * 17 + 3} screws.", (planted.Planted((f"Box {n}", f"{n * 17 + 3}")),)
        )
        for n in range(boxes)
    ]
    files, view = planted.vault(turns)
    config = replace(view.config, upkeep_summaries="llm")
    view = replace(view, config=replace(config, writer=models.budgeted(config, model)))
    before = len(model.said)
    plan = compaction.plan(view)
    said = "\n".join(model.said[before:])
    assert said, "it was asked"
    assert all(f"Box {n} holds {n * 17 + 3} screws" in said for n in range(boxes)) == holds_all, said
    after = planted.applied(files, plan.changes)
    assert planted.lost(turns, after) == [], said
    for change in plan.changes:
        if change.data is not None:
            assert markdown.parse(change.data.decode(), change.path).readable


def test_a_summary_that_fell_behind_is_written_by_it_and_nothing_else_changes(model, root, git, sound):
    (root / "atlas.toml").write_text('[upkeep]\nsummaries = "llm"\n')
    git(root, "commit", "-qam", "settings")
    with MemoryEngine(root, llm=model) as engine:
        (id,) = engine.ingest(LONG, label="The boiler")
        place = root / engine.expand(id).path
        head, mark, told = place.read_text().partition("## Detail")
        engine.edit(id, lambda _: head + mark + told.replace("3 bar", "2 bar").replace("240 euros", "250 euros"))
        detail = markdown.parse(place.read_text(), "").detail
        before = len(model.said)
        engine.maintain(all_tasks=True)
        note = markdown.parse(place.read_text(), "")
        assert drift.state(note) is drift.State.FRESH
        assert note.detail == detail
        assert len(model.said) == before + 1
        wanted = summaries.fitting(model.said[-1]) or offline.summary(detail)
        assert note.summary == wanted
        assert engine.status()["findings"] == []
    assert git(root, "status", "--porcelain") == ""
    sound(root)


def test_it_talks_with_the_memory_and_the_turn_is_kept(model, root, git):
    with MemoryEngine(root, llm=model) as engine:
        engine.ingest("The user's cat is called Miso.")
        heard = []
        answer = engine.chat("What is the name of my cat?", hear=heard.append)
        assert answer.text == "".join(heard) == model.said[-1]
        assert [one.label for one in answer.shown] == ["The user's cat is called Miso"]
        assert answer.stored
        assert "name of my cat" in engine.expand(answer.stored[0]).detail
    assert git(root, "status", "--porcelain") == ""
