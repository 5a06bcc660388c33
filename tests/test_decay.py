"""How memories fade: laws of the vault's clock, the formula by hand, FSRS replayed."""

from __future__ import annotations

import math
import subprocess
import sys
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas import decay
from atlas.config import FORGET_POLICIES, Config
from atlas.decay import Clock, Life

DAYS = st.floats(0, 40_000, allow_nan=False)
MOMENTS = st.lists(DAYS, max_size=12)
IDLE = st.floats(0, 400, allow_nan=False)


# ------------------------------------------------------------------- the vault's clock


@given(MOMENTS, DAYS, IDLE, DAYS, DAYS)
def test_what_is_earlier_is_never_younger(moments, now, idle, one, other):
    clock = Clock(moments, now, idle)
    early, late = sorted((one, other))
    assert clock.age(early) >= clock.age(late) - 1e-6


@given(MOMENTS, DAYS, IDLE, DAYS)
def test_an_age_is_never_more_than_the_calendar_says(moments, now, idle, then):
    assert 0 <= Clock(moments, now, idle).age(then) <= max(0.0, now - then)


@given(st.lists(st.floats(0, 60), min_size=1, max_size=30), st.data())
def test_where_no_gap_is_longer_it_is_the_calendar(gaps, data):
    """Every moment of a vault that is in use has the age of the calendar, those between two uses too."""
    moments = [100.0]
    for gap in gaps:
        moments.append(moments[-1] + gap)
    then = data.draw(st.floats(moments[0], moments[-1]))
    assert Clock(moments[:-1], moments[-1], 60.0).age(then) == pytest.approx(moments[-1] - then, abs=1e-6)


@given(st.lists(DAYS, min_size=1, max_size=12), DAYS, st.floats(1, 400))
def test_each_gap_counts_up_to_the_idle_days(moments, now, idle):
    """The age of the first moment, gap by gap, with no clever sums."""
    kept = sorted({min(m, now) for m in moments} | {now})
    wanted = sum(min(b - a, idle) for a, b in pairwise(kept))
    assert Clock(moments, now, idle).age(kept[0]) == pytest.approx(wanted, abs=1e-6)


def test_holidays_and_a_clock_set_to_2099_count_sixty_days():
    stored = [0.0, 1.0, 2.0, 3.0]
    assert Clock(stored, 3.0, 60).age(0.0) == 3
    assert Clock(stored, 33.0, 60).age(0.0) == 33
    assert Clock(stored, 30_000.0, 60).age(0.0) == 63
    assert [Clock([*stored, 30_000.0], 30_001.0, 60).age(day) for day in (0.0, 3.0, 30_000.0)] == [64, 61, 1]


def test_what_is_dated_later_than_now_is_of_now():
    clock = Clock([10.0, 90_000.0], 20.0, 60)
    assert (clock.age(10.0), clock.age(90_000.0), clock.age(21.0)) == (10, 0, 0)


def test_a_moment_is_its_days_since_1970():
    assert decay.day_of(datetime(1970, 1, 2, 12, tzinfo=UTC)) == 1.5


# ---------------------------------------------------------------------------- activity


def test_activity_is_the_formula():
    found = decay.activity(0.8, 90, 3, 60)
    assert found == pytest.approx(0.8 * math.exp(-(math.log(2) / 60) * 90) * math.log(5))


@given(st.floats(0, 1), st.floats(0, 1000), st.floats(0, 1000), st.integers(0, 50), st.floats(1, 400))
def test_time_lowers_it_and_use_raises_it(importance, days, more, accesses, half_life):
    now = decay.activity(importance, days, accesses, half_life)
    assert decay.activity(importance, days + more, accesses, half_life) <= now
    assert decay.activity(importance, days, accesses + 1, half_life) >= now


@pytest.mark.parametrize("policy", FORGET_POLICIES)
def test_days_are_counted_from_the_later_of_creation_and_last_read(policy):
    unread, read = Life(0.5, 0.0), Life(0.5, 0.0, (40.0,), accesses=1)
    assert (unread.last, read.last) == (0, 40)
    assert read.score(policy, 60, 100.0) > unread.score(policy, 60, 100.0)
    assert Life(0.5, 90.0, (40.0,)).last == 90


# -------------------------------------------------------------------------------- FSRS


def test_what_is_new_is_recalled_and_what_rests_fades():
    chances = [decay.retrievability([(0.0, True)], day) for day in (0.0, 10.0, 100.0, 1000.0)]
    assert chances[0] == 1
    assert chances == sorted(chances, reverse=True)
    assert 0.3 < chances[-1] < 0.5


def test_use_makes_it_last_and_a_correction_takes_that_back():
    once, used = [(0.0, True)], [(0.0, True), (10.0, True), (30.0, True)]
    corrected = [*used, (31.0, False)]
    at = [decay.retrievability(reviews, 120.0) for reviews in (once, used, corrected)]
    assert at[1] > at[0]
    assert at[1] > at[2]


def test_the_pace_is_that_of_the_half_life():
    slow, quick = (Life(1.0, 0.0).score("fsrs", days, 200.0) for days in (365, 30))
    assert slow > 2 * quick
    assert Life(1.0, 0.0).score("fsrs", 0.01, 40_000.0) > 0  # no date is that late


def test_a_corrected_memory_scores_lower():
    used = Life(0.5, 0.0, (5.0, 20.0), accesses=2)
    assert Life(0.5, 0.0, (5.0, 20.0), (21.0,), 2).score("fsrs", 60, 50.0) < used.score("fsrs", 60, 50.0)


# ------------------------------------------------------------------------------- rules


def test_kind_and_tier_say_how_long_a_memory_lasts(tmp_path):
    rules = decay.rules(Config(tmp_path))
    assert rules.half_life("episode", "working") == 45
    assert rules.half_life("preference", "user") == 4 * 365
    assert rules.half_life("recipe", "long_term") == rules.half_life("note", "anywhere") == 45


def test_thresholds_of_one_policy_are_not_those_of_the_other(tmp_path):
    mine = Config(tmp_path, forget_thresholds={"L0": 0.4})
    assert decay.rules(mine).thresholds == {"L1": 0.2, "L0": 0.4, "tombstone": 0.05}
    assert decay.rules(mine, "fsrs").thresholds == decay.THRESHOLDS["fsrs"]


def test_a_commit_names_the_policy_with_all_its_numbers(tmp_path):
    said = str(decay.rules(Config(tmp_path)))
    assert said.startswith("activity half_life=episode:60,fact:45,")
    assert "thresholds=L1:0.2,L0:0.13,tombstone:0.05" in said


def test_fsrs_is_loaded_by_those_who_choose_it():
    code = "import sys; from atlas import decay; decay.activity(1, 1, 1, 1); print('fsrs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
