"""Clusters found in the whole vault: what holds together, whose words change, and what stays away."""

from __future__ import annotations

import json
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import write

from atlas import MemoryEngine, communities, graph, hubs
from atlas.ingest import Request
from atlas.memory import CLUSTER_PREFIX

TOPICS = {
    "boiler": "The boiler in the {} has a valve that leaks steam, and its pressure rises at {}.",
    "espresso": "A good espresso needs {} grams of fresh coffee beans, ground fine, and water at {} degrees.",
    "sonata": "The piano sonata in {} major has a slow movement that the pianist plays at {} in the concert.",
    "tomato": "Water the tomato plants near the {} fence before {} and cut the lower leaves of each plant.",
}
PLACES = ["cellar", "kitchen", "garden", "garage", "attic", "hall", "study", "porch", "shed", "barn"]


def texts(each: int, *topics: str) -> list[str]:
    return [
        TOPICS[topic].format(PLACES[n % len(PLACES)], 10 + 3 * n)
        for topic in topics or tuple(TOPICS)
        for n in range(each)
    ]


def commit(root, git) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")


def own_notes(root, git, *topics: str, each: int = 9) -> None:
    """Notes of a person, whose titles tell their topic."""
    for topic in topics:
        for n, text in enumerate(texts(each, topic)):
            write(root, f"notes/{topic} {n}.md", f"# {topic.title()} in the {PLACES[n % 10]}\n\n{text}\n")
    commit(root, git)


def tags(engine) -> dict[str, set[str]]:
    """The clusters of every memory, by path."""
    with engine._catalog() as catalog:
        return {card.path: set(card.clusters) for card in catalog.cards() if card.kind != "hub"}


def again(engine) -> list[str]:
    """The files that upkeep of clusters would change once more."""
    return [
        path
        for ran in engine.maintain(all_tasks=True)
        if ran.task in ("communities", "clusters")
        for path in ran.changed
    ]


@pytest.fixture
def stored(engine, root, git, monkeypatch):
    """Forty memories of four topics that share no entity."""
    monkeypatch.setattr("atlas.ingest.entities", lambda text: ())
    engine.ingest_many([Request(text, created="2026-01-01") for text in texts(10)])
    assert not any(tags(engine).values())
    return root


# ------------------------------------------------------------------- the graph


names = st.lists(st.frozensets(st.sampled_from("abcde"), max_size=3), min_size=1, max_size=12)


@st.composite
def worlds(draw):
    about = draw(names)
    n = len(about)
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1])
    links = draw(st.lists(pair, max_size=8)) if n > 1 else []
    raw = np.array(draw(st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=n, max_size=n)))
    vectors = raw / np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1e-9)
    return about, links, vectors.astype(np.float32), draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))


@settings(max_examples=200, deadline=None)
@given(worlds())
def test_every_pair_stands_once_and_every_memory_has_a_group(world):
    about, links, vectors, start = world
    found = graph.edges(about, links, vectors)
    pairs = [tuple(pair) for pair in found.pairs.tolist()]
    assert sorted(set(pairs)) == pairs
    assert all(one < two < len(about) for one, two in pairs)
    assert (found.weights > 0).all()
    group = graph.groups(found, start)
    assert len(group) == len(about)
    assert group == graph.groups(graph.edges(about, links, vectors), start)
    held = graph.held(found, group)
    assert held.keys() == set(group)
    assert all(0 <= share <= 1 + 1e-9 for share in held.values())


def test_two_that_nothing_joins_are_never_one_group():
    about = [frozenset("a")] * 3 + [frozenset("b")] * 3 + [frozenset("c")]
    found = graph.edges(about, [], np.zeros((7, 0), np.float32))
    group = graph.groups(found, range(7))
    assert group[0] == group[1] == group[2] != group[3] == group[4] == group[5]
    assert group[6] not in group[:6]
    assert graph.held(found, group) == {group[0]: 1, group[3]: 1, group[6]: 0}


