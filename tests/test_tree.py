"""The tree: grown as the vault lies, summed as by hand, descended by a beam."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas import tree
from atlas.bm25 import Postings, idf
from atlas.tree import BRANCH, HEADING, NOTE, TRUNK

NAMES = ["a", "b", "heron", "boiler room"]


def grown(notes, clusters=None, sizes=None, headings=None):
    """A tree over notes given by their folders, each of one passage unless told."""
    sizes = sizes or [1] * len(notes)
    starts = np.cumsum([0, *sizes[:-1]])
    return tree.grow(
        [tuple(filter(None, folder.split("/"))) for folder in notes],
        clusters or [[] for _ in notes],
        [f"note {n}" for n in range(len(notes))],
        headings or [()] * sum(sizes),
        starts,
    )


def found(*rows):
    """Rows of term, chunk."""
    term, chunk = np.array(rows, np.int32).reshape(-1, 2).T
    return Postings(term, chunk, np.ones(len(term), np.int32))


def names(grown_, nodes):
    return [grown_.label[node] for node in nodes.tolist()]


@st.composite
def forests(draw):
    """A tree over a few notes in a few folders and clusters, and how many chunks there are."""
    folders = st.lists(st.sampled_from(NAMES), max_size=4).map(tuple)
    notes = draw(st.lists(st.tuples(folders, st.lists(folders.filter(bool), max_size=2)), min_size=1, max_size=6))
    sizes = draw(st.lists(st.integers(1, 4), min_size=len(notes), max_size=len(notes)))
    headings = [draw(st.lists(st.sampled_from(NAMES), max_size=3).map(tuple)) for _ in range(sum(sizes))]
    starts = np.cumsum([0, *sizes[:-1]])
    labels = [str(n) for n in range(len(notes))]
    made = tree.grow([f for f, _ in notes], [c for _, c in notes], labels, headings, starts)
    return made, notes, sizes, headings


def test_a_vault_worked_by_hand():
    made = grown(
        ["", "x/y", "x", "x/y"],
        clusters=[[], [("jwt",)], [("jwt", "race"), ("jwt",)], []],
        sizes=[1, 3, 1, 1],
        headings=[(), (), ("A",), ("A", "B"), (), ()],
    )
    rows = list(zip(made.label, made.kind.tolist(), made.first.tolist(), made.last.tolist(), strict=True))
    assert rows == [
        ("vault", TRUNK, 0, 6),
        ("note 0", NOTE, 0, 1),
        ("x", BRANCH, 1, 6),
        ("note 2", NOTE, 1, 2),
        ("y", BRANCH, 2, 6),
        ("note 1", NOTE, 2, 5),
        ("A", HEADING, 3, 5),
        ("B", HEADING, 4, 5),
        ("note 3", NOTE, 5, 6),
        ("clusters", TRUNK, 6, 11),
        ("jwt", BRANCH, 6, 11),
        ("note 1", NOTE, 6, 9),
        ("A", HEADING, 7, 9),
        ("B", HEADING, 8, 9),
        ("note 2", NOTE, 9, 10),
        ("race", BRANCH, 10, 11),
        ("note 2", NOTE, 10, 11),
    ]
    assert made.where.tolist() == [0, 4, 1, 2, 3, 5, 1, 2, 3, 4, 4]
    assert names(made, made.children(made.trunks)) == ["note 0", "x", "jwt"]
    assert names(made, made.children(np.array([2, 4]))) == ["note 2", "y", "note 1", "note 3"]
    assert made.fertility(np.array([2, 5, 7])).tolist() == [2, 1, 0]


@given(forests())
def test_each_note_stands_once_in_the_vault_and_once_in_each_of_its_clusters(case):
    made, notes, sizes, headings = case
    places = np.flatnonzero(made.kind == NOTE)
    in_vault = places[places < made.trunks[1]]
    assert sorted(made.note[in_vault].tolist()) == list(range(len(notes)))
    assert len(places) - len(in_vault) == sum(len(set(clusters)) for _, clusters in notes)
    assert made.size[made.trunks[0]] == len(headings)
    assert all(made.size[node] == sizes[made.note[node]] for node in places)
    for node in range(len(made)):  # the way up from a node is its folders
        above, up = [], node
        while made.kind[up := made.parent[up]] == BRANCH:
            above.insert(0, made.label[up])
        if made.kind[node] == NOTE:
            folders, clusters = notes[made.note[node]]
            assert tuple(above) == folders if node < made.trunks[1] else tuple(above) in clusters


@given(forests(), st.integers(0, 2**32 - 1))
def test_a_node_sums_what_lies_below_it(case, seed):
    made, _, _, headings = case
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(len(headings), 5)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    query = matrix[0]
    vec = rng.permutation(len(headings))
    lengths = tree.lengths(made, matrix, vec)
    cosine = (matrix @ query)[vec]
    sums = made.sums(cosine[made.where])
    for node in range(len(made)):
        rows = matrix[vec[made.where[made.first[node] : made.last[node]]]]
        if not len(rows):
            continue
        mean = rows.mean(axis=0)
        assert lengths[node] == pytest.approx(float(np.linalg.norm(mean)), abs=1e-5)
        assert sums[node] / len(rows) == pytest.approx(float(mean @ query), abs=1e-5)


def test_a_vector_that_is_still_to_come_counts_nothing():
    made = grown(["", ""])
    matrix = np.eye(2, dtype=np.float32)[:1]
    assert tree.lengths(made, matrix, np.array([0, 9])).tolist() == [0.5, 1, 0, 0]
    assert tree.lengths(made, matrix[:0], np.array([0, 9])).tolist() == [0, 0, 0, 0]


def test_a_note_holds_what_stands_anywhere_in_it_and_in_the_names_above_it():
    made = grown(["boilers", "other"], sizes=[2, 1])
    heard = tree.hear(made, {"heron": 1.0, "valv": 0.5, "boiler": 1.0}, found((0, 0), (1, 1), (0, 2)))
    worth = [idf(3, 2), 0.5 * idf(3, 1), idf(3, 2)]
    held = dict(zip(made.label, heard.held.tolist(), strict=True))
    assert held["note 0"] == pytest.approx(1)
    assert held["note 1"] == pytest.approx(worth[0] / sum(worth))
    assert held["boilers"] == pytest.approx(1)
    assert held["clusters"] == 0
    dense = dict(zip(made.label, heard.dense.tolist(), strict=True))
    assert 0 < dense["note 1"] < dense["note 0"] < 1


def test_vectors_choose_among_branches_that_hold_the_same_words():
    made = grown(["x", "y", "z"])
    matrix = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
    mean = tree.lengths(made, matrix, np.arange(3))
    heard = tree.hear(made, {"heron": 1.0}, found(), matrix @ np.array([0, 1], np.float32), mean)
    by_name = dict(zip(made.label, heard.score.tolist(), strict=True))
    assert by_name["x"] < by_name["z"] < by_name["y"]
    assert not heard.dense.any()


def test_the_beam_goes_into_the_best_branches_alone():
    made = grown([f"f{n}/g" for n in range(9)] + [""])
    heard = tree.hear(made, {"heron": 1.0}, found((0, 4), (0, 7)))
    reached, ways = tree.descend(made, heard, width=2)
    assert made.note[reached].tolist() == [9, 4, 7]
    assert ways[0] == 0
    assert ways[1] == pytest.approx(float(heard.dense[made.label.index("f4")]))
    everything, _ = tree.descend(made, heard, width=99)
    assert sorted(made.note[everything].tolist()) == list(range(10))


def test_a_way_is_worth_the_mean_of_its_branches():
    made = grown(["x/y", "x/z"])
    heard = tree.hear(made, {"heron": 1.0}, found((0, 0)))
    reached, ways = tree.descend(made, heard)
    dense = dict(zip(made.label, heard.dense.tolist(), strict=True))
    assert made.note[reached].tolist() == [0, 1]
    assert ways.tolist() == pytest.approx([(dense["x"] + dense["y"]) / 2, dense["x"] / 2])


def test_two_hundred_folders_deep():
    made = grown(["/".join("d" * 200), "/".join("d" * 199), "e"])
    heard = tree.hear(made, {"heron": 1.0}, found((0, 0)))
    reached, ways = tree.descend(made, heard)
    assert sorted(made.note[reached].tolist()) == [0, 1, 2]
    assert 0 < float(ways.max()) < 1


def test_what_the_tree_says_of_a_note():
    made = grown(["x", "y", "y"], clusters=[[("jwt",)], [], []])
    heard = tree.hear(made, {"heron": 1.0}, found((0, 0), (0, 1)))
    both = tree.descend(made, heard)
    said = tree.voice(made, heard, *both, np.array([True, True, False]))
    value = dict(zip(said.note.tolist(), said.value.tolist(), strict=True))
    assert said.name == "tree"
    assert value[0] > value[1] > value[2] > 0
    among_others = tree.voice(made, heard, *both, np.array([False, True, False]))
    best = max(way for node, way in zip(*both, strict=True) if made.note[node] == 0)
    assert among_others.value[among_others.note == 0] == pytest.approx(0.2 * best)


@given(forests(), st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), unique=True, max_size=9), st.integers(1, 3))
def test_a_voice_speaks_once_of_each_note_and_from_0_to_1(case, rows, width):
    made, notes, _, headings = case
    rows = [(term, chunk) for term, chunk in rows if chunk < len(headings)]
    heard = tree.hear(made, {"a": 1.0, "heron": 0.3, "valv": 1.0}, found(*rows))
    assert np.all((heard.held >= heard.dense) & (heard.held <= 1.00001))
    said = tree.voice(made, heard, *tree.descend(made, heard, width), np.ones(len(notes), bool))
    assert sorted(said.note.tolist()) == list(range(len(notes)))
    assert np.all((said.value >= 0) & (said.value <= 1.00001))
