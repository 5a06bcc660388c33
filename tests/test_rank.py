"""Scoring: a value worked by hand, borders that hold, ties that do not move, laws of monotony."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ranking import rank

from atlas import bm25
from atlas.bm25 import SHAPE, Field, Postings, Shape, idf, saturation
from atlas.rank import DEFAULT, Voice, Weights, best, score

PLAIN = Weights(Shape(window=()), thread=0, vector=0, length=0)


def chunks(note: list[int], thread: list[int] | None = None, words: list[int] | None = None) -> Field:
    columns = note, note if thread is None else thread, [10] * len(note) if words is None else words
    return Field(*(np.array(c, np.int32) for c in columns))


def found(*rows: tuple[int, int, int]) -> Postings:
    """Rows of term, chunk, tf."""
    return Postings(*np.array(rows, np.int32).reshape(-1, 3).T)


def voice(name: str, said: dict[int, float]) -> Voice:
    return Voice(name, np.array(list(said), np.int32), np.array(list(said.values()), np.float32))


def cosines(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@st.composite
def cases(draw):
    """A field of threads of notes of chunks, and postings of three terms."""
    sizes = draw(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=3), min_size=1, max_size=4))
    note, thread = [], []
    for t, notes in enumerate(sizes):
        for size in notes:
            note += [max(note, default=-1) + 1] * size
            thread += [t] * size
    n = len(note)
    words = draw(st.lists(st.integers(1, 40), min_size=n, max_size=n))
    pairs = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, n - 1)), unique=True, max_size=12))
    rows = sorted((t, c, draw(st.integers(1, 5))) for t, c in pairs)
    cosine = draw(st.none() | st.lists(st.integers(-100, 100), min_size=n, max_size=n))
    return chunks(note, thread, words), rows, None if cosine is None else cosines(*(c / 100 for c in cosine))


def raw_by_note(ranking, ranker: str) -> dict[int, float]:
    return dict(zip(ranking.note.tolist(), ranking.parts[ranker].raw.tolist(), strict=True))


def test_bm25_worked_by_hand():
    # Three chunks of 10, 20 and 30 words. Term 0 stands twice in the first, once in the third; term 1 in the second.
    ranking = rank(chunks([0, 1, 2], words=[10, 20, 30]), found((0, 0, 2), (0, 2, 1), (1, 1, 1)), 2, weights=PLAIN)
    one, two = log(1 + 1.5 / 2.5), log(1 + 2.5 / 1.5)
    expected = {
        0: one * 2 / (2 + 1.2 * (0.25 + 0.75 * 10 / 20)),
        1: two * 1 / (1 + 1.2 * 1),
        2: one * 1 / (1 + 1.2 * (0.25 + 0.75 * 30 / 20)),
    }
    got = raw_by_note(ranking, "lexical")
    assert got == pytest.approx({n: s / (one + two) for n, s in expected.items()}, rel=1e-6)
    assert ranking.note.tolist() == sorted(expected, key=expected.__getitem__, reverse=True)


def test_the_parts_of_bm25():
    assert idf(3, 2) == pytest.approx(log(1.6))
    assert idf(10, 10) > 0
    assert saturation(cosines(0, 1, 1000), cosines(5, 5, 5), 5.0, SHAPE).tolist() == pytest.approx(
        [0, 1 / 2.2, 1], abs=2e-3
    )


def test_a_neighbour_lends_a_share_and_the_next_one_less():
    ranking = rank(chunks(list(range(5)), [0] * 5), found((0, 0, 1)), 1, weights=Weights(thread=0))
    assert ranking.note.tolist() == [0, 1, 2]
    half, quarter = (raw_by_note(ranking, "lexical")[n] for n in (1, 2))
    words = np.array([17.5, 22.5, 25, 22.5, 17.5])
    slack = 1.2 * (0.25 + 0.75 * words / words.mean())
    assert half == pytest.approx(0.5 / (0.5 + slack[1]), rel=1e-5)
    assert quarter == pytest.approx(0.25 / (0.25 + slack[2]), rel=1e-5)


def test_neighbours_stop_at_the_border_of_their_thread():
    ranking = rank(chunks([0, 1, 2, 3], [0, 0, 1, 1]), found((0, 1, 3)), 1)
    assert sorted(ranking.note.tolist()) == [0, 1]


def test_a_note_stands_by_its_best_chunk():
    ranking = rank(chunks([4, 4, 4, 7]), found((0, 2, 2), (0, 3, 1)), 1, weights=PLAIN)
    assert (ranking.note.tolist(), ranking.chunk.tolist()) == ([4, 7], [2, 3])


def test_more_chunks_cost_a_bounded_price():
    many = chunks([0] * 200 + [1])
    same = cosines(*[0.1] * 199, 0.9, 0.9)
    ranking = rank(many, found(), 0, same)
    assert ranking.note.tolist() == [1, 0]
    assert float(ranking.score[0] - ranking.score[1]) == pytest.approx(DEFAULT.length * 199 / 200, rel=1e-4)


def test_an_exact_word_in_a_long_note_beats_a_likely_stranger():
    # Forty chunks of one note, the last of which alone holds both words; five strangers with a far better cosine.
    note = [0] * 40 + [1, 2, 3, 4, 5]
    ranking = rank(
        chunks(note, words=[150] * 45), found((0, 39, 1), (1, 39, 1)), 2, cosines(*[0.2] * 39, 0.1, *[0.6] * 5)
    )
    assert (int(ranking.note[0]), int(ranking.chunk[0])) == (0, 39)


def test_a_question_without_a_known_word_is_answered_by_the_vector():
    ranking = rank(chunks([0, 1, 2]), found(), 2, cosines(0.1, 0.7, 0.3))
    assert ranking.note.tolist() == [1, 2, 0]
    assert ranking.why(0) == {"vector": (1, pytest.approx(0.7))}


def test_without_a_vector_only_notes_with_a_word_are_found():
    ranking = rank(chunks([0, 1, 2]), found((0, 2, 1)), 1)
    assert ranking.note.tolist() == [2]
    assert set(ranking.why(0)) == {"lexical", "thread"}


@pytest.mark.parametrize("cosine", [None, cosines()])
def test_an_empty_field_finds_nothing(cosine):
    assert len(rank(chunks([]), found(), 3, cosine)) == 0


def test_nothing_asked_finds_nothing():
    assert len(rank(chunks([0, 1]), found(), 0)) == 0
    assert len(rank(chunks([0, 1]), found((0, 0, 1)), 1, k=0)) == 0


def test_empty_chunks_score_nothing_and_raise_nothing():
    ranking = rank(chunks([0, 1], words=[0, 0]), found((0, 0, 1)), 1, weights=Weights(Shape(b=1)))
    assert ranking.note.tolist() == [0]
    assert np.isfinite(ranking.score).all()


def test_equal_scores_stand_by_ordinal_wherever_the_cut_falls():
    note = [5, 3, 9, 1, 7]
    same = found(*((0, c, 1) for c in range(5)))
    for k in range(1, 6):
        assert rank(chunks(note), same, 1, k=k).note.tolist() == sorted(note)[:k]


def test_equal_cosines_are_no_opinion():
    ranking = rank(chunks([0, 1, 2]), found((0, 1, 1)), 1, cosines(0.3, 0.3, 0.3))
    assert ranking.note.tolist() == [1, 0, 2]
    assert ranking.score[1:].tolist() == [0, 0]


def test_a_voice_lifts_finds_and_lowers():
    """One word: notes 0 and 1 hold it, 2 and 3 do not. A voice of praise finds a note, one of blame never does."""
    scores = score(chunks([0, 1, 2, 3]), found((0, 0, 1), (0, 1, 1)), 1)
    names, blame = voice("names", {2: 1.0}), voice("outdated", {0: 1.0, 3: 1.0})
    ranking = best(scores, [names, blame])
    assert ranking.note.tolist() == [2, 1, 0]
    assert ranking.score[2] == pytest.approx(scores.note[0] + DEFAULT.outdated)
    assert [ranking.why(place).get("names", (0, 0))[0] for place in range(3)] == [1, 0, 0]


def test_a_named_note_comes_first_whatever_the_others_say():
    loud = [voice(name, {0: 1.0}) for name in ("time", "links", "tree", "successor")]
    scores = score(chunks([0, 1]), found((0, 0, 9), (1, 0, 9)), 2, cosines(1.0, -1.0))
    ranking = best(scores, [*loud, voice("names", {1: 1.0}), voice("outdated", {1: 1.0})])
    assert ranking.note.tolist() == [1, 0]


def test_each_ranker_tells_its_place():
    ranking = rank(chunks([0, 1, 2]), found((0, 0, 1), (0, 1, 3)), 1, cosines(0.9, 0.1, 0.5))
    places = {int(n): {r: p for r, (p, _) in ranking.why(i).items()} for i, n in enumerate(ranking.note)}
    assert places == {
        0: {"lexical": 2, "thread": 2, "vector": 1},
        1: {"lexical": 1, "thread": 1, "vector": 3},
        2: {"vector": 2},
    }


@given(cases(), st.randoms())
def test_the_order_of_postings_does_not_matter(case, random):
    field, rows, cosine = case
    mixed = random.sample(rows, len(rows))
    one, two = (rank(field, found(*r), 3, cosine) for r in (rows, mixed))
    assert (one.note.tolist(), one.score.tolist()) == (two.note.tolist(), two.score.tolist())


@given(cases(), st.integers(0, 11), st.integers(1, 9))
def test_a_word_said_more_often_never_counts_less(case, which, more):
    field, rows, _ = case
    if not rows:
        return
    row = rows[which % len(rows)]
    often = [(t, c, tf + more if (t, c) == row[:2] else tf) for t, c, tf in rows]
    before, after = (raw_by_note(rank(field, found(*r), 3, k=99), "lexical") for r in (rows, often))
    assert all(after[note] >= score - 1e-6 for note, score in before.items())


@given(cases(), st.integers(1, 5), st.integers(-3, 3))
def test_only_the_distances_between_cosines_count(case, scale, shift):
    field, rows, cosine = case
    if cosine is None:
        return
    one = rank(field, found(*rows), 3, cosine, k=99)
    two = rank(field, found(*rows), 3, cosine * np.float32(scale / 4) + np.float32(shift), k=99)
    scores = dict(zip(two.note.tolist(), two.score.tolist(), strict=True))
    assert [scores[n] for n in one.note.tolist()] == pytest.approx(one.score.tolist(), abs=1e-3)


@given(cases())
def test_lexical_scores_are_shares(case):
    field, rows, cosine = case
    ranking = rank(field, found(*rows), 3, cosine, k=99)
    for name in ("lexical", "thread"):
        assert ((ranking.parts[name].raw >= 0) & (ranking.parts[name].raw < 1)).all()


@given(cases(), st.integers(1, 8))
def test_fewer_are_the_head_of_more(case, k):
    field, rows, cosine = case
    few, all_ = (rank(field, found(*rows), 3, cosine, k=size) for size in (k, 99))
    assert few.note.tolist() == all_.note.tolist()[:k]
    assert few.parts["lexical"].rank.tolist() == all_.parts["lexical"].rank.tolist()[:k]


@given(cases())
def test_a_thread_apart_changes_no_neighbour(case):
    # A strange thread at the end shifts idf and lengths alike for all, so who is found among the rest stays.
    field, rows, _ = case
    n = len(field.note)
    wider = Field(
        np.append(field.note, field.note[-1] + 1).astype(np.int32),
        np.append(field.thread, field.thread[-1] + 1).astype(np.int32),
        np.append(field.words, 7).astype(np.int32),
    )
    before = set(rank(field, found(*rows), 3, k=99).note.tolist())
    after = set(rank(wider, found(*rows, (0, n, 1)), 3, k=99).note.tolist())
    assert after == before | {int(wider.note[-1])}


@given(cases())
def test_law_a_rare_term_is_added_where_it_stands_as_it_is_everywhere(case):
    field, rows, _ = case
    answers = []
    with pytest.MonkeyPatch.context() as patch:
        for few in (0, 10**6):  # every term by place, every term by sweep
            patch.setattr(bm25, "_RARE", few)
            answers.append(bm25.lexical(field, found(*rows), [1.0, 0.5, 2.0], SHAPE))
    for by_place, by_sweep in zip(*answers, strict=True):
        assert np.array_equal(by_place, by_sweep)
