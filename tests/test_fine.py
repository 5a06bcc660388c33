"""The fine mode through the engine: what it adds, what it must never show, what it does without a model."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import write as note

from atlas import MemoryEngine
from atlas.models import remote

WORDS = ["heron", "quokka", "wombat", "boiler", "valve", "ledger"]


def fine(engine, query, **options):
    return list(engine.search(query, mode="fine", **options).hits)


def facts(hits):
    return [(hit.path, hit.score, hit.text, hit.line, hit.why) for hit in hits]


def test_a_hit_says_what_the_tree_thinks_of_it(root, engine):
    note(root, "birds/water.md", "The heron stands in the pond.\n")
    note(root, "birds/land.md", "The quokka is no bird.\n")
    note(root, "tools/boiler.md", "The boiler has a valve.\n")
    hits = fine(engine, "heron in the pond")
    assert hits[0].path == "birds/water.md"
    assert hits[0].why["tree"]["rank"] == 1
    assert 0 < hits[0].why["tree"]["score"] <= 1
    assert "tree" not in engine.search("heron in the pond").hits[0].why


def test_a_folder_is_found_by_its_name(root, engine):
    for n in range(4):
        note(root, f"rivers/{n}.md", f"report {n}\n")
        note(root, f"offices/{n}.md", f"report {n}\n")
    hits = fine(engine, "rivers report 2", k=8)
    assert hits[0].path == "rivers/2.md"
    assert hits[0].why["tree"]["rank"] == 1


def test_clusters_are_branches_too(root, engine):
    for n in range(3):
        note(root, f"{n}/a.md", f"---\ntags: [cluster/heron]\n---\nentry number {n}\n")
        note(root, f"{n}/b.md", f"entry number {n}, plain\n")
    found = {hit.path: hit.why["tree"]["score"] for hit in fine(engine, "heron entry")}
    assert found["1/a.md"] > found["1/b.md"]


def test_what_changed_is_seen(root, engine):
    note(root, "a.md", "heron\n")
    assert fine(engine, "wombat heron")[0].path == "a.md"
    note(root, "new/b.md", "wombat heron\n")
    assert fine(engine, "wombat heron")[0].path == "new/b.md"
    (root / "new" / "b.md").unlink()
    assert [hit.path for hit in fine(engine, "wombat heron")] == ["a.md"]


def test_the_past_has_a_tree_of_its_own(root, engine, git):
    note(root, "old/a.md", "The heron stands.\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    (root / "old" / "a.md").unlink()
    note(root, "b.md", "nothing of that kind\n")
    assert [hit.path for hit in fine(engine, "heron", as_of="HEAD")] == ["old/a.md"]
    assert [hit.path for hit in fine(engine, "heron", abstain=False)] == ["b.md"]


def test_an_empty_vault_one_note_and_two_hundred_folders(root, engine):
    assert fine(engine, "heron") == []
    note(root, "a.md", "The heron stands.\n")
    assert [hit.path for hit in fine(engine, "heron")] == ["a.md"]
    deep = "/".join("d" * 200) + "/b.md"
    note(root, deep, "The heron flies over the valve.\n")
    assert fine(engine, "valve")[0].path == deep
    assert fine(engine, "") == list(engine.search("").hits)


def test_without_vectors_words_alone_go_down(root):
    (root / "atlas.toml").write_text('[search]\nembedding = "none"\n')
    note(root, "birds/a.md", "The heron stands.\n")
    note(root, "tools/b.md", "The boiler has a valve.\n")
    with MemoryEngine(root, resident=False) as engine:
        (hit,) = fine(engine, "heron")
        assert (hit.path, set(hit.why)) == ("birds/a.md", {"lexical", "thread", "tree"})
        assert fine(engine, "zebra") == []


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    notes=st.lists(
        st.tuples(
            st.sampled_from(["a", "a/b", "ab", "c"]),
            st.sampled_from(["fact", "note"]),
            st.sampled_from(["heron", "valve/deep", "x"]),
            st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
        ),
        min_size=1,
        max_size=8,
    ),
    scope=st.sampled_from(["", "a", "a/b", "none"]),
    kind=st.sampled_from([[], ["fact"]]),
    cluster=st.sampled_from([[], ["valve"]]),
    query=st.lists(st.sampled_from([*WORDS, "a", "ab"]), min_size=1, max_size=3).map(" ".join),
)
def test_nothing_outside_the_filters_and_nothing_left_behind(root, engine, notes, scope, kind, cluster, query):
    """The same notes as the fast mode may show, and the fast mode answers to the last bit as if there were no other."""
    for place in root.rglob("*.md"):
        place.unlink()
    inside = set()
    for number, (folder, sort, slug, text) in enumerate(notes):
        path = f"{folder}/{number}.md"
        note(root, path, f"---\nkind: {sort}\ntags: [cluster/{slug}]\n---\n{' '.join(text)}\n")
        if path.startswith(scope + "/" * bool(scope)) and (not kind or sort in kind):
            inside |= {path} if not cluster or slug.startswith("valve") else set()
    options = {"scope": scope, "kind": kind, "cluster": cluster, "k": 50, "abstain": False}
    before = facts(engine.search(query, **options).hits)
    found = fine(engine, query, **options)
    assert {hit.path for hit in found} == inside == {path for path, *_ in before}
    assert facts(engine.search(query, **options).hits) == before


def test_a_fast_search_loads_none_of_it(root):
    note(root, "a.md", "The heron stands.\n")
    code = "import sys; from atlas.reading import ReadingEngine as E; E(sys.argv[1], resident=False).search('heron'); "
    code += "print(*(name for name in sys.modules if name in ('atlas.fine', 'atlas.tree', 'atlas.guide')))"
    done = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_without_litellm_one_sentence_and_the_beam_answers(root):
    assert find_spec("litellm") is None, "this test is for an environment without it"
    remote._litellm.cache_clear()
    note(root, "a/a.md", "The heron stands.\n")
    note(root, "b/b.md", "The valve leaks.\n")
    with MemoryEngine(root) as plain:
        wanted = facts(fine(plain, "heron"))
    (root / "atlas.toml").write_text('[llm]\nmodel = "openai/some-model"\n')
    with MemoryEngine(root) as engine:
        assert engine.search("heron").hits
        assert engine.said() == []
        assert facts(fine(engine, "heron")) == wanted
        assert facts(fine(engine, "heron")) == wanted
        (said,) = engine.said()
    assert said.startswith("Remote models need litellm: run `pip install 'memory-atlas[llm]'`.")
    assert said.isprintable()
