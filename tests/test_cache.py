"""Tiers keep to their room, never serve what is stale, lose nothing they need not, and forecast better than LRU."""

from __future__ import annotations

import json
from collections import OrderedDict
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas import forecast
from atlas.cache import Held, Tiers
from atlas.forecast import Forecast
from atlas.memory import Tier

IDS = st.sampled_from([f"m{n}" for n in range(12)])
BLOBS = st.sampled_from(["b1", "b2"])
SIZES = st.integers(-1, 9)
GAINS = st.one_of(st.floats(0, 1), st.sampled_from([nan, inf, -inf]))
MANY = st.lists(IDS, max_size=6)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("turn"), st.dictionaries(IDS, st.tuples(BLOBS, SIZES), max_size=6), MANY),
        st.tuples(st.just("admit"), IDS, BLOBS, SIZES, GAINS),
        st.tuples(st.just("written"), IDS, BLOBS, SIZES),
        st.tuples(st.just("demote"), MANY),
        st.tuples(st.just("promote"), MANY),
        st.tuples(st.just("keep_only"), st.dictionaries(IDS, BLOBS, max_size=12)),
        st.tuples(st.just("get"), IDS, BLOBS),
    ),
    max_size=25,
)


def after(steps: list[tuple], hot: int = 10, warm: int = 20) -> Tiers:
    tiers = Tiers(hot, warm)
    for step in steps:
        do(tiers, step)
    return tiers


def do(tiers: Tiers, step: tuple) -> object:
    """One step; what is prepared of a content names it."""
    name, *rest = step
    if name == "turn":
        shown, ranked = rest
        return tiers.turn({id: Held(blob, size, (id, blob)) for id, (blob, size) in shown.items()}, ranked)
    if name in {"admit", "written"}:
        return getattr(tiers, name)(*rest, payload=(rest[0], rest[1]))
    return getattr(tiers, name)(*rest)


def places(tiers: Tiers) -> dict[str, Tier]:
    return {id: tiers.tier(id) for id in (f"m{n}" for n in range(12))}


# ------------------------------------------------------------------------- laws


@settings(max_examples=40)
@given(STEPS, st.integers(-1, 12), st.integers(-1, 30))
def test_room_is_never_exceeded(steps, hot, warm):
    tiers = Tiers(hot, warm)
    for step in steps:
        do(tiers, step)
        numbers = tiers.numbers()
        assert numbers["hot_tokens"] <= max(0, hot)
        assert numbers["hot_tokens"] + numbers["warm_tokens"] <= max(0, hot) + max(0, warm)
        assert numbers["hot_memories"] + numbers["warm_memories"] == len(tiers)
        assert set(tiers.hot()) == {id for id, tier in places(tiers).items() if tier is Tier.HOT}


def test_what_was_made_of_other_content_is_dropped_when_asked_for():
    tiers = Tiers(10, 10)
    tiers.turn({"a": Held("old", 1, "payload")})
    assert tiers.get("a", "old") == "payload"
    assert tiers.get("a", "new") is None
    assert tiers.get("a", "old") is None
    assert "a" not in tiers


@settings(max_examples=40)
@given(STEPS, IDS, BLOBS)
def test_what_is_served_was_made_of_the_content_asked_for(steps, id, blob):
    tiers = after(steps)
    served = tiers.get(id, blob)
    assert served in (None, (id, blob))
    if id in tiers:
        assert served == (id, blob)
    else:
        assert tiers.tier(id) is Tier.COLD


@settings(max_examples=40)
@given(STEPS, st.dictionaries(IDS, BLOBS))
def test_what_is_gone_or_changed_is_not_kept(steps, live):
    tiers = after(steps)
    before = places(tiers)
    tiers.keep_only(live)
    for id, tier in places(tiers).items():
        assert tier is Tier.COLD or (tier is before[id] and tiers.get(id, live[id]) == (id, live[id]))
    kept = json.dumps(tiers.state())
    assert [id for id in before if id not in live and f'"{id}"' in kept] == []


