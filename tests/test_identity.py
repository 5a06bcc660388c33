"""Who is who: ids of notes with and without one written."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from atlas.identity import Lineage, derived_id, is_conflict_copy, resolve, spelling_clashes

NAMES = st.lists(st.sampled_from([f"{c}.md" for c in "abcdefgh"]), unique=True, max_size=8)


def test_a_written_id_is_the_identity():
    assert resolve({"a.md": "X1", "b.md": ""}, {}, Lineage()).ids["a.md"] == "X1"


def test_a_note_keeps_its_identity_over_a_committed_rename():
    lineage = Lineage(renames=(("old.md", "new.md"),), tree={"new.md": "1"})
    assert resolve({"new.md": ""}, {"new.md": "1"}, lineage).ids["new.md"] == derived_id("old.md")


def test_and_over_a_chain_of_renames_newest_first():
    lineage = Lineage(renames=(("b.md", "c.md"), ("a.md", "b.md")))
    assert resolve({"c.md": ""}, {"c.md": "1"}, lineage).ids["c.md"] == derived_id("a.md")


def test_and_over_a_rename_not_committed_yet():
    lineage = Lineage(tree={"old.md": "1"})
    assert resolve({"new.md": ""}, {"new.md": "1"}, lineage).ids["new.md"] == derived_id("old.md")


def test_but_not_when_the_content_changed_too():
    lineage = Lineage(tree={"old.md": "1"})
    assert resolve({"new.md": ""}, {"new.md": "2"}, lineage).ids["new.md"] == derived_id("new.md")


def test_a_copy_is_no_rename():
    lineage = Lineage(tree={"old.md": "1"})
    ids = resolve({"old.md": "", "new.md": ""}, {"old.md": "1", "new.md": "1"}, lineage).ids
    assert ids == {"old.md": derived_id("old.md"), "new.md": derived_id("new.md")}


def test_a_new_note_under_an_old_name_is_another_note():
    lineage = Lineage(renames=(("a.md", "b.md"),), tree={"a.md": "2", "b.md": "1"})
    ids = resolve({"a.md": "", "b.md": ""}, {"a.md": "2", "b.md": "1"}, lineage).ids
    assert len(set(ids.values())) == 2


def test_the_original_keeps_its_id_whatever_the_copy_is_called():
    for copy in ("n (conflicted copy 2026-07-10 070952).md", "n.sync-conflict-20260710-070952-ABCDEFG.md", "n 2.md"):
        found = resolve({copy: "X", "n.md": "X"}, {}, Lineage())
        assert found.ids["n.md"] == "X"
        assert found.ids[copy] != "X"
        assert found.clashes == {copy: "n.md"}
        assert is_conflict_copy(copy)


def test_two_spellings_of_one_name_at_once():
    composed, decomposed = (unicodedata.normalize(form, "Café.md") for form in ("NFC", "NFD"))
    ids = resolve({composed: "", decomposed: ""}, {}, Lineage()).ids
    assert ids[composed] != ids[decomposed]
    assert spelling_clashes([composed, decomposed, "b.md"]) == {composed: decomposed}


@given(NAMES, NAMES, st.lists(st.tuples(NAMES.filter(bool), NAMES.filter(bool)), max_size=4))
def test_every_note_has_its_own_id_whatever_git_says(here, head, pairs):
    lineage = Lineage(tuple((a[0], b[0]) for a, b in pairs), dict.fromkeys(head, "1"))
    ids = resolve(dict.fromkeys(here, ""), dict.fromkeys(here, "1"), lineage).ids
    assert set(ids) == set(here)
    assert len(set(ids.values())) == len(here)
