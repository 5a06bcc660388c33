"""Searching: what a query may see, what it finds, and why."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import write as note

from atlas import MemoryEngine
from atlas.errors import NotFound, OutsideVault, UsageError

WORDS = ["heron", "quokka", "wombat", "boiler", "valve", "ledger", "zürich", "备份", "ADR-016", "foo_bar"]


def paths(engine, query, **options):
    return [hit.path for hit in engine.retrieve(query, **options)]


def test_filters_choose_before_ranking(root, engine):
    note(root, "a.md", "---\nkind: fact\ntags: [work/deep, cluster/jwt]\n---\nheron one\n")
    note(root, "b.md", "---\nkind: decision\ntags: [workshop]\n---\nheron two\n")
    note(root, "c/d.md", "heron three\n")
    assert set(paths(engine, "heron")) >= {"a.md", "b.md", "c/d.md"}
    assert paths(engine, "heron", kind=["fact"]) == ["a.md"]
    assert paths(engine, "heron", tag=["work"]) == ["a.md"]
    assert paths(engine, "heron", tag=["#work/deep"]) == ["a.md"]
    assert paths(engine, "heron", cluster=["jwt"]) == ["a.md"]
    assert paths(engine, "heron", scope="c") == ["c/d.md"]
    assert paths(engine, "heron", kind=["fact"], scope="c") == []


def test_valid_at_takes_the_period_that_holds(root, engine):
    note(root, "old.md", "---\nvalid_from: 2026-01-01\nvalid_to: 2026-01-09\n---\nAna's desk is on floor 2\n")
    note(root, "new.md", "---\nvalid_from: 2026-01-09\n---\nAna's desk is on floor 5\n")
    assert paths(engine, "Ana's desk", valid_at="2026-01-05") == ["old.md"]
    assert paths(engine, "Ana's desk", valid_at="2026-01-09") == ["new.md"]
    with pytest.raises(UsageError):
        engine.retrieve("desk", valid_at="last Tuesday")


def test_two_files_with_the_same_content_are_two_memories_and_one_hit(root, engine):
    note(root, "one.md", "the heron stands\n")
    note(root, "two.md", "the heron stands\n")
    (hit,) = engine.retrieve("heron stands")
    assert {hit.path, *hit.copies} == {"one.md", "two.md"}
    assert engine.expand("one.md").id != engine.expand("two.md").id


def test_a_hit_says_why_and_where(root, engine):
    note(
        root,
        "a.md",
        "# Birds\n\nnothing\n\n## Rivers\n\n" + "other words here " * 60 + "\n\nThe heron stands in water.\n",
    )
    hit = engine.retrieve("heron water", k=1)[0]
    assert hit.why["lexical"]["rank"] == 1
    assert "vector" in hit.why
    assert hit.heading == "Rivers"
    assert "heron" in hit.text
    assert hit.label == "Birds"


def test_a_file_is_found_by_its_name(root, engine):
    note(root, "Quarterly wombat report.md", "Numbers and words about something else entirely.\n")
    note(root, "x.md", "a wombat\n")
    hit = engine.retrieve("quarterly wombat report", k=1)[0]
    assert hit.path == "Quarterly wombat report.md"
    assert hit.text.startswith("Numbers")


def test_k_is_an_upper_bound(root, engine):
    for n in range(12):
        note(root, f"{n}.md", f"heron {n}\n")
    assert len(engine.retrieve("heron", k=5)) == 5
    with pytest.raises(UsageError):
        engine.retrieve("heron", k=0)


def test_an_empty_vault_and_an_empty_query(root, engine):
    assert engine.retrieve("anything") == []
    note(root, "a.md", "heron\n")
    assert isinstance(engine.retrieve(""), list)


def test_a_scoped_engine_neither_reads_nor_writes_outside(root):
    note(root, "team/a.md", "heron in the team\n")
    note(root, "teams/b.md", "heron of others\n")
    with MemoryEngine(root, scope="team") as engine:
        assert paths(engine, "heron") == ["team/a.md"]
        assert engine.stats()["memories"] == 1
        with pytest.raises(OutsideVault):
            engine.retrieve("heron", scope="teams")
        with pytest.raises(OutsideVault):
            engine.ingest("heron elsewhere", scope="teams")
        with pytest.raises(NotFound):
            engine.expand("teams/b.md")
        stored = engine.ingest("A wombat in the team.")
        assert stored.memories[0].path.startswith("team/memories/")


def test_scores_of_one_scope_do_not_depend_on_another(root, engine):
    note(root, "mine/a.md", "heron by the river\n")
    note(root, "mine/b.md", "boiler in the cellar\n")
    before = {h.path: h.score for h in engine.retrieve("heron river", scope="mine")}
    for n in range(30):
        note(root, f"theirs/{n}.md", f"heron river {n}\n")
    after = {h.path: h.score for h in engine.retrieve("heron river", scope="mine")}
    assert after == pytest.approx(before, abs=1e-4)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    notes=st.lists(
        st.tuples(st.sampled_from(["a", "a/b", "ab", "c"]), st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)),
        min_size=1,
        max_size=10,
    ),
    scope=st.sampled_from(["a", "a/b", "ab", "c", "none"]),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
)
def test_a_scoped_query_never_returns_another_scope(root, engine, notes, scope, query):
    for place in root.rglob("*.md"):
        place.unlink()
    for number, (folder, text) in enumerate(notes):
        note(root, f"{folder}/{number}.md", " ".join(text) + "\n")
    found = paths(engine, query, scope=scope)
    assert all(path.startswith(scope + "/") for path in found)
    inside = sum(f"{folder}/".startswith(scope + "/") for folder, _ in notes)
    assert len(found) <= min(10, inside)


def test_vectors_belong_to_their_passages(root, engine):
    """Whatever was edited, the vector beside a passage is the vector of its words."""
    for n in range(5):
        note(root, f"{n}.md", f"note {n} about {WORDS[n]}\n")
    engine.retrieve("x")
    note(root, "3.md", "something new about herons\n")
    (root / "1.md").unlink()
    with engine._index.reader() as reader:
        numbers = reader.con.execute("SELECT chunk, vec FROM chunks WHERE note >= 0 AND vec >= 0").fetchall()
        passages = reader.rows.passages([chunk for chunk, _ in numbers])
        rows = [(*passages[chunk], vec) for chunk, vec in numbers]
        wanted = engine._index.embedder().embed([f"{h}\n{t}" if h else t for h, _, t, _ in rows])
        for (*_, vec), vector in zip(rows, wanted, strict=True):
            assert np.allclose(reader.matrix[vec], vector, atol=1e-6)