@settings(max_examples=40)
@given(STEPS, MANY)
def test_moving_between_hot_and_warm_loses_nothing(steps, ids):
    tiers = after(steps)
    held = {id for id, tier in places(tiers).items() if tier is not Tier.COLD}
    tiers.demote(ids)
    assert not set(tiers.hot()) & set(ids)
    cold = tiers.promote(ids)
    assert set(cold) == set(ids) - held
    assert {id for id, tier in places(tiers).items() if tier is not Tier.COLD} == held
    assert all(tiers.get(id, blob) for id, (blob, _) in tiers.state()["held"].items())


@settings(max_examples=40)
@given(STEPS, STEPS)
def test_the_same_steps_lead_to_the_same_state_and_the_state_goes_through_json(steps, more):
    one, two = after(steps), after(steps)
    assert one.state() == two.state()
    three = Tiers.restored(json.loads(json.dumps(one.state())), 10, 20)
    assert three.state() == one.state()
    assert places(three) == places(one)
    four = Tiers.restored(one.state(), 10, 20)
    for step in more:
        do(three, step)
        do(four, step)
    assert three.state() == four.state()


@settings(max_examples=40)
@given(STEPS, st.integers(0, 10), st.integers(0, 10))
def test_less_room_after_a_restart_is_kept_to(steps, hot, warm):
    numbers = Tiers.restored(after(steps).state(), hot, warm).numbers()
    assert numbers["hot_tokens"] <= hot
    assert numbers["hot_tokens"] + numbers["warm_tokens"] <= hot + warm


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)
KEYS = ("version", "held", "hot", "gains", "counts", "forecast")


@settings(max_examples=40)
@given(STEPS, st.sampled_from(KEYS), JSON, JSON)
def test_a_damaged_state_is_an_empty_cache_or_a_sound_one(steps, key, damage, other):
    good = after(steps).state()
    inner = {"forecast": {**good["forecast"], "weights": damage}}
    for state in (damage, {**good, key: damage}, {**good, **inner}, {**good, "held": {"m1": damage, "m2": other}}):
        tiers = Tiers.restored(state, 10, 20)
        tiers.turn({"m1": Held("b1", 3)}, ["m1", "m2"])
        numbers = tiers.numbers()
        assert numbers["hot_tokens"] + numbers["warm_tokens"] <= 30
        json.dumps(tiers.state(), allow_nan=False)


def test_a_state_without_a_version_or_of_another_is_not_read():
    good = after([("turn", {"m1": ("b1", 3)}, [])]).state()
    assert len(Tiers.restored(good, 10, 20)) == 1
    assert len(Tiers.restored({**good, "version": 0}, 10, 20)) == 0
    assert len(Tiers.restored({k: v for k, v in good.items() if k != "version"}, 10, 20)) == 0


# ---------------------------------------------------------------------- one by one


def test_what_was_shown_is_hot_and_what_was_hot_is_warm():
    tiers = Tiers(10, 20)
    tiers.turn({"a": Held("b", 4), "b": Held("b", 4), "c": Held("b", 4)})
    assert (tiers.hot(), tiers.tier("c")) == (("a", "b"), Tier.WARM)
    tiers.turn({"c": Held("b", 4)})
    assert (tiers.hot(), tiers.tier("a"), tiers.tier("x")) == (("c",), Tier.WARM, Tier.COLD)
    numbers = tiers.numbers()
    assert (numbers["needed"], numbers["hot"], numbers["warm"], numbers["hit_rate"]) == (4, 0, 1, 0.25)


def test_a_newcomer_has_to_be_worth_more_than_what_it_pushes_out():
    tiers = Tiers(0, 10)
    assert tiers.rival() == 0.0
    tiers.turn({"a": Held("b", 5), "b": Held("b", 5)}, ["a", "b"])
    assert not tiers.admit("c", "b", 5, gain=0.01)
    assert not tiers.admit("d", "b", 11, gain=1.0)
    assert not tiers.admit("c", "b", 5, gain=tiers.rival())
    assert tiers.admit("c", "b", 5, gain=tiers.rival() * 1.01)
    assert (tiers.tier("a"), tiers.tier("b")) == (Tier.WARM, Tier.COLD)
    assert (tiers.numbers()["admitted"], tiers.numbers()["refused"]) == (1, 3)