def test_who_stood_together_stays_so_where_two_groups_are_as_near():
    """A memory between two groups, which without its past would go either way."""
    about = [frozenset("a")] * 4 + [frozenset("ab")] + [frozenset("b")] * 4
    found = graph.edges(about, [], np.zeros((9, 0), np.float32))
    for start in ([0] * 5 + [1] * 4, [0] * 4 + [1] * 5):
        group = graph.groups(found, start)
        assert [n == group[4] for n in group] == [n == start[4] for n in start]


def test_a_list_of_everything_holds_nothing_together():
    links = [(0, n) for n in range(1, 40)] + [(40, 41)]
    found = graph.edges([frozenset()] * 42, links, np.zeros((42, 0), np.float32))
    weights = dict(zip(map(tuple, found.pairs.tolist()), found.weights.tolist(), strict=True))
    assert weights[40, 41] == 1 > weights[0, 1] > 0


def test_what_is_not_embedded_yet_is_near_to_nothing():
    vectors = np.zeros((5, 3), np.float32)
    vectors[:2] = [[1, 0, 0], [0.9, 0.1, 0]]
    vectors[2] = [0, 1, 0]
    found = graph.edges([frozenset()] * 5, [], vectors)
    assert found.pairs.tolist() == [[0, 1]]


# ---------------------------------------------------------------- the clusters


def test_memories_that_belong_together_get_a_tag_in_one_commit(engine, stored, git):
    ran = {one.task: one for one in engine.maintain()}
    groups = {}
    for path, found in tags(engine).items():
        assert len(found) <= 1
        for slug in found:
            groups.setdefault(slug, []).append(path)
    assert len(groups) == 4
    for topic in TOPICS:
        (mine,) = [paths for paths in groups.values() if topic in paths[0]]
        assert len(mine) == 10
        assert all(topic in path for path in mine)
    changed = git(stored, "show", "--name-only", "--format=", ran["communities"].commit).split()
    assert sorted(changed) == sorted(path for path, found in tags(engine).items() if found)
    assert len(ran["communities"].rows) == 40
    assert sorted(ran["clusters"].changed) == sorted(map(hubs.path_of, groups))


def test_nothing_is_found_twice(engine, stored, git):
    engine.maintain()
    assert again(engine) == []
    (stored / ".atlas" / communities.FILE).unlink()
    assert again(engine) == [], "the file is derived, and losing it changes nothing"


def test_a_persons_notes_are_linked_and_not_touched(engine, root, git):
    own_notes(root, git, *TOPICS)
    before = {path: path.read_bytes() for path in (root / "notes").iterdir()}
    (ran,) = engine.maintain()
    assert ran.task == "communities"
    assert {path: path.read_bytes() for path in (root / "notes").iterdir()} == before
    assert {"clusters/boiler.md", "clusters/espresso.md", "clusters/sonata.md"} <= set(ran.changed)
    listed = hubs.guests((root / "clusters/boiler.md").read_bytes())
    assert listed == tuple(f"notes/boiler {n}.md" for n in range(9))
    assert "9 memories" in engine.expand("clusters/boiler.md").summary
    assert again(engine) == []


def test_both_kinds_meet_on_one_page(engine, stored, git):
    own_notes(stored, git, "boiler", each=6)
    stems = [path.rpartition("/")[2].removesuffix(".md") for path in tags(engine) if path.startswith("memories")]
    for n, stem in enumerate(stem for stem in stems if "boiler" in stem):
        write(stored, f"notes/boiler {n % 6}.md", (stored / f"notes/boiler {n % 6}.md").read_text() + f"\n[[{stem}]]\n")
    commit(stored, git)
    engine.maintain()
    (slug,) = {slug for path, found in tags(engine).items() for slug in found if "boiler" in path}
    page = (stored / hubs.path_of(slug)).read_bytes()
    assert hubs.guests(page) == tuple(f"notes/boiler {n}.md" for n in range(6))
    assert b"16 memories" in page
    assert again(engine) == []


