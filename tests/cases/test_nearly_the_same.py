"""A6: nearly the same is not the same. All are stored, all are kept and found by their number; joins are proposed."""

from __future__ import annotations

import itertools

import pytest

TWINS = [
    ("Staging listens on port 5433", "Staging listens on port 5434"),
    ("Do not restart node A", "Restart node A"),
    ("Run 41: recall 0.812", "Run 42: recall 0.821"),
    ("Back up the ledger before the upgrade", "Back up the ledger after the upgrade"),
    ("The meeting with Ana is on 3 May", "The meeting with Ben is on 3 May"),
    ("Deploy the gateway without the cache", "Deploy the gateway with the cache"),
]
SAME = ("The boiler in the cellar needs a new valve this year", "This year the boiler in the cellar needs a new valve")


@pytest.fixture
def stored(vault):
    """All of them, stored one by one; text → id."""
    ids = {}
    for text in itertools.chain(*TWINS, SAME):
        (ids[text],) = vault.engine.ingest(text)
    return ids


def test_a6_all_are_kept_and_found_by_their_number(vault, stored):
    before = {id: vault.engine.expand(id).path for id in stored.values()}
    vault.engine.maintain(all_tasks=True)
    vault.engine.maintain(all_tasks=True)
    assert {id: vault.engine.expand(id).path for id in stored.values()} == before
    for text, id in stored.items():
        memory = vault.engine.expand(id)
        assert text in (memory.label, memory.summary, memory.detail)
        assert not {"valid_to", "superseded_by"} & memory.meta.keys()
    for query in ("5433", "5434", "0.812", "0.821", "Run 41", "Run 42"):
        ids = [hit.id for hit in vault.hits(query) if hit.kind != "hub"]
        assert ids[0] == next(id for text, id in stored.items() if query in text), query


def test_a6_at_most_it_is_said_that_they_contradict(vault, stored):
    vault.engine.maintain(all_tasks=True)
    contested = {text for text, id in stored.items() if vault.engine.expand(id).meta.get("trust") == "contested"}
    assert contested == set(TWINS[0]), "one staging, two ports; two runs are two subjects"


def test_a6_what_differs_is_never_proposed(vault, stored):
    found = vault.cli("duplicates", "--json").json["pairs"]
    paths = {vault.engine.expand(id).path: text for text, id in stored.items()}
    same = [{paths[pair["a"]], paths[pair["b"]]} for pair in found if not pair["differ"]]
    assert same == [set(SAME)]
    listed = {frozenset((paths[pair["a"]], paths[pair["b"]])): pair["differ"] for pair in found}
    assert listed[frozenset(TWINS[0])] == ["port 5433", "port 5434"]
    said = vault.cli("duplicates").out
    assert said.count("atlas join") == 1
    assert "are not the same: port 5433; port 5434" in said


def test_a6_upkeep_proposes_and_changes_nothing(vault, stored):
    vault.engine.maintain(all_tasks=True)
    head = vault.git("rev-parse", "HEAD")
    notes = [ran.note for ran in vault.engine.maintain(all_tasks=True) if ran.task == "duplicates"]
    assert len(notes) == 1
    assert notes[0].count("atlas join") == 1
    assert vault.git("rev-parse", "HEAD") == head


def test_a6_a_proposal_can_be_followed_and_both_texts_stay(vault, stored):
    (pair,) = [pair for pair in vault.engine.duplicates() if pair.same]
    assert vault.cli("join", pair.a, pair.b).code == 0
    joined = (vault.root / pair.a).read_text()
    assert all(text in joined for text in SAME)
    assert not (vault.root / pair.b).exists()


def test_a6_no_chains(vault):
    """A and B are near, B and C are near, and of A and C nothing follows."""
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
    a, b, c = (" ".join(words[n : n + 8]) for n in (0, 1, 2))
    for text in (a, b, c):
        vault.engine.ingest(text)
    pairs = vault.engine.duplicates()
    assert all(len({pair.a, pair.b}) == 2 for pair in pairs)
    assert len(pairs) <= 3
    vault.engine.maintain(all_tasks=True)
    assert len([hit for hit in vault.hits("beta gamma delta", abstain=False) if hit.kind != "hub"]) >= 3
