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


def test_the_line_that_answers_comes_first_and_then_what_stands_beside_it():
    found = [text for text, _ in excerpt.excerpts(MEETING, asked("How often does the kettle want vinegar?"))]
    assert found[0] == f"…\n{MEETING[11]}\n…"
    assert found[2] == "\n".join(["…", *MEETING[10:13], "…"])
    assert found[3].split("\n")[:4] == ["…", MEETING[2], MEETING[3], "…"]
    assert len(found) == len(excerpt.SIZES)
    places = [MEETING.index(line) for line in found[-1].split("\n") if line != "…"]
    assert places == sorted(places)


@given(st.lists(TEXTS.filter(str.strip), max_size=30), st.text(max_size=20))
def test_more_lines_are_more_likely_and_never_certain(parts, question):
    chances = excerpt.likely(parts, asked(question))
    assert sum(chances) == pytest.approx(1 if parts else 0)
    found = list(excerpt.excerpts(parts, asked(question)))
    shares = [share for _, share in found]
    assert shares == sorted(shares)
    assert len(found) == sum(size < len(parts) for size in excerpt.SIZES)


def test_lines_are_cut_by_line_and_long_ones_by_sentence():
    long = "One thing happened here. " * 30
    text = f"# Title\n\n## Summary\nshort\n\n## Detail\n{long}\n\n\n- last"
    assert excerpt.lines(text) == ("# Title", "short", *["One thing happened here."] * 30, "- last")
    assert excerpt.lines("") == ()
    assert list(excerpt.excerpts((), {})) == []
