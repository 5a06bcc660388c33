"""What is used is kept for long; what contradicts is noted, never deleted; what is unsure changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas import MemoryEngine, consolidation
from atlas.memory import Use
from atlas.statements import happened, statements

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAYS = st.lists(st.integers(0, 400), min_size=0, max_size=20).map(
    lambda ago: tuple(sorted((NOW - timedelta(days=n)).date().isoformat() for n in ago))
)


def read(*ago, reads=None):
    days = tuple(sorted((NOW - timedelta(days=n)).date().isoformat() for n in ago))
    return Use(len(ago) if reads is None else reads, days, ())


@given(DAYS, st.integers(0, 5000))
def test_the_normalised_heat_is_a_share(days, words):
    found = consolidation.heat("normalised", Use(len(days), days, ()), words, NOW)
    assert 0 <= found.heat < 1
    assert bool(days) == (found.heat > 0)


@given(DAYS, st.integers(0, 5000), st.sampled_from(["normalised", "heat"]))
def test_one_more_read_never_cools(days, words, policy):
    today = NOW.date().isoformat()
    before = consolidation.heat(policy, Use(len(days), days, ()), words, NOW).heat
    after = consolidation.heat(policy, Use(len(days) + 1, (*days, today), ()), words, NOW).heat
    assert after >= before


def test_the_formula_as_published():
    """Three visits, two pages, a day ago: 3 + 2 + 1/e."""
    assert consolidation.heat("heat", read(1, 2, 3), 200, NOW).heat == pytest.approx(5 + 0.36788, abs=1e-4)


def test_by_default_two_days_lately_are_enough_and_one_is_not():
    least = consolidation.THRESHOLDS["normalised"]
    assert consolidation.heat("normalised", read(0, 3), 30, NOW).heat >= least
    assert consolidation.heat("normalised", read(0, reads=50), 30, NOW).heat < least, "a burst on one day"
    assert consolidation.heat("normalised", read(200, 210), 30, NOW).heat < least, "long ago"


def seen(engine, monkeypatch, *days):
    """The memory is shown on these days."""
    monkeypatch.setenv("ATLAS_NOW", "2026-04-01T10:00:00Z")
    (id,) = engine.ingest("We sat by the river and talked of boats", kind="episode")
    for day in days:
        monkeypatch.setenv("ATLAS_NOW", f"{day}T10:00:00Z")
        engine.expand(id)
        engine.maintain()
    return id


def test_a_working_memory_that_is_used_is_kept_for_long(engine, monkeypatch):
    id = seen(engine, monkeypatch, "2026-04-02", "2026-04-03")
    assert engine.expand(id).meta["tier"] == "long_term"
    assert engine.history(id)[0].op == "consolidate"
    assert "normalised threshold=0.5" in engine.history(id)[0].policy


def test_one_that_is_not_used_enough_stays(engine, monkeypatch):
    assert "tier" not in engine.expand(seen(engine, monkeypatch, "2026-04-02")).meta


@pytest.mark.parametrize(("setting", "kept"), [("policy = 'heat'", False), ("threshold = 0.3", True)])
def test_policy_and_threshold_are_settings(root, monkeypatch, setting, kept):
    toml = root / "atlas.toml"
    toml.write_text(f"{toml.read_text()}\n[consolidate]\n{setting}\n")
    with MemoryEngine(root) as engine:
        id = seen(engine, monkeypatch, "2026-04-02")
        assert ("tier" in engine.expand(id).meta) is kept


# ----------------------------------------------------------------- what is stated


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Ana's desk is on floor 2", ("ana", "", "floor", "2")),
        ("Ana moved to floor 5 yesterday", ("ana", "", "floor", "5")),
        ("Ana sits on the 5th floor.", ("ana", "", "floor", "5")),
        ("Ana's lab is on floor 3", ("ana", "lab", "floor", "3")),
        ("Staging now listens on port 5434", ("staging", "", "port", "5434")),
        ("Ana lives in Paris", ("ana", "", "place", "paris")),
        ("Ana moved from Paris to Berlin last week", ("ana", "", "place", "berlin")),
        ("Ana works for Globex now", ("ana", "", "employer", "globex")),
        ("The release date is now 3 May", ("the release date", "", "is", "3 may")),
        ("Our build tool is Make", ("our build tool", "", "is", "make")),
    ],
)
def test_what_fits_a_pattern(text, wanted):
    (found,) = statements(text)
    assert (*found.key[:2], found.slot, found.value) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Is Ana on floor 2?", "Ana will move to floor 5", "Ana might be on floor 5", "Ben thinks Ana is on floor 5",
        "Ana is not on floor 5", "Ana was on floor 5", "If Ana moved to floor 5, tell me", "He moved to floor 5",
        "Ana is OK", "The team is on issue 6", "Run 41: recall 0.812", "Restart node A", "Do not restart node A",
        "Ana moved to floor 5 and Ben to floor 6", "Ana is on floor 5 of the old building by the river",
    ],
)  # fmt: skip
def test_what_states_nothing(text):
    assert statements(text) == ()


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Ana moved to floor 5 yesterday", "2026-05-31"),
        ("On 3 May Ana moved to floor 5", "2026-05-03"),
        ("Ana is back on floor 2 since Monday", "2026-06-01"),
        ("We switched to Ninja two days ago", "2026-05-30"),
        ("Ana moved to floor 5", None),
        ("Ana will move to floor 5 tomorrow", None),
        ("The deadline moved to 10 May", None),
        ("Ana moved last month", None),
        ("Did Ana move yesterday?", None),
        ("We met yesterday", None),
        ("Ana moved yesterday, and Ben on 3 May", None),
    ],
)
def test_since_when_a_change_holds(text, day):
    assert happened(text, NOW + timedelta(hours=12)) == day


def test_an_episode_holds_at_no_time(engine):
    (fact,) = engine.ingest("Ana moved to floor 5 yesterday")
    (episode,) = engine.ingest("Ben moved to floor 6 yesterday", kind="episode")
    assert "valid_from" in engine.expand(fact).meta
    assert "valid_from" not in engine.expand(episode).meta


# ------------------------------------------------------------- what contradicts


def told(engine, *texts, **options):
    """Each text on a day of its own; their ids."""
    stored = [engine.ingest(text, created=f"2026-03-0{n}", **options)[0] for n, text in enumerate(texts, 1)]
    engine.maintain()
    return stored


def meta(engine, id):
    return {
        key: value for key, value in engine.expand(id).meta.items() if key in {"trust", "valid_to", "superseded_by"}
    }


def test_the_newer_says_it_is_a_change(engine):
    old, new = told(engine, "Staging listens on port 5433", "Staging now listens on port 5434")
    assert meta(engine, old) == {"valid_to": "2026-03-02T00:00:00Z", "superseded_by": new}
    assert meta(engine, new) == {}


def test_nobody_says_it_is_a_change(engine):
    both = told(engine, "Staging listens on port 5433", "Staging listens on port 5434")
    assert [meta(engine, id) for id in both] == [{"trust": "contested"}] * 2
    assert [ran for ran in engine.maintain(all_tasks=True) if ran.task == "consolidate"] == []


def test_a_third_that_is_a_change_settles_it(engine):
    one, two = told(engine, "Staging listens on port 5433", "Staging listens on port 5434")
    (new,) = engine.ingest("Staging now listens on port 5435", created="2026-03-05")
    engine.maintain()
    assert meta(engine, one)["superseded_by"] == meta(engine, two)["superseded_by"] == new


def test_what_is_not_trusted_overrules_nothing(engine):
    (old,) = told(engine, "Staging listens on port 5433")
    engine.ingest("Staging now listens on port 6666", created="2026-03-05", trust="untrusted")
    engine.maintain()
    assert meta(engine, old) == {}


def test_of_two_told_at_once_neither_came_later(engine):
    texts = "Staging listens on port 5433", "Staging now listens on port 5434"
    both = [engine.ingest(text, created="2026-03-01")[0] for text in texts]
    engine.maintain()
    assert [meta(engine, id) for id in both] == [{"trust": "contested"}] * 2


def test_what_a_person_has_judged_is_left(engine):
    (old,) = told(engine, "Staging listens on port 5433", trust="verified")
    (new,) = engine.ingest("Staging listens on port 5434", created="2026-03-05")
    engine.maintain()
    assert (meta(engine, old), meta(engine, new)) == ({"trust": "verified"}, {})


def test_another_scope_is_another_world(engine):
    (old,) = told(engine, "Staging listens on port 5433", scope="one")
    (new,) = engine.ingest("Staging now listens on port 5434", created="2026-03-05", scope="two")
    engine.maintain()
    assert (meta(engine, old), meta(engine, new)) == ({}, {})


def test_nothing_is_deleted_and_all_can_be_undone(engine):
    old, new = told(engine, "Ana works at Acme", "Ana works at Globex")
    assert meta(engine, old) == {"trust": "contested"}
    engine.undo(engine.history(old)[0].commit)
    assert (meta(engine, old), meta(engine, new)) == ({}, {})
