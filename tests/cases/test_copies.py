"""O5 and A6 at recall: copies of a note are one hit, and what is only nearly the same is not."""

from __future__ import annotations

import subprocess

import pytest

ID = "01JDXK3Q8ZV5T9W2M4N6P8R0S1"
TEXT = f"---\nid: {ID}\n---\n# Orchard\n\nThe quince by the gate is picked in the last week of October.\n"
COPIES = {
    "n (conflicted copy 2026-07-10 070952).md": TEXT.replace("gate", "wall"),
    "n.sync-conflict-20260710-070952-ABCDEFG.md": TEXT.replace("picked", "pruned"),
    "n 2.md": TEXT.replace("quince", "medlar"),
}


@pytest.mark.parametrize("last", [False, True])
def test_o5_the_original_is_shown_once_with_its_copies(vault, last):
    """Indexed in both orders, and after an edit of the original: one hit, the id stays, the copies are named."""
    files = {"n.md": TEXT, **COPIES}
    for path in reversed(files) if last else files:
        vault.put(path, files[path])
        vault.hits("quince")
    for query in ("when is the quince picked", "medlar by the gate", "wall quince October", "pruned in October"):
        hits = vault.hits(query)
        assert (hits[0].path, hits[0].id, set(hits[0].copies)) == ("n.md", ID, set(COPIES))
        assert not {hit.path for hit in hits[1:]} & set(files)
    vault.put("n.md", TEXT.replace("October", "September"))
    hit = vault.hits("quince in September")[0]
    assert (hit.path, hit.id, set(hit.copies)) == ("n.md", ID, set(COPIES))
    shown = vault.cli("search", "quince")
    assert "copies: " in shown.out
    assert all(path in shown.out for path in COPIES)
    assert set(vault.cli("search", "quince", "--json").json["hits"][0]["copies"]) == set(COPIES)
    named = {(path, 1, "duplicate-id") for path in COPIES} | {(path, 0, "conflict-copy") for path in COPIES}
    vault.holds(named, queries=("quince",))


def test_o5_a_copy_is_flagged_with_the_command_that_compares(vault):
    """The command runs as it stands; a note that is only the second of a series is no copy; nothing is deleted."""
    copy = "n (conflicted copy 2026-07-10 070952).md"
    vault.put("n.md", TEXT)
    vault.put(copy, COPIES[copy])
    vault.put("n 2.md", "Another note, the second of a series.\n")
    (found,) = [f for f in vault.findings() if f.kind == "conflict-copy"]
    assert (found.path, "n.md" in found.message) == (copy, True)
    command = found.message.partition("`")[2].partition("`")[0]
    done = subprocess.run(["sh", "-c", command], cwd=vault.root, capture_output=True, text=True, check=False)
    assert (done.returncode, "-The quince by the gate" in done.stdout) == (1, True), done.stderr
    vault.drop(copy)
    assert vault.findings() == []
    vault.holds()


def test_o5_a_copy_out_of_reach_hides_nothing(vault):
    """A filter that lets only the copy through shows the copy."""
    vault.put("n.md", TEXT)
    vault.put("sync/n.md", TEXT.replace("id: 01J", "id: 01K"))
    copy = next(iter(COPIES))
    vault.put(f"sync/{copy}", COPIES[copy].replace(f"id: {ID}\n", "kind: fact\n"))
    assert [(h.path, h.copies) for h in vault.hits("quince", scope="sync")] == [("sync/n.md", (f"sync/{copy}",))]
    assert [(h.path, h.copies) for h in vault.hits("quince", kind=["fact"])] == [(f"sync/{copy}", ())]
    assert {vault.hits("quince")[0].path, *vault.hits("quince")[0].copies} == {"n.md", "sync/n.md", f"sync/{copy}"}


NEAR = (
    "Staging listens on port 5433.", "Staging listens on port 5434.", "Do not restart node A.", "Restart node A.",
    "Run 41: recall 0.812.", "Run 42: recall 0.821.", "Ana waters the fern.", "Eva waters the fern.",
)  # fmt: skip


@pytest.mark.parametrize("by_hand", [False, True])
def test_a6_nearly_the_same_are_all_recalled(vault, by_hand):
    """Each of two that differ in a number, a "not" or a name is a hit of its own, and no other's copy."""
    for n, text in enumerate(NEAR):
        if by_hand:
            vault.put(f"near/{'abcdefgh'[n]}.md", f"{text}\n")
        else:
            vault.engine.ingest(text)
    for one, other in zip(NEAR[::2], NEAR[1::2], strict=True):
        hits = vault.hits(one, k=4)
        assert [hit.text.strip().removeprefix("# ") for hit in hits[:2]] == [one.rstrip(), other.rstrip()]
        assert all(hit.copies == () for hit in hits)
    vault.holds(queries=("5433", "restart node A"))


def test_k_counts_distinct_texts(vault):
    """Thirty copies of the best note do not crowd out the others."""
    for n in range(30):
        vault.put(f"copies/{'abcdefghij'[n % 10] * (n // 10 + 1)}.md", "The quince by the gate is ripe.\n")
    for n in range(4):
        vault.put(f"others/{n}.md", f"A quince tree with {n + 2} branches stands in row {n}.\n")
    hits = vault.hits("quince by the gate", k=5)
    assert len(hits) == 5
    assert len(hits[0].copies) == 29
    assert {hit.path for hit in hits[1:]} == {f"others/{n}.md" for n in range(4)}
    vault.holds(queries=("quince",))
