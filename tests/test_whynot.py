"""Why a search does not return a memory: every answer there is, in the order in which a search decides."""

from __future__ import annotations

import pytest
from support import write as note

from atlas import MemoryEngine
from atlas.errors import Ambiguous, NotFound, OutsideVault

ID = "01JDXK3Q8ZV5T9W2M4N6P8R0S1"


def asked(engine, query, name, **filters):
    found = engine.why_not(query, name, **filters)
    return found.reason, found.detail


def test_outranked_names_what_stands_before_and_why(root, engine):
    for n in range(5):
        note(root, f"near{n}.md", f"The heron of pond {n} waits for a fish.\n")
    note(
        root, "far.md", f"---\nid: {ID}\n---\nA boiler in the cellar, and a heron on the roof of the house next door.\n"
    )
    found = engine.why_not("heron waits for a fish", ID, k=3)
    assert (found.id, found.path, found.reason, found.of) == (ID, "far.md", "outranked", 6)
    assert found.rank == 6
    assert [b.rank for b in found.outranked_by] == [1, 2, 3]
    assert all(b.score >= found.score for b in found.outranked_by)
    hits = engine.search("heron waits for a fish", k=3).hits
    assert [(b.path, b.score, b.why) for b in found.outranked_by] == [(h.path, h.score, h.why) for h in hits]
    assert found.why["lexical"]["rank"] > found.outranked_by[0].why["lexical"]["rank"]
    assert set(found.why) == {"lexical", "thread", "vector"}
    first = engine.why_not("heron waits for a fish", hits[0].path)
    assert (first.reason, first.rank, first.outranked_by) == ("found", 1, ())


def test_each_filter_is_named(root, engine):
    note(root, "team/a.md", "---\nkind: fact\ntags: [work, cluster/birds]\nvalid_to: 2026-02-01\n---\nThe heron.\n")
    note(root, "b.md", "---\nkind: decision\n---\nThe heron stands.\n")
    assert asked(engine, "heron", "team/a.md")[0] == "found"
    assert asked(engine, "heron", "team/a.md", scope="other") == ("outside-scope", "it does not lie below other/.")
    for filters, words in (
        ({"kind": ["decision"]}, "only kind decision was asked for; it is of kind fact, with tags "),
        ({"tag": ["home"]}, "only tag home was asked for"),
        ({"cluster": ["fish"]}, "only cluster fish was asked for"),
        ({"valid_at": "2026-03-01"}, "it does not hold at the date"),
    ):
        reason, detail = asked(engine, "heron", "a", **filters)
        assert reason == "filtered"
        assert words in detail
    kept = {"kind": ["fact"], "tag": ["work"], "cluster": ["birds"], "valid_at": "2026-01-01", "scope": "team"}
    assert asked(engine, "heron", "a", **kept)[0] == "found"


def test_a_copy_an_abstention_and_a_memory_without_a_word_of_it(root, engine):
    note(root, "one.md", "The heron stands.\n")
    note(root, "two.md", "The heron stands!\n")
    note(root, "pan.md", "Season the pan with oil.\n")
    (hit,) = engine.search("heron", k=1).hits
    (copy,) = hit.copies
    reason, detail = asked(engine, "heron", copy, k=1)
    assert (reason, f"the text of {hit.path}, hit 1" in detail) == ("copy", True)
    reason, detail = asked(engine, "capital of Mongolia", "pan.md")
    assert (reason, "confidence 0.0" in detail) == ("abstained", True)
    with MemoryEngine(root, embedding_model="none") as plain:
        found = plain.why_not("heron", "pan.md")
        assert (found.reason, found.rank, found.of) == ("unmatched", None, 2)


def test_what_is_not_indexed_says_what_stands_in_the_way(root):
    (root / "atlas.toml").write_text("[vault]\nignore = ['private/']\nmax_note_bytes = 200\n")
    note(root, "big.md", "heron " * 50)
    (root / "image.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    note(root, "private/p.md", "The heron.\n")
    with MemoryEngine(root) as opened:
        assert asked(opened, "heron", "big.md")[1].startswith("oversized: ")
        assert asked(opened, "heron", "image")[1].startswith("binary: ")
        assert "`vault.ignore`" in asked(opened, "heron", "private/p.md")[1]


def test_what_is_gone_says_when_and_how_it_comes_back(root, engine, git):
    (id,) = engine.ingest("The heron stands on the slate roof.")
    path = engine.expand(id).path
    (root / path).unlink()
    found = engine.why_not("heron", id)
    assert (found.id, found.path, found.reason, "git restore" in found.detail) == (id, path, "gone", True)
    git(root, "commit", "-qam", "by hand: no herons")
    for name in (id, path):
        found = engine.why_not("heron", name)
        commit = git(root, "rev-parse", "--short=9", "HEAD").strip()
        assert (found.path, found.reason, commit in found.detail) == (path, "gone", True)
        assert f"atlas restore {found.id}" in found.detail
    then = engine.why_not("heron", engine.ingest("A wombat.")[0], as_of="HEAD~1")
    assert (then.reason, then.rank) == ("not-then", None)
    engine.restore(id)
    assert engine.why_not("heron", id).reason == "found"


def test_unknown_names_and_other_scopes_say_nothing(root, engine):
    note(root, "team/a.md", "The heron.\n")
    note(root, "secret/b.md", "Another heron.\n")
    note(root, "secret/a.md", "A third heron.\n")
    with pytest.raises(NotFound):
        engine.why_not("heron", "nobody")
    with pytest.raises(Ambiguous):
        engine.why_not("heron", "a")
    with MemoryEngine(root, scope="team") as scoped:
        assert scoped.why_not("heron", "a").path == "team/a.md"
        for name in ("secret/b.md", "b"):
            with pytest.raises(NotFound):
                scoped.why_not("heron", name)
        with pytest.raises(OutsideVault):
            scoped.why_not("heron", "a", scope="secret")


def test_the_past_has_its_own_reasons(root, engine, git):
    note(root, "a.md", "The heron stands.\n")
    note(root, "b.md", "The heron stands in the water of the pond.\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")
    note(root, "b.md", "The boiler hums.\n")
    assert engine.why_not("heron in the pond", "b.md", as_of="HEAD").rank == 1
    assert engine.why_not("heron in the pond", "b.md").rank == 2
