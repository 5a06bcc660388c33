"""Clean results: what is a copy and what is not, whatever the order; and variety."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas import results
from atlas.memory import Hit
from atlas.results import Candidate

TEXT = "# Pump\n\nThe blue pump feeds the north tank, and the well is filled from the tank at night."


def candidate(path: str, text: str, note: int, score: float = 1.0, **facts) -> tuple[Candidate, str]:
    return Candidate(Hit(f"id-{path}", path, path, score, text), note, note, **facts), text


def grouped(*found: tuple[Candidate, str]) -> list[tuple[str, tuple[str, ...]]]:
    """Path and copies of what is left."""
    candidates = [c for c, _ in found]
    texts = {c.note: text for c, text in found if c.note in results.suspects(candidates)}
    return [(c.hit.path, c.hit.copies) for c in results.grouped(candidates, texts)]


def of_texts(*texts: str, **facts) -> list[tuple[str, tuple[str, ...]]]:
    return grouped(*(candidate(f"{'abcdef'[n]}.md", text, n, **facts) for n, text in enumerate(texts)))


@pytest.mark.parametrize(
    "other",
    [
        TEXT,
        TEXT.replace("\n\n", "\n").replace(" ", "  "),
        TEXT.replace("The blue", "THE **blue**").replace("tank,", "tank"),
        TEXT.replace("night.", "night"),
    ],
)
def test_equal_but_for_case_spacing_and_marks_is_one_hit(other):
    assert of_texts(TEXT, other) == [("a.md", ("b.md",))]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Staging listens on port 5433.", "Staging listens on port 5434."),
        ("Do not restart node A.", "Restart node A."),
        ("Run 41: recall 0.812", "Run 42: recall 0.821"),
        ("The limit is -5 degrees.", "The limit is 5 degrees."),
        ("Written in C++.", "Written in C."),
        ("Use git branch -d to delete.", "Use git branch -D to delete."),
        ("Use `ls -L` here.", "Use `ls -l` here."),
        ("It is 3.4 metres.", "It is 34 metres."),
        ("Node A is down.", "Node B is down."),
        ("Meet on 2026-01-02.", "Meet on 2026-02-01."),
        ("Deploy on Friday.", "Deploy on Friday?"),
        ("It is a * b.", "It is a b."),
        ("Ask Ana about the x² term.", "Ask Ana about the x2 term."),
    ],
)
def test_nearly_the_same_is_not_the_same(one, other):
    assert len(of_texts(one, other)) == 2
    assert len(of_texts(other, one)) == 2


def test_one_text_with_two_periods_or_two_days_is_two():
    text = "Ana's desk is on floor 2."
    first = candidate("a.md", text, 0, valid=(1, 2))
    assert len(grouped(first, candidate("b.md", text, 0, valid=(2, None)))) == 2
    days = [candidate(f"2026-01-0{n}.md", text, 0, titled=False) for n in (1, 2)]
    assert len(grouped(*days)) == 2
    assert len(grouped(candidate("x.md", text, 0), candidate("y.md", text, 0))) == 1


COPIES = [
    "n (conflicted copy 2026-07-10 070952).md",
    "n (Ada's conflicted copy 2026-07-10).md",
    "n.sync-conflict-20260710-070952-ABCDEFG.md",
]
SERIES = ["n 2.md", "n (1).md", "n copy.md", "n - copy 3.md"]


@pytest.mark.parametrize("name", COPIES + SERIES)
@pytest.mark.parametrize("first", [True, False])
def test_a_copy_by_name_stands_behind_its_original(name, first):
    """One word changed in each: the original is shown, whichever ranks first, with the better score."""
    original, copy = candidate("n.md", TEXT, 0, 0.9, written="X"), candidate(
        name, TEXT.replace("blue", "green"), 1, 0.9, written="X"
    )  # fmt: skip
    assert grouped(*([original, copy] if first else [copy, original])) == [("n.md", (name,))]
    assert results.original(name) == ("n.md", name in COPIES)


@pytest.mark.parametrize("name", SERIES)
def test_the_second_of_a_series_is_no_copy(name):
    """Without the same id written in both, `n 2` may be the next one: only an equal text is the same."""
    changed = TEXT.replace("north", "south")
    assert len(grouped(candidate("n.md", TEXT, 0), candidate(name, changed, 1))) == 2
    assert len(grouped(candidate("n.md", TEXT, 0, written="X"), candidate(name, changed, 1, written="Y"))) == 2
    assert grouped(candidate(name, TEXT, 1), candidate("n.md", TEXT, 0)) == [("n.md", (name,))]


def test_conflict_copies_without_their_original_are_one_and_unlike_ones_stay():
    left = [candidate(name, TEXT.replace("blue", f"pale{n}"), n) for n, name in enumerate(COPIES)]
    assert grouped(*left) == [(COPIES[0], tuple(COPIES[1:]))]
    assert len(grouped(candidate("n.md", TEXT, 0), candidate(COPIES[0], "Something else altogether.", 1))) == 2
    assert len(grouped(candidate("n.md", TEXT, 0), candidate(f"other/{COPIES[0]}", TEXT + " And more.", 1))) == 2


def test_only_suspects_are_read():
    found = [candidate(f"{n}.md", f"Text number {n}.", n)[0] for n in range(9)]
    assert results.suspects(found) == set()
    assert results.suspects([*found, candidate("x.md", "text NUMBER 3", 20)[0]]) == {3, 20}


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", " 2", " (conflicted copy 1)"])), max_size=9),
    st.randoms(),
)
def test_no_text_is_lost_and_none_is_shown_twice(rows, chance):
    """Every path is shown or named as a copy, once; grouping again changes nothing; order decides no membership."""
    texts = {"a": "Port 1 is open.", "b": "port 1 is OPEN", "c": "Port 2 is open."}
    found = [candidate(f"{n}/{t}{mark}.md", texts[t], n) for n, (t, mark) in enumerate(rows)]
    once = grouped(*found)
    assert sorted(p for path, copies in once for p in (path, *copies)) == sorted(c.hit.path for c, _ in found)
    shown = {path for path, _ in once}
    assert sorted(grouped(*(f for f in found if f[0].hit.path in shown))) == sorted((path, ()) for path in shown)
    shuffled = chance.sample(found, len(found))
    groups = {frozenset((path, *copies)) for path, copies in once}
    assert {frozenset((path, *copies)) for path, copies in grouped(*shuffled)} == groups


vectors = st.lists(st.lists(st.integers(-4, 4), min_size=3, max_size=3), min_size=1, max_size=8)


def unit(rows) -> np.ndarray:
    made = np.array(rows, np.float32)
    length = np.linalg.norm(made, axis=1, keepdims=True)
    return made / np.where(length > 0, length, 1)


@given(vectors, st.integers(1, 8), st.data())
def test_diversity_of_nothing_is_the_ranking(rows, k, data):
    scores = sorted(data.draw(st.lists(st.floats(0, 2), min_size=len(rows), max_size=len(rows))), reverse=True)
    assert results.diverse(scores, unit(rows), 0.0, k) == list(range(min(k, len(rows))))
    chosen = results.diverse(scores, unit(rows), data.draw(st.floats(0, 1)), k)
    assert chosen[0] == 0
    assert len(set(chosen)) == len(chosen) == min(k, len(rows))


def test_diversity_passes_over_what_was_said():
    same, other = [1, 0, 0], [0, 1, 0]
    assert results.diverse([1.0, 0.9, 0.5, 0.0], unit([same, same, other, same]), 0.5, 2) == [0, 2]
    assert results.diverse([1.0, 0.9, 0.5, 0.0], unit([same, same, other, same]), 0.1, 2) == [0, 1]
