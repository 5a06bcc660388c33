"""Excerpts: the lines that answer come first, stand in order, and no word of them is another's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenes import TEXTS

from atlas import excerpt, words

MEETING = [f"Ada: line {n} about nothing in particular" for n in range(20)]
MEETING[11] = "Ben: the kettle wants vinegar every month"
MEETING[3] = "Ada: vinegar"


def asked(question: str) -> dict[str, float]:
    return words.query_weights(question)


def read(parts) -> list[excerpt.Line]:
    return [excerpt.read(part) for part in parts]


def test_the_line_that_answers_comes_first_and_then_what_stands_beside_it():
    found = [places for places, _ in excerpt.excerpts(read(MEETING), asked("How often does the kettle want vinegar?"))]
    assert found[0] == (11,)
    assert found[2] == (10, 11, 12)
    assert found[3][:2] == (2, 3)
    assert len(found) == len(excerpt.SIZES)
    assert all(list(places) == sorted(places) for places in found)


@given(st.lists(TEXTS.filter(str.strip), max_size=30), st.text(max_size=20))
def test_more_lines_are_more_likely_and_never_certain(parts, question):
    chances = excerpt.likely(read(parts), asked(question))
    assert sum(chances) == pytest.approx(1 if parts else 0)
    found = list(excerpt.excerpts(read(parts), asked(question)))
    shares = [share for _, share in found]
    assert shares == sorted(shares)
    assert [len(places) for places, _ in found] == [size for size in excerpt.SIZES if size < len(parts)]


@given(st.integers(1, 12), st.data())
def test_gaps_stand_where_lines_are_left_out(count, data):
    places = sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1)))
    said = excerpt.spaced(range(count), places, None)
    assert [line for line in said if line is not None] == places
    runs = [0, *(n for a, b in zip([-1, *places], [*places, count], strict=True) for n in [b - a - 1])]
    assert said.count(None) == sum(length > 0 for length in runs)


def test_lines_are_cut_by_line_and_long_ones_by_sentence():
    long = "One thing happened here. " * 30
    text = f"# Title\n\n## Summary\nshort\n\n## Detail\n{long}\n\n\n- last"
    assert excerpt.lines(text) == ("# Title", "short", *["One thing happened here."] * 30, "- last")
    assert excerpt.lines("") == ()
    assert list(excerpt.excerpts((), {})) == []
