"""Prefetching: what it never proposes, what it learns and forgets, and that no history or state can break it."""

from __future__ import annotations

import copy
import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas import habits, odds
from atlas.clues import NAMES, Clues
from atlas.habits import Habits
from atlas.odds import Bar, Odds
from atlas.prefetch import LIMIT, WEIGHTS, Numbers, Prefetcher, Turn

#: A machine that is busy makes no law untrue.
LAW = settings(deadline=None, max_examples=60)
IDS = [f"m{n}" for n in range(24)]
VECTORS = np.random.default_rng(7).standard_normal((24, 8)).astype(np.float32)


class Vault:
    """Relations over the made-up memories; the last four do not exist, though others name them."""

    def known(self, id: str) -> bool:
        return id in IDS[:20]

    def neighbours(self, id: str) -> list[str]:
        return [IDS[n] for place in self._place(id) for n in (place + 1, place - 1) if 0 <= n < len(IDS)]

    def linked(self, id: str) -> list[str]:
        return [IDS[n] for place in self._place(id) for n in (place * 3 % 24, 23)]

    def clusters(self, id: str) -> list[str]:
        return [f"c{place % 3}" for place in self._place(id)]

    def members(self, cluster: str) -> list[str]:
        return [id for n, id in enumerate(IDS) if cluster == f"c{n % 3}"]

    @staticmethod
    def _place(id: str) -> list[int]:
        return [n for n, name in enumerate(IDS) if name == id]


def nearest(vector, k):
    scores = VECTORS @ vector
    return [(IDS[n], float(scores[n])) for n in np.argsort(-scores, kind="stable")[:k]]


some = st.lists(st.sampled_from(IDS), unique=True, max_size=8).map(tuple)
turns = st.lists(
    st.builds(
        Turn,
        needed=some,
        ranked=some,
        missed=st.none() | some,
        said=some,
        vector=st.none() | st.sampled_from(list(VECTORS)),
        proposed=st.dictionaries(st.sampled_from(IDS), st.floats(), max_size=3),
    ),
    max_size=12,
)


def alone(prefetcher, *names):
    """One memory after the other, each needed alone."""
    return [prefetcher.after(Turn((name,)), ()) for name in names][-1]


# --------------------------------------------------------------------------- laws


@LAW
@given(turns, st.sets(st.sampled_from(IDS)), st.integers(0, 12), st.booleans())
def test_only_what_is_there_and_not_ready_is_proposed(turns, warm, limit, gated):
    prefetcher, vault = Prefetcher(limit, gated=gated), Vault()
    for turn in turns:
        found = prefetcher.after(turn, warm, vault, nearest)
        ids = [p.id for p in found]
        assert len(ids) == len(set(ids)) <= limit
        assert not warm.intersection(ids)
        assert not set(turn.needed).intersection(ids)
        assert all(vault.known(id) for id in ids)
        gains = [p.gain for p in found]
        assert gains == sorted(gains, reverse=True)
        assert all(0 <= p.gain <= 1 and p.why in NAMES[1:] for p in found)


@LAW
@given(turns, turns, st.sets(st.sampled_from(IDS)))
def test_what_is_restored_goes_on_as_if_nothing_had_been(before, after, warm):
    one, same = Prefetcher(), Prefetcher()
    for turn in before:
        assert one.after(turn, warm, Vault(), nearest) == same.after(turn, warm, Vault(), nearest)
    text = json.dumps(one.state(), allow_nan=False)
    again = Prefetcher.restored(json.loads(text))
    assert json.dumps(again.state()) == text
    for turn in after:
        assert again.after(turn, warm, Vault(), nearest) == one.after(turn, warm, Vault(), nearest)
    assert again.numbers() == one.numbers()
    assert again.state() == one.state()