def test_too_few_memories_are_no_vault_to_search_for_groups(engine, root, git):
    own_notes(root, git, "boiler", "sonata", each=10)
    assert engine.maintain() == []


def test_a_group_without_a_name_becomes_none(engine, root, git):
    for n, text in enumerate(texts(10)):
        write(root, f"notes/{n}.md", f"# {n}\n\n{text}\n")
    commit(root, git)
    assert engine.maintain() == []


# ---------------------------------------------------------- what was taken away


def test_undo_stays_undone(engine, stored, git):
    before = tags(engine)
    for ran in reversed(engine.maintain()):
        engine.undo(ran.commit)
    assert tags(engine) == before
    assert again(engine) == []
    (stored / ".atlas" / communities.FILE).unlink()
    assert again(engine) == []


def test_undoing_the_tags_alone_holds_too(engine, stored, git):
    engine.undo(next(ran for ran in engine.maintain() if ran.task == "communities").commit)
    engine.maintain()
    assert not any(tags(engine).values())
    (stored / ".atlas" / communities.FILE).unlink()
    engine.maintain(all_tasks=True)
    assert not any(tags(engine).values())


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_tag_that_was_removed_is_not_put_back(engine, stored, git, by_hand):
    engine.maintain()
    path, (slug,) = next((path, found) for path, found in tags(engine).items() if "boiler" in path)
    if by_hand:
        text = (stored / path).read_text()
        write(stored, path, re.sub(r"^tags: .*\n", "", text, flags=re.MULTILINE))
        commit(stored, git)
    else:
        engine.edit(path, lambda text: re.sub(r"^tags: .*\n", "", text, flags=re.MULTILINE))
    engine.ingest_many([Request(text.replace("the", "our"), created="2026-03-01") for text in texts(10)])
    engine.maintain()
    found = tags(engine)
    assert found[path] == set()
    assert sum(slug in slugs for slugs in found.values()) == 19


def test_a_page_that_was_deleted_is_not_made_again(engine, root, git):
    own_notes(root, git, *TOPICS)
    engine.maintain()
    (root / "clusters/boiler.md").unlink()
    commit(root, git)
    for n, text in enumerate(texts(12, "boiler")[9:]):
        write(root, f"notes/more {n}.md", f"# Boiler {n}\n\n{text}\n")
    commit(root, git)
    (root / ".atlas" / communities.FILE).unlink()
    engine.maintain()
    assert not (root / "clusters/boiler.md").exists()


# ----------------------------------------------------------------- when it is due


def test_groups_are_found_anew_when_enough_is_new(engine, stored, git, monkeypatch):
    asked = []
    found = communities._found
    monkeypatch.setattr(communities, "_found", lambda room, before: asked.append(1) or found(room, before))
    engine.maintain()
    engine.ingest(texts(11, "boiler")[-1], created="2026-03-01")
    engine.maintain()
    assert len(asked) == 1, "one of forty is not enough"
    engine.ingest_many([Request(text, created="2026-03-01") for text in texts(14, "boiler")[-2:]])
    engine.maintain()
    assert len(asked) == 2
    boiler = [found for path, found in tags(engine).items() if "boiler" in path]
    assert len(boiler) == 13
    assert all(boiler), "what is new joins the cluster that is there"


def test_a_dry_run_keeps_nothing(engine, stored, git):
    planned = engine.maintain(dry_run=True)
    assert not (stored / ".atlas" / communities.FILE).exists()
    done = engine.maintain()
    assert [one.changed for one in planned if one.task == "communities"] == [
        one.changed for one in done if one.task == "communities"
    ]


