"""A shift is told once, a return names what was hot; whatever is said, the focus stays small and sound."""

from __future__ import annotations

import json
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas import focus
from atlas.cues import AGAIN, CLOSING, OPENING, TURNING, names
from atlas.focus import Focus, Shift, shown, turned

DIM = 8


def vector(topic: int, noise: float = 0.0, seed: int = 0) -> np.ndarray:
    """A direction of its own for each topic, blurred."""
    made = np.eye(DIM)[topic] + noise * np.random.default_rng(seed).standard_normal(DIM)
    return made.astype(np.float32)


def talk(topics: list[int], text: str = "and so on", noise: float = 0.2) -> tuple[Focus, list[Shift | None]]:
    now, shifts = Focus(), []
    for place, topic in enumerate(topics):
        now, shift = turned(now, vector(topic, noise, place), text)
        now = shown(now, [f"t{topic}-{place % 3}"])
        shifts.append(shift)
    return now, shifts


def at(shifts: list[Shift | None]) -> list[int]:
    return [place for place, shift in enumerate(shifts) if shift]


# ------------------------------------------------------------------------ drift


def test_a_new_subject_is_one_shift_and_names_what_was_hot():
    _, shifts = talk([0] * 12 + [1] * 12)
    assert at(shifts) == [12]
    told = shifts[12]
    assert set(told.demote) == {"t0-0", "t0-1", "t0-2"}
    assert (told.promote, told.back) == ((), False)
    assert set(told.why) == {"drift", "leap"}


def test_a_return_is_recognised_and_promotes_what_was_hot_in_it():
    now, shifts = talk([0] * 12 + [1] * 12 + [2] * 12 + [0] * 12)
    assert at(shifts) == [12, 24, 36]
    assert shifts[36].back
    assert set(shifts[36].promote) == {"t0-0", "t0-1", "t0-2"}
    assert set(shifts[36].demote) == {"t2-0", "t2-1", "t2-2"}
    assert len(now.topics) == 2


def test_what_was_hot_in_a_topic_is_its_own_again_after_a_return():
    now, _ = talk([0] * 12 + [1] * 12)
    for place in range(3):
        now, shift = turned(now, vector(0, 0.2, place), "and so on")
        if shift:
            break
    assert shift.back
    assert set(now.ids) == set(shift.promote) == {"t0-0", "t0-1", "t0-2"}


def test_nearness_to_an_earlier_topic_is_evidence():
    now, _ = talk([0] * 12 + [1] * 12)
    assert focus.evidence(now, vector(0), "and so on")["earlier"] > 0.2
    assert focus.evidence(now, vector(1), "and so on")["earlier"] == 0.0
    assert focus.evidence(now, vector(2), "and so on")["earlier"] == 0.0


def test_the_same_subject_is_no_shift_however_long():
    assert at(talk([3] * 80)[1]) == []


def test_a_second_threshold_stops_flapping():
    """Between two subjects in turn, without it every turn would be a shift."""
    flapping = [0] * 12 + [1, 2] * 10
    _, shifts = talk(flapping)
    now, without = Focus(), 0
    for place, topic in enumerate(flapping):
        now, shift = turned(focus.settled(now), vector(topic, 0.2, place), "and so on")
        without += shift is not None
    assert len(at(shifts)) < without


def test_only_so_many_topics_are_remembered():
    now, shifts = talk([place // 12 % DIM for place in range(12 * DIM)] * 2)
    assert len(at(shifts)) > focus.TOPICS
    assert len(now.topics) <= focus.TOPICS


# ------------------------------------------------------------------------ words


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        (TURNING, "By the way, the key is under the mat"),
        (TURNING, "Anyway. What about the boiler?"),
        (TURNING, "Let's get back to the parser"),
        (TURNING, "Switching topics: lunch"),
        (TURNING, "on another note, it rained"),
        (TURNING, "a new subject for you"),
        (OPENING, "Ada: Hey! How are you?"),
        (OPENING, "good morning"),
        (AGAIN, "So much happened since we last spoke"),
        (AGAIN, "Long time no see"),
        (CLOSING, "Talk to you later"),
        (CLOSING, "Take care!"),
    ],
)
def test_phrases_are_heard(cue, text):
    assert cue.search(text)