def _places(value, path=()):
    """The path to every value of a JSON state."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _places(inner, (*path, key))


junk = st.sampled_from([None, -1, 10**400, 1e300, float("nan"), "x", [], {}, [[1, 2, 3]], True, {"names": 1}])


def _lived() -> Prefetcher:
    prefetcher = Prefetcher()
    for n in range(6):
        turn = Turn(tuple(IDS[n : n + 3]), tuple(IDS[n + 3 : n + 9]), said=(IDS[n],), vector=VECTORS[n])
        prefetcher.after(turn, (), Vault(), nearest)
    return prefetcher


@settings(deadline=None, max_examples=150)
@given(st.randoms(use_true_random=False), junk)
def test_a_damaged_state_is_a_fresh_start_or_a_sound_one(chance, value):
    state = copy.deepcopy(_STATE)
    path = chance.choice(_PLACES)
    if not path:
        state = value
    else:
        inside = state
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value
    prefetcher = Prefetcher.restored(state)
    for n in range(3):
        turn = Turn((IDS[n],), tuple(IDS[4:8]), vector=VECTORS[n])
        assert all(0 <= p.gain <= 1 for p in prefetcher.after(turn, (), Vault(), nearest))
    json.dumps(prefetcher.state(), allow_nan=False)


_STATE = json.loads(json.dumps(_lived().state()))
_PLACES = list(_places(_STATE))


@pytest.mark.parametrize("key", ["version", "names"])
def test_a_state_of_another_version_is_a_fresh_start(key):
    state = copy.deepcopy(_STATE) | {key: "another"}
    assert Prefetcher.restored(state).state() == Prefetcher().state() == Prefetcher.restored(None).state()


def test_memory_is_bounded_whatever_is_fed():
    followed = Habits()
    for n in range(habits.CONTEXTS + 50):
        followed.learn((f"a{n}",), [f"b{m}" for m in range(n % 20)])
    assert len(followed) == habits.CONTEXTS
    assert not followed.after([("a0",)])  # the ones not visited for longest went
    assert len(followed.after([("a2019",)])) == habits.FOLLOWERS
    prefetcher, sizes = Prefetcher(), []
    for n in range(240):
        needed = tuple(f"x{n}-{m}" for m in range(12))
        ranked = tuple(f"y{n}-{m}" for m in range(400))
        assert len(prefetcher.after(Turn(needed, ranked, said=needed), (), _All())) <= LIMIT
        if n % 60 == 59:
            sizes.append({k: len(v) for k, v in prefetcher.state()["clues"].items() if isinstance(v, list)})
    assert all(size["used"] <= 1000 and size["said"] <= 24 and size["ranked"] <= 4 for size in sizes)
    assert len(prefetcher.state()["pool"]) <= 256


class _All:
    """Everything exists and nothing is related."""

    def known(self, id):
        return True

    def neighbours(self, id):
        return ()

    linked = clusters = members = neighbours


rows = st.lists(st.lists(st.floats(-20, 20), min_size=3, max_size=3), max_size=6)


@LAW
@given(st.lists(st.tuples(rows, st.integers(0, 63)), max_size=20))
def test_learning_cannot_run_away(history):
    prior = np.array([-4.0, 1.0, 0.0])
    model = Odds(prior)
    for cases, bits in history:
        before = model.weights
        table = np.array(cases, float).reshape(-1, 3)
        model.learn(table, np.array([bool(bits >> n & 1) for n in range(len(cases))], bool))
        assert (np.abs(model.weights - before) <= odds.STEP + 1e-4).all()
        assert (np.abs(model.weights - prior) <= odds.REACH).all()
        assert ((model.of(table) >= 0) & (model.of(table) <= 1)).all()


# ----------------------------------------------------------------------- learning


def test_a_habit_is_learned_in_a_few_repetitions_and_given_up():
    prefetcher = Prefetcher()
    for n in range(6):
        alone(prefetcher, "morning", "inbox", f"else{n}")
    best, *_ = alone(prefetcher, "morning")
    assert (best.id, best.why) == ("inbox", "habit")
    for n in range(12):
        alone(prefetcher, "calendar", f"other{n}", "morning")
    assert alone(prefetcher, "x", "morning")[0].id == "calendar"


def test_a_longer_context_tells_two_habits_apart():
    followed = Habits()
    for _ in range(6):
        followed.learn(("hall",), ["attic"])
        followed.learn(("up", "hall"), ["attic"])
        followed.learn(("hall",), ["cellar"])
        followed.learn(("down", "hall"), ["cellar"])
    up, down = (followed.after([("hall",), (way, "hall")]) for way in ("up", "down"))
    assert up["attic"] > 2 * up["cellar"]
    assert down["cellar"] > 2 * down["attic"]
    unheard = followed.after([("hall",), ("through", "hall")])
    assert unheard == followed.after([("hall",)])
    assert sum(unheard.values()) < 1
    followed.learn(("once", "hall"), ["attic"])
    once = followed.after([("hall",), ("once", "hall")])
    assert once["attic"] > 2 * once["cellar"] > 0  # what the longer context has not seen yet, the shorter one has


def test_what_was_just_said_is_expected_soon():
    (best, *_) = Prefetcher().after(Turn(("old",), said=("older", "new")), ())
    assert (best.id, best.why) == ("new", "fresh")


def test_it_falls_silent_on_noise_and_speaks_again():
    prefetcher, chance = Prefetcher(), random.Random(3)
    habit = [len(alone(prefetcher, "morning", "inbox", f"else{n}", "morning")) for n in range(25)]
    assert sum(habit[-10:]) >= 10
    noise = [len(alone(prefetcher, f"n{chance.randrange(200)}")) for _ in range(300)]
    assert sum(noise[-100:]) <= 3
    for n in range(25):
        alone(prefetcher, "morning", "inbox", f"more{n}")
    assert [p.id for p in alone(prefetcher, "morning")][:1] == ["inbox"]


def test_the_bar_is_half_of_f_and_the_price_of_a_place_can_be_higher():
    bar = Bar()
    for _ in range(2000):
        bar.learn(used=3, issued=10, wanted=5)
    precision, coverage = 0.3, 0.6
    assert bar.height == pytest.approx(precision * coverage / (precision + coverage), rel=1e-3)
    turn = Turn(("old",), said=("new",))
    gain = Prefetcher().after(turn, ())[0].gain
    assert Prefetcher().after(turn, (), rival=gain + 0.001) == []
    assert Prefetcher().after(turn, (), rival=gain - 0.001)


def test_numbers_count_what_came_true():
    prefetcher = Prefetcher(limit=1, gated=False)
    assert prefetcher.numbers() == Numbers()
    assert prefetcher.numbers().precision is prefetcher.numbers().coverage is None
    prefetcher.after(Turn(("a",), said=("b",)), ())
    prefetcher.after(Turn(("b",), said=("c",)), ())  # b had been proposed; now c is
    prefetcher.after(Turn(("d", "e"), missed=("d",)), ("e", "c"))
    prefetcher.after(Turn(("c",)), ("c",))
    n = prefetcher.numbers()
    assert (n.used, n.soon, n.wanted) == (1, 2, 3)
    assert n.coverage == pytest.approx(1 / 3)


def test_every_clue_has_a_weight():
    assert tuple(WEIGHTS) == NAMES


# -------------------------------------------------------------------------- clues

ONE, OTHER = np.eye(8, dtype=np.float32)[:2]
#: What is told of two turns, and the memory that its clue must bring up after the second.
HEARD = {
    "now": ([Turn(("m0",)), Turn(("m1",), ("m9",))], "m9"),
    "last": ([Turn(("m0",), ("m9",)), Turn(("m1",))], "m9"),
    "before": ([Turn(("m0",), ("m9",)), Turn(("m1",)), Turn(("m2",))], "m9"),
    "fresh": ([Turn(("m0",)), Turn(("m1",), said=("m9",))], "m9"),
    "beside": ([Turn(("m0",)), Turn(("m13", "m15"))], "m14"),
    "linked": ([Turn(("m0",)), Turn(("m5",))], "m15"),
    "sibling": ([Turn(("m0",)), Turn(("m4",))], "m1"),
    "topic": ([Turn(("m3",)), Turn(("m4",)), Turn(("m6",))], "m16"),
    "habit": ([Turn(("m2",)), Turn(("m9",)), Turn(("m2",))], "m9"),
    "used": ([Turn(("m9",)), Turn(("m9",)), Turn(("m2",))], "m9"),
    "near": ([Turn(("m0",)), Turn(("m1",), vector=ONE)], "m8"),
    "back": ([Turn(("m0",), vector=ONE), Turn(("m1",), vector=OTHER)], "m8"),
    "proposed": ([Turn(("m0",)), Turn(("m1",), proposed={"m9": 0.9})], "m9"),
}


@pytest.mark.parametrize("name", HEARD)
def test_each_clue_brings_up_its_candidate(name):
    told, wanted = HEARD[name]
    clues = Clues()
    for turn in told:
        clues.take(turn, Vault())
    by_vector = {tuple(ONE): "m8", tuple(OTHER): "m7"}
    pool = clues.gather(told[-1], (), Vault(), lambda v, _: [(by_vector.get(tuple(v), "m6"), 0.9), ("m5", 0.1)])
    value = pool[wanted][NAMES.index(name)]
    assert value > 0
    assert all(value >= row[NAMES.index(name)] for row in pool.values())


def test_a_vector_that_is_none_changes_nothing():
    told = Turn(("m0",), vector=ONE)
    clues, other = Clues(), Clues()
    clues.take(told, Vault())
    other.take(told, Vault())
    clues.take(Turn(("m1",), vector=ONE * np.float32("nan")), Vault())
    other.take(Turn(("m1",)), Vault())
    assert clues.state() == other.state()
    clues.take(Turn(("m2",), vector=np.ones(3, np.float32)), Vault())  # another model's
    assert clues.state()["vectors"] == [[1.0] * 3, [1.0] * 3, None]