@pytest.mark.parametrize("state", ["", "[]", "{}", '{"version": 1, "group": 3}', '{"version": 0}'])
def test_a_damaged_file_is_none(engine, stored, state):
    engine.refresh()
    write(stored, f".atlas/{communities.FILE}", state)
    assert engine.maintain()
    assert json.loads((stored / ".atlas" / communities.FILE).read_text())["slugs"]


def test_a_memory_that_is_being_edited_is_left_out(engine, stored, git):
    path = next(path for path in tags(engine) if "boiler" in path)
    text = (stored / path).read_text() + "\nHalf a sent"
    write(stored, path, text)
    engine.maintain()
    assert (stored / path).read_text() == text
    assert sum(bool(found) for found in tags(engine).values()) == 39


def test_a_memory_joins_no_more_clusters_than_it_may(engine, stored, git):
    path = next(path for path in tags(engine) if "boiler" in path)
    engine.tag(path, [CLUSTER_PREFIX + name for name in ("x", "y", "z")])
    engine.maintain()
    assert tags(engine)[path] == {"x", "y", "z"}


def test_a_group_bears_the_name_of_the_cluster_it_mostly_is(engine, stored, git):
    for path in [path for path in tags(engine) if "boiler" in path][:6]:
        engine.tag(path, [f"{CLUSTER_PREFIX}Heating"])
    engine.maintain()
    found = [slugs for path, slugs in tags(engine).items() if "boiler" in path]
    assert set().union(*found) == {"Heating"}


def test_the_order_of_files_does_not_matter(tmp_path, make_repo, git):
    from atlas.template import create

    pages = []
    for seed in (1, 2):
        root = make_repo(tmp_path / str(seed))
        create(root)
        files = [
            (f"notes/{t} {n}.md", f"# {t.title()} {n}\n\n{x}\n") for t in TOPICS for n, x in enumerate(texts(9, t))
        ]
        random.Random(seed).shuffle(files)
        for path, text in files:
            write(root, path, text)
        commit(root, git)
        with MemoryEngine(root) as engine:
            engine.maintain()
        pages.append({place.name: place.read_bytes() for place in (root / "clusters").iterdir()})
    assert pages[0] == pages[1]


# -------------------------------------------------------------- who knows of whom


def test_scopes_know_nothing_of_each_other(engine, root, git, monkeypatch):
    """Together they would be one group; apart each has too few memories to look for any."""
    monkeypatch.setattr("atlas.ingest.entities", lambda text: ())
    for scope in ("ada", "ben"):
        engine.ingest_many([Request(text, scope=scope, created="2026-01-01") for text in texts(7)])
    engine.maintain()
    assert not any(tags(engine).values())
    engine.ingest_many([Request(text, scope="ada", created="2026-01-02") for text in texts(10)])
    engine.maintain()
    found = tags(engine)
    assert all(slugs for path, slugs in found.items() if path.startswith("ada/"))
    assert not any(slugs for path, slugs in found.items() if path.startswith("ben/"))


@pytest.mark.parametrize("private", ["private/valve.md", "notes/valve.md"])
def test_what_is_private_stands_on_no_page(engine, root, git, private):
    own_notes(root, git, *TOPICS)
    head = "scope: private\n" if private.startswith("notes") else ""
    body = f"---\ntags: [{CLUSTER_PREFIX}boiler]\n{head}---\n# Boiler of my neighbour\n\n{texts(12, 'boiler')[-1]}\n"
    write(root, private, body)
    write(root, "private/other.md", f"# Boiler of my uncle\n\n{texts(11, 'boiler')[-1]}\n")
    for n in range(3):
        write(root, f"notes/tagged {n}.md", f"---\ntags: [{CLUSTER_PREFIX}boiler]\n---\n# Boiler {n}\n")
    commit(root, git)
    engine.maintain()
    page = (root / "clusters/boiler.md").read_text()
    assert "neighbour" not in page
    assert "uncle" not in page
    assert "notes/tagged 1" in page