def test_an_expectation_that_does_not_come_true_fades():
    tiers = Tiers(2, 2)
    tiers.admit("idle", "b", 1, gain=1.0)
    tiers.turn({}, ["x"])
    assert "idle" in tiers
    for turn in range(12):
        tiers.turn({f"s{turn}": Held("b", 1), f"t{turn}": Held("b", 1)})
    assert "idle" not in tiers


def test_what_is_prepared_stays_with_its_content_and_is_asked_for_after_a_restart():
    tiers = Tiers(5, 5)
    tiers.admit("a", "b1", 2, payload="text")
    tiers.turn({"a": Held("b1", 3)})
    assert tiers.get("a", "b1") == "text"
    again = Tiers.restored(tiers.state(), 5, 5)
    assert (again.get("a", "b1"), again.bare(), again.tier("a")) == (None, ("a",), Tier.HOT)
    assert again.admit("a", "b1", 3, payload="text")
    assert (again.get("a", "b1"), again.bare()) == ("text", ())
    again.turn({"a": Held("b2", 3)})
    assert again.get("a", "b2") is None


def test_no_text_is_in_the_state():
    tiers = Tiers(9, 9)
    tiers.turn({"a": Held("b1", 3, "the words of it")})
    assert "words" not in json.dumps(tiers.state())


def test_what_was_found_and_not_held_is_wanted():
    tiers = Tiers(1, 1)
    tiers.turn({"a": Held("b", 1)}, [f"r{n}" for n in range(30)])
    assert [id for id, _ in tiers.wanted(3)] == ["r0", "r1", "r2"]
    chances = [chance for _, chance in tiers.wanted(30)]
    assert chances == sorted(chances, reverse=True)


# --------------------------------------------------------------------- forecast


@settings(max_examples=20)
@given(st.lists(st.tuples(st.lists(st.integers(0, 40), max_size=30, unique=True), st.integers(0, 40)), max_size=30))
def test_a_forecast_is_bounded_whatever_is_fed(answers):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forecast, "KNOWN", 8)
        patch.setattr(forecast, "DEPTH", 5)
        patch.setattr(forecast, "KEPT", 4)
        seen = Forecast()
        for ranked, written in answers:
            seen.answered([str(n) for n in ranked], {str(n) for n in ranked[:2]})
            seen.written(str(written))
            assert len(seen) <= 8 + 5
            assert all(0 <= chance <= 1 for _, chance in seen.best())
            assert abs(seen.weights - forecast.PRIOR).max() <= forecast.FAR
        assert len(seen.state()["traces"]) <= 4
        assert Forecast.restored(seen.state()).state() == seen.state()


def test_the_forecast_fades_and_later_is_more():
    seen = Forecast()
    unknown = seen.of(["nobody"])[0]
    seen.answered(["old"], {"old"})
    fresh = seen.of(["old"])[0]
    for _ in range(5):
        seen.answered(["new"], {"new"})
    old, new = seen.of(["old", "new"])
    assert unknown < old < fresh < new
    assert seen.of(["nobody"])[0] < 0.02


def test_a_just_written_memory_is_likely():
    seen = Forecast()
    seen.written("a")
    assert seen.of(["a"])[0] > 0.1


def test_other_habits_are_learned():
    """Where what was needed is never needed again at once, that is expected less and less."""
    seen = Forecast()
    for turn in range(600):
        seen.answered([f"m{turn % 30}"], {f"m{turn % 30}"})
    assert seen.weights[1] < forecast.PRIOR[1] - 0.1


# ------------------------------------------------------------------ against LRU


def test_a_scan_does_not_flush_what_is_needed_again_and_again():
    """Ten memories come back every few turns; between them everything is read once. LRU keeps the scan."""
    asked = [[f"home{(3 * n + k) % 10}" for k in range(3)] + [f"scan{7 * n + k}" for k in range(7)] for n in range(60)]
    least_recent: OrderedDict[str, None] = OrderedDict()
    tiers, hits = Tiers(10, 10), 0
    for needed in asked:
        hits += sum(id in least_recent for id in needed)
        for id in needed:
            least_recent[id] = None
            least_recent.move_to_end(id)
        while len(least_recent) > 20:
            least_recent.popitem(last=False)
        tiers.turn({id: Held("b", 1) for id in needed})
    assert hits / 600 < 0.05
    assert tiers.numbers()["hit_rate"] > 0.2
