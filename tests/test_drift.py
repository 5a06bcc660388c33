"""Summaries that are behind their text: noticed, said, not served, written anew; and never over a person's words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import write

from atlas import drift, markdown
from atlas.drift import State
from atlas.errors import Unparsable
from atlas.memory import Lod
from atlas.merge import merge

TEXT = (
    "The boiler in the cellar has a pressure valve that was replaced in May.\n\n"
    "Its pressure must never exceed 2.5 bar, because the old pipes burst at three.\n\n"
    "Ana checks the valve on the first Monday of every month and writes the reading down.\n\n"
    "When the reading is above two bar she opens the valve until it is back at one and a half.\n\n"
    "The key of the cellar hangs behind the door of the kitchen, on the hook with the red ribbon."
)
words = st.lists(st.sampled_from(["valve", "never", "2.5", "[[Ana]]", "#tag", "\\##", "#", "-", "管"]), max_size=12)


def note(detail: str, *, label: str = "Valve", summary: str = "The valve leaks.") -> str:
    text = markdown.compose(meta={"id": "01JDXK3Q8ZV5T9W2M4N6P8R0S1"}, label=label, summary=summary, detail=detail)
    return drift.stamped(text)


def state(text: str) -> State:
    return drift.state(markdown.parse(text, "n.md"))


def test_a_new_memory_with_a_detail_is_stamped_and_fresh(engine, text):
    (stored,) = engine.ingest(TEXT).memories
    written = text(stored.path)
    assert re.search(r"^digest: [0-9a-f]{8}-[0-9a-f]{8}$", written, re.MULTILINE)
    assert state(written) == State.FRESH
    assert drift.stamped(written) == written


def test_a_short_memory_is_its_own_summary_and_has_no_digest(engine, text):
    (stored,) = engine.ingest("The valve leaks.").memories
    assert "digest" not in text(stored.path)
    assert state(text(stored.path)) == State.NONE


@pytest.mark.parametrize("value", ["", "weekly", "1f0c9a7e", "1f0c9a7e-52d0b3aa-", "[1f0c9a7e-52d0b3aa]", "{a: b}"])
def test_a_persons_own_key_of_that_name_is_none(value):
    assert state(re.sub("digest: .*", f"digest: {value}", note("It leaks."))) == State.NONE


def test_what_has_no_detail_is_of_no_record():
    text = markdown.remove_section(note("It leaks."), "Detail")
    assert state(text) == State.NONE
    assert drift.stamped(text) == text


def test_what_cannot_be_read_is_not_stamped():
    with pytest.raises(Unparsable):
        drift.stamped("---\nid: [\n---\n# A\n\n## Detail\nb\n")


@settings(max_examples=200)
@given(words, words)
def test_any_edit_of_the_detail_makes_it_stale(before, after):
    old, new = " ".join(["It", *before]), " ".join(["It", *after])
    edited = markdown.replace_section(note(old), "Detail", new)
    assert state(edited) == (State.FRESH if old == new else State.STALE)
    assert state(drift.stamped(edited)) == State.FRESH


@settings(max_examples=200)
@given(words, words, st.booleans())
def test_any_edit_of_the_summary_makes_it_a_persons_own(before, after, moved):
    old, new = " ".join(["It", *before]), " ".join(["It", *after])
    edited = markdown.replace_section(note("Detail.", summary=old), "Summary", new)
    if moved:
        edited = markdown.replace_section(edited, "Detail", "Other.")
    unchanged = State.STALE if moved else State.FRESH
    assert state(edited) == (unchanged if old == new else State.REWRITTEN)


@settings(max_examples=50)
@given(st.text(alphabet="abc *#é", min_size=1).filter(lambda s: s.strip(" #")))
def test_any_edit_of_the_label_makes_it_a_persons_own(label):
    edited = note("Detail.").replace("# Valve\n", f"# x{label}y\n", 1)
    assert state(edited) == State.REWRITTEN


def test_how_it_is_spaced_says_nothing():
    text = note("One line.\n\nAnother  line.")
    assert state(text.replace("\n", "\r\n")) == State.FRESH
    assert state(text.replace("Another  line.", "Another line.  ")) == State.FRESH


def test_two_digests_are_no_conflict():
    base = note(TEXT)
    one = drift.stamped(markdown.replace_section(base, "Detail", TEXT + "\n\nOne more.")).encode()
    two = drift.stamped(markdown.replace_section(base, "Detail", "None less.\n\n" + TEXT)).encode()
    made = merge(base.encode(), one, two, "n.md")
    assert (made.conflicts, made) == ((), merge(base.encode(), two, one, "n.md"))
    assert state(made.data.decode()) == State.STALE


# ---------------------------------------------------------------------- served


@pytest.fixture
def stale(engine, root, git, text) -> str:
    """The path of a memory whose detail a person has changed since."""
    (stored,) = engine.ingest(TEXT).memories
    edited = text(stored.path).replace("The key of the cellar hangs", "The turquoise key of the cellar now hangs")
    write(root, stored.path, edited)
    git(root, "commit", "-qam", "by hand")
    return stored.path


def test_it_is_said_and_stops_nothing(engine, stale):
    (found,) = [f for f in engine.status()["findings"] if f.kind == drift.FINDING]
    lines = engine.expand(stale).detail
    assert (found.path, "maintain" in found.message) == (stale, True)
    assert engine.validate() == []
    assert "turquoise" in lines


@pytest.mark.parametrize("resident", [True, False])
def test_its_summary_is_served_nowhere(stale, root, engine, resident):
    from atlas import MemoryEngine

    old = engine.expand(stale).summary
    with MemoryEngine(root, resident=resident) as other:
        (hit,) = other.search("turquoise key").hits
        assert "turquoise" in hit.summary
        assert hit.summary != old
        view = other.view("turquoise key of the cellar", budget=2000)
        (shown,) = view.items
        assert shown.lod == Lod.L2
        for budget in range(0, 400, 20):
            assert all(item.lod != Lod.L1 for item in other.view("turquoise key of the cellar", budget=budget).items)


def test_a_fresh_one_is_served_at_every_level(engine):
    engine.ingest(TEXT)
    levels = {i.lod for b in range(0, 400, 20) for i in engine.view("boiler valve pressure", budget=b).items}
    assert Lod.L1 in levels