@pytest.mark.parametrize("text", ["the highway was closed", "they showed it to him", "this is a subjective view", ""])
def test_words_that_only_look_alike_are_not(text):
    assert not any(cue.search(text) for cue in (TURNING, AGAIN, CLOSING))
    assert not OPENING.match(text)


def test_names_are_found_where_no_sentence_begins():
    assert list(names("The heron. It saw Ben's boat near Port_7 and k8s, Zürich, ÅSE")) == [
        "ben", "port_7", "k8s", "zürich", "åse",
    ]  # fmt: skip
    assert list(names("Nothing here. Only beginnings! And so?")) == []


def test_a_greeting_opens_once_and_its_answer_does_not():
    now, _ = talk([0] * 12)
    now, opened = turned(now, vector(0), "Ada: Hey Ben, long time no see!")
    assert opened is not None
    assert opened.why[:2] == ("opening", "again")
    assert focus.evidence(now, vector(0), "Ben: Hey Ada!")["opening"] == 0.0
    _, again = turned(now, vector(0), "Ben: Hey Ada!")
    assert again is None


def test_hours_away_are_a_new_sitting_and_minutes_are_not():
    now, _ = talk([0] * 12)
    assert turned(now, vector(0), "and so on", away=600)[1] is None
    assert turned(now, vector(0), "and so on", away=10 * 3600)[1].why[0] == "away"


def test_a_name_of_another_topic_is_evidence():
    now, _ = talk([0] * 4, "we asked Ben")
    assert focus.evidence(now, vector(0), "and then Cleo came")["strange"] == 1.0
    assert focus.evidence(now, vector(0), "and then Ben and Cleo came")["strange"] == 0.0
    assert focus.evidence(now, vector(0), "and then nobody came")["strange"] == 0.0


# ------------------------------------------------------------------------- laws

FLOATS = st.floats(width=32)
TURNS = st.lists(
    st.tuples(
        st.lists(FLOATS, min_size=3, max_size=4),
        st.one_of(st.text(max_size=30), st.sampled_from(["Hey", "bye", "by the way", "I saw Ben"])),
        st.one_of(st.floats(0, 1e6), st.sampled_from([nan, inf, -1.0])),
        st.lists(st.sampled_from("abcdef"), max_size=3),
    ),
    max_size=12,
)


def after(turns: list[tuple], now: Focus) -> tuple[Focus, list[Shift | None]]:
    shifts = []
    for numbers, text, away, ids in turns:
        now, shift = turned(now, np.array(numbers, np.float32), text, away=away)
        now = shown(now, ids)
        shifts.append(shift)
    return now, shifts


@settings(max_examples=60)
@given(TURNS, TURNS)
def test_any_turns_leave_a_sound_focus_that_goes_through_json(turns, more):
    now, shifts = after(turns, Focus())
    assert all(shift is None or np.isfinite(shift.odds) for shift in shifts)
    again = Focus.restored(json.loads(json.dumps(now.state(), allow_nan=False)))
    assert again == now
    assert after(more, again) == after(more, now)


JSON = st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=8), st.lists(st.text(max_size=4), max_size=2))


@settings(max_examples=60)
@given(TURNS, st.sampled_from(list(Focus().state())), JSON)
def test_a_damaged_state_is_no_focus_or_a_sound_one(turns, key, damage):
    state = after(turns, Focus())[0].state()
    for damaged in (damage, {**state, key: damage}, {**state, "topics": [damage]}, {**state, "topics": [[damage, []]]}):
        now, _ = after(turns, Focus.restored(damaged))
        json.dumps(now.state(), allow_nan=False)


def test_without_vectors_words_still_speak():
    now, nothing = Focus(), np.zeros(0, np.float32)
    for _ in range(5):
        now, shift = turned(now, nothing, "and so on")
        assert shift is None
    assert turned(now, nothing, "Hello again")[1] is not None


def test_vectors_of_another_model_begin_anew():
    now, _ = talk([0] * 12)
    again, shift = turned(now, np.ones(DIM * 2, np.float32), "and so on")
    assert shift is None
    assert (again.topics, again.ids) == ((), now.ids)


def test_a_long_text_is_read_at_its_ends():
    now, _ = talk([0] * 12)
    later, shift = turned(now, vector(0), "Hello again! " + "so it went on " * 20_000 + "bye")
    assert shift is not None
    assert later.closed
