"""Which messages are new, and where a conversation is cut: laws of the rooms below `engine.ingest(messages=…)`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas import turns, windows
from atlas.messages import ASSISTANT, TOOL, USER, Message
from atlas.turns import Turn

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def said(*texts: str) -> list[Message]:
    return [Message((USER, ASSISTANT)[n % 2], text) for n, text in enumerate(texts)]


def new(messages: list[Message], stored: frozenset[str] = frozenset()) -> list[str]:
    return [turn.message.text for turn in turns.new(messages, stored)]


def keys_of(messages: list[Message], stored: frozenset[str] = frozenset()) -> frozenset[str]:
    """The keys after these were stored too, read back from the sources that name them."""
    found = turns.new(messages, stored)
    return stored | turns.keys([turns.source("talk", found[n : n + 4]) for n in range(0, len(found), 4)])


# ------------------------------------------------------------------------ what is new

LONG = [f"Message number {n} of this conversation says something." for n in range(9)]


def test_a_conversation_that_goes_on():
    stored = keys_of(said(*LONG[:5]))
    assert new(said(*LONG[:5]), stored) == []
    assert new(said(*LONG), stored) == LONG[5:]


def test_what_came_before_may_be_missing():
    stored = keys_of(said(*LONG[:6]))
    assert new(said(*LONG)[2:], stored) == LONG[6:]
    assert new(said(*LONG)[2:5], stored) == []


def test_only_what_is_new_may_be_given_each_time():
    stored = keys_of(said(*LONG[:4]))
    stored = keys_of(said(*LONG)[4:6], stored)
    assert new(said(*LONG)[6:], stored) == LONG[6:]
    assert new(said(*LONG), stored) == LONG[6:]


def test_what_was_said_anew_from_some_point_on():
    stored = keys_of(said(*LONG[:6]))
    other = [*LONG[:3], "Something else entirely was said here.", "And an answer to that."]
    assert new(said(*other), stored) == other[3:]
    assert new(said(*other), keys_of(said(*other), stored)) == []


def test_a_summary_in_the_place_of_the_beginning():
    stored = keys_of(said(*LONG[:6]))
    talk = [Message(USER, "Summary of what was said so far: nothing."), *said(*LONG)[4:]]
    assert new(talk, stored) == [talk[0].text, *LONG[6:]]


def test_ok_is_said_many_times():
    stored = keys_of(said("Shall I delete the old branch?", "ok"))
    assert new([Message(ASSISTANT, "ok"), Message(USER, "Shall I tag the release too?")], stored)[-1].startswith(
        "Shall"
    )
    assert new([Message(ASSISTANT, "ok")], stored) == ["ok"]
    assert new(said("ok"), keys_of(said("ok"))) == []


def test_ids_of_their_own_count_wherever_they_stand():
    one, two, three = (Message(USER, text, id=id) for text, id in (("x", "a#1,b"), ("x", "b 2"), ("x", "c%")))
    stored = keys_of([one, two])
    assert len(stored) == 2
    assert turns.new([three, two, one], stored) == [Turn("c%25", three)]


def test_messages_with_and_without_ids():
    talk = [Message(USER, LONG[0]), Message(ASSISTANT, LONG[1], id="a1"), Message(USER, LONG[2])]
    stored = keys_of(talk)
    more = [*talk, Message(ASSISTANT, LONG[3], id="a2"), Message(USER, LONG[4])]
    assert new(more, stored) == LONG[3:5]
    assert new(more, keys_of(more, stored)) == []


texts = st.lists(st.sampled_from(["ok", "yes", "What next?", *LONG]), min_size=1, max_size=14)


@given(texts, st.data())
@settings(deadline=None)
def test_nothing_is_stored_twice_and_nothing_is_lost(all_of_it, data):
    """Given whole each time, and longer each time, every message is new exactly once."""
    talk = said(*all_of_it)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(talk)), max_size=4)))
    stored: frozenset[str] = frozenset()
    heard: list[str] = []
    for cut in [*cuts, len(talk)]:
        heard += new(talk[:cut], stored)
        stored = keys_of(talk[:cut], stored)
    assert heard == all_of_it
    assert new(talk, stored) == []


@given(texts, texts)
@settings(deadline=None)
def test_no_word_is_lost_however_it_is_given(first, second):
    """Whatever comes after whatever: each text is in a message that was stored."""
    stored = keys_of(said(*first))
    heard = {*new(said(*first)), *new(said(*second), stored)}
    assert {*first, *second} == heard


# ------------------------------------------------------------------------ where it is cut


def cut(messages: list[Message]) -> list[list[str]]:
    found = windows.cut(turns.new(messages, frozenset()), lambda text: len(text.split()))
    return [[turn.message.text for turn in window] for window in found]


def test_four_turns_that_say_something():
    assert cut(said(*LONG)) == [LONG[:4], LONG[4:8], LONG[8:]]


def test_small_talk_counts_for_nothing_and_stays():
    talk = ["Hi!", *LONG[:4], "ok", "Thanks!", LONG[4], "Bye!"]
    assert cut(said(*talk)) == [talk[:7], talk[7:]]
    assert cut(said("Hi!", "Hello there!", "Thanks, bye!")) == []


def test_long_turns_and_pauses():
    long = " ".join(["word"] * 400)
    assert cut(said("One thing first.", long, "And another one.")) == [
        ["One thing first."],
        [long],
        ["And another one."],
    ]
    later = [Message(USER, LONG[n], NOON + timedelta(minutes=50 * (n // 2) * 2)) for n in range(4)]
    assert cut(later) == [LONG[:2], LONG[2:4]]


def test_a_farewell_after_a_pause_stays_with_what_was_said_last():
    talk = [Message(USER, LONG[0], NOON), Message(USER, "Bye!", NOON + timedelta(hours=2))]
    assert cut(talk) == [[LONG[0], "Bye!"]]
    talk.append(Message(USER, LONG[1], NOON + timedelta(hours=2)))
    assert cut(talk) == [[LONG[0]], ["Bye!", LONG[1]]]


def test_tools_and_empty_messages_are_no_turns():
    assert cut([Message(USER, "Look it up, will you?"), Message(TOOL, "found"), Message(ASSISTANT, " ")]) == [
        ["Look it up, will you?"]
    ]


some = st.lists(
    st.builds(
        Message,
        st.sampled_from([USER, ASSISTANT, TOOL]),
        st.sampled_from(["Hi!", "ok", "", *LONG, "word " * 200]),
        st.none() | st.integers(0, 600).map(lambda m: NOON + timedelta(minutes=m)),
    ),
    max_size=20,
)


@given(some, st.integers(0, 20))
@settings(deadline=None)
def test_a_cut_depends_on_nothing_that_comes_later(messages, number):
    """The windows of the beginning are those of the whole; the last may go on, its small talk may begin another."""
    whole, part = cut(messages), cut(messages[:number])
    assert part[:-1] == whole[: max(len(part) - 1, 0)]
    if part:
        kept = max(n for n, text in enumerate(part[-1], 1) if not windows.small_talk(Message(USER, text)))
        assert whole[len(part) - 1][:kept] == part[-1][:kept]


@given(some)
@settings(deadline=None)
def test_every_turn_is_in_one_window_in_its_order(messages):
    told = [one.text for one in messages if one.role != TOOL and one.text.strip()]
    found = [text for window in cut(messages) for text in window]
    assert found in (told, [])
    assert found == told or all(windows.small_talk(Message(USER, text)) for text in told)


@pytest.mark.parametrize(
    ("text", "small"),
    [("Thanks!", True), ("Ok, sounds good 👍", True), ("", True), ("ok " * 13, False), ("No, port 5433", False),
     ("Danke schön", False)],
)  # fmt: skip
def test_small_talk(text, small):
    assert windows.small_talk(Message(USER, text)) == small
