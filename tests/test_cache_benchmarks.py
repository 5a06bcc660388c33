"""The benchmarks of the tiers and of the focus: policies are what their papers say, errors what their formulas say."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.cache import Tiers


def _module(name: str) -> ModuleType:
    """A module of the benchmarks, which import each other as scripts do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
        return import_module(name)


policies, segments, trace, hits = map(_module, ("_policies", "_segments", "_trace", "cache_hit_rate"))


# --------------------------------------------------------------------- policies

NEEDS = st.lists(st.lists(st.integers(0, 15), min_size=1, max_size=3, unique=True), max_size=40)


def rate(policy: object, needs: list[list[int]]) -> int:
    found = 0
    for needed in needs:
        found += sum(id in policy.held() for id in needed)
        policy.need(needed)
    return found


@settings(max_examples=50)
@given(NEEDS, st.integers(4, 9))
def test_no_policy_holds_more_than_fits_or_what_was_never_needed(needs, room):
    for make in policies.POLICIES.values():
        policy, seen = make(room), set()
        for needed in needs:
            policy.need(needed)
            seen.update(needed)
            assert len(policy.held()) <= room
            assert seen.issuperset(policy.held())


@settings(max_examples=50)
@given(NEEDS, st.integers(4, 9))
def test_nobody_beats_who_knows_the_future(needs, room):
    best = rate(policies.Belady(room, needs), needs)
    assert all(rate(make(room), needs) <= best for make in policies.POLICIES.values())


def test_what_each_policy_keeps():
    """One is asked for again and again, then a scan comes by: LRU forgets it, the others do not."""
    needs = [[0], [0], [0], [0], *([n] for n in range(1, 30))]
    kept = {}
    for name, make in policies.POLICIES.items():
        policy = make(10)
        rate(policy, needs)
        kept[name] = 0 in policy.held()
    assert kept == {name: name != "LRU" for name in kept}


# ----------------------------------------------------------------------- errors


def flags(text: str) -> np.ndarray:
    return np.array([mark == "|" for mark in text])


def test_the_errors_are_what_the_formulas_say():
    """Written out for ten turns and windows of two: window i holds the places i+1 and i+2."""
    real, near, far, twice = map(flags, ("....|.....", ".....|....", "........|.", "....||...."))
    assert segments.window(real) == 2
    assert segments.errors(real, real) == (0.0, 0.0)
    assert segments.errors(real, flags(".........."))[0] == 2 / 8
    assert segments.errors(real, near) == (2 / 8, 2 / 8)
    assert segments.errors(real, far) == (4 / 8, 4 / 8)
    assert segments.errors(real, twice) == (1 / 8, 2 / 8)


@settings(max_examples=50)
@given(st.lists(st.booleans(), min_size=12, max_size=40), st.lists(st.booleans(), min_size=40, max_size=40))
def test_window_diff_is_never_less_than_pk(real, said):
    begins = np.array([False, *real[1:]])
    pk, diff = segments.errors(begins, np.array(said[: len(real)]))
    assert 0 <= pk <= diff <= 1


def dialogue(sessions: int, length: int) -> object:
    turns = tuple(
        trace.Turn(f"Ada: {session} {n}", f"session_{session}", f"{session}-{n}", (), ())
        for session in range(sessions)
        for n in range(length)
    )
    vectors = np.repeat(np.eye(sessions, dtype=np.float32), length, axis=0)
    return trace.Dialogue("made up", turns, vectors)


def test_spliced_halves_begin_where_the_subject_changes_and_come_back():
    talk = segments.spliced([dialogue(5, 20)], 0)
    assert talk.texts == segments.spliced([dialogue(5, 20)], 0).texts != segments.spliced([dialogue(5, 20)], 1).texts
    assert len(talk.texts) == len(set(talk.texts))
    changes = [place for place in range(1, len(talk.topics)) if talk.topics[place] != talk.topics[place - 1]]
    assert np.flatnonzero(talk.begins).tolist() == changes
    assert len(set(talk.topics)) == 5
    assert len(changes) + 1 == 5 + 3
    assert not {"0", "1", "18", "19"} & {text.split()[-1] for text in talk.texts}


def test_simple_rules_find_what_is_plain_to_see():
    talk = segments.lived(dialogue(3, 20), [0.0, 5.0, 7.0])
    assert np.flatnonzero(talk.begins).tolist() == [20, 40]
    assert [hours for hours in talk.hours if hours] == [5.0, 7.0]
    for rule in (segments.by_drift(0.5), segments.by_valleys(0.5)):
        assert segments.errors(talk.begins, rule(talk)) == (0.0, 0.0)
    assert segments.every(20)(talk).sum() == 3
    assert not segments.never(talk).any()


# ----------------------------------------------------------------------- serving


def test_regret_is_the_share_that_is_missing():
    rankings = [range(20), range(5, 9)]
    assert hits.regret(rankings, lambda place: rankings[place]) == 0.0
    assert hits.regret(rankings, lambda _: range(5)) == (0.5 + 1.0) / 2


def test_an_answer_through_the_tiers_is_the_ranking():
    tiers = Tiers(2, 2)
    tiers.admit("3", "3", 1, 1.0, 3)
    tiers.admit("4", "other content", 1, 1.0, 99)
    assert hits.served(tiers, range(12)) == list(range(10))
