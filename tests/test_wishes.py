"""What a text says that somebody prefers: on the same topic one overrules the other, on different ones never."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.wishes import EXPLICIT, IMPLICIT, Wish, stated, wishes

OVERRULED = [
    ("Ana prefers dark mode", "Ana prefers light mode now"),
    ("I prefer dark mode", "I prefer the light theme"),
    ("I prefer dark mode.", "Actually, I'd prefer light mode from now on."),
    ("Answers in English", "Answers in German"),
    ("Answer in English", "Please answer in German"),
    ("I want answers in English", "From now on, reply in German."),
    ("The user prefers answers in English", "Always answer in German."),
    ("Ana prefers short answers", "Ana prefers detailed answers"),
    ("Keep answers short", "I prefer detailed answers"),
    ("Be concise", "Be more detailed"),
    ("Ana's favourite colour is blue", "Ana's favorite colour is now green"),
    ("Call me Bo", "Please call me Robert"),
    ("Ana prefers tabs", "Ana prefers spaces over tabs"),
    ("Ana prefers coffee", "Ana prefers tea over coffee"),
    ("Ana prefers coffee", "Ana no longer prefers coffee"),
    ("Ana likes olives", "Ana does not like olives any more"),
    ("Ana likes olives", "Ana dislikes olives"),
    ("Always use semicolons", "Never use semicolons"),
    ("Use flake8 for linting", "From now on use ruff for linting"),
    ("The user prefers metric units", "The user prefers imperial units"),
    ("Ana: I prefer dark mode", "Ana prefers light mode"),
    ("Write commit messages in English", "Write commit messages in German"),
]

APART = [
    ("Ana prefers dark mode", "Bo prefers light mode"),
    ("Ana: I prefer dark mode", "Bo: I prefer light mode"),
    ("Ana prefers dark mode", "Ana prefers short answers"),
    ("Ana prefers dark mode", "Ana prefers dark chocolate"),
    ("Ana prefers dark mode", "Ana prefers light meals now"),
    ("Ana prefers dark mode", "Ana prefers light mode at night"),
    ("Ana prefers short answers", "Ana prefers long commit messages"),
    ("Ana prefers short answers", "Ana prefers answers in German"),
    ("Answer in English", "Write commit messages in German"),
    ("Ana's favourite colour is blue", "Ana's favourite food is pizza now"),
    ("Ana prefers coffee", "Ana prefers tea"),
    ("Ana prefers coffee", "Ana prefers tea now"),
    ("Ana prefers vegetarian food", "Ana prefers spicy food now"),
    ("Ana likes olives", "Ana likes cheese"),
    ("Ana likes olives", "Ana dislikes cheese"),
    ("Ana likes short stories", "Ana likes long stories"),
    ("Use ruff for linting", "Use mypy for linting"),
    ("Use ruff for linting", "From now on use pytest for tests"),
    ("Always use semicolons", "Never use tabs"),
    ("Ana prefers tea over coffee", "Ana prefers tea"),
    ("Ana prefers dark mode", "Maybe Ana prefers light mode?"),
    ("Ana prefers dark mode", "Bo thinks Ana prefers light mode"),
    ("Ana prefers dark mode", "Ana used to prefer light mode"),
    ("Ana prefers dark mode", "Ana prefers light mode and big fonts"),
    ("Ana prefers dark mode", "Ana prefers dark mode."),
    ("Ana prefers German", "Ana prefers French"),
    ("Ana prefers brief answers", "Ana prefers short answers"),
]


def overrules(newer: str, older: str) -> bool:
    return any(new.replaces(old) for new in wishes(newer) for old in wishes(older))


@pytest.mark.parametrize(("older", "newer"), OVERRULED)
def test_the_same_topic_is_overruled(older, newer):
    assert overrules(newer, older), (wishes(older), wishes(newer))


@pytest.mark.parametrize(("older", "newer"), APART)
def test_different_topics_are_not(older, newer):
    assert not overrules(newer, older), (wishes(older), wishes(newer))


# Texts of as many topics as there are, by their topic.
VALUES = {
    "theme": ["{0} prefers dark mode", "{0} prefers light mode now", "{0} wants the dark theme"],
    "language": ["{0} wants answers in German", "{0} prefers replies in French now", "{0}: answer in Dutch"],
    "commit language": ["{0} prefers commit messages in German", "{0} wants commit messages in English now"],
    "length": ["{0} prefers short answers", "{0} wants detailed answers now", "{0}: be brief"],
    "summary length": ["{0} prefers short summaries", "{0} prefers long summaries now"],
    "colour": ["{0}'s favourite colour is blue", "{0}'s favourite colour is now red"],
    "food": ["{0}'s favourite food is soup", "{0}'s favourite food is now rice"],
    "indentation": ["{0} prefers tabs", "{0} prefers spaces over tabs", "{0} prefers 4 spaces now"],
    "units": ["{0} prefers metric units", "{0} prefers imperial units now"],
    "linting": ["{0} uses ruff for linting", "{0} switched to flake8 for linting"],
    "drink": ["{0} prefers tea over coffee", "{0} no longer prefers tea", "{0} prefers coffee"],
    "olives": ["{0} likes olives", "{0} dislikes olives now"],
}


@settings(deadline=None)
@given(st.data())
def test_no_topic_overrules_another_and_nobody_anybody_else(data):
    topics = data.draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=2, max_size=2))
    people = data.draw(st.lists(st.sampled_from(["Ana", "Bo", "Mira"]), min_size=2, max_size=2))
    one, other = (
        data.draw(st.sampled_from(VALUES[topic])).format(who) for topic, who in zip(topics, people, strict=True)
    )
    if topics[0] != topics[1] or people[0] != people[1]:
        assert not overrules(one, other)
    assert wishes(one), one


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read_and_replaces_itself_never(text):
    found = wishes(text)
    assert not any(wish.replaces(wish) for wish in found if not wish.ended)
    assert stated(text) in {EXPLICIT, IMPLICIT}


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=2, max_size=2), st.booleans())
def test_of_two_values_of_a_sole_topic_each_would_overrule_the_other(values, change):
    one, other = (Wish("ana", ("theme",), value, sole=True, change=change) for value in values)
    assert one.replaces(other) == other.replaces(one) == (values[0] != values[1])


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("I prefer dark mode", EXPLICIT),
        ("Ana wants short answers.", EXPLICIT),
        ("Bo: Please answer in German.", EXPLICIT),
        ("Never use tabs.", EXPLICIT),
        ("My favourite editor is Vim", EXPLICIT),
        ("I'd rather have tea", EXPLICIT),
        ("Ana seems to prefer dark mode", IMPLICIT),
        ("Ana usually wants short answers", IMPLICIT),
        ("Ana probably likes tea", IMPLICIT),
        ("Ana opened the dark theme three times", IMPLICIT),
        ("Ana drinks tea in the afternoon", IMPLICIT),
    ],
)
def test_what_was_said_is_told_from_what_was_drawn(text, how):
    assert stated(text) == how


def test_a_long_text_tells_a_story():
    assert wishes("I prefer tea. " * 4) == ()
    assert wishes(f"I prefer {'very ' * 50}dark tea") == ()


@pytest.mark.parametrize("text", ["I prefer {}", "{} for {}", "Use {} over {}", "I want {} in english", "always {}"])
def test_no_text_keeps_it_busy(text):
    for filler in ("a " * 99, "my " * 66, "for a " * 33, "to have " * 25, "over the " * 22, "now " * 50):
        for given_ in (text.format(filler, filler), text.format(filler[:90], filler[:90])):
            began = time.process_time()
            wishes(given_)
            stated(given_)
            assert time.process_time() - began < 0.5, given_
