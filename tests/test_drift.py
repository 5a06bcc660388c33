"""Summaries that are behind their text: noticed, said, not served, written anew; and never over a person's words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import write

from atlas import MemoryEngine, drift, markdown, summaries
from atlas.drift import State
from atlas.errors import Unparsable
from atlas.memory import Lod
from atlas.merge import merge
from atlas.models import offline

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


def test_what_the_old_summary_says_is_found_no_more(engine, stale, root, text):
    """It stands in the file, and said what the text does not any more."""
    old = markdown.parse(text(stale), stale)
    said = next(word for word in old.summary.split() if len(word) > 4 and word not in old.title)
    write(root, stale, markdown.replace_section(text(stale), "Detail", "The pump is new.\n\n" * 3 + "So is the pipe."))
    for query in (old.summary, "pump"):
        for hit in engine.search(query, abstain=False).hits:
            assert said not in hit.text + hit.summary
        assert said not in engine.view(query, budget=2000).text


def test_a_fresh_one_is_served_at_every_level(engine):
    engine.ingest(TEXT)
    levels = {i.lod for b in range(0, 400, 20) for i in engine.view("boiler valve pressure", budget=b).items}
    assert Lod.L1 in levels


# ----------------------------------------------------------------- written anew


def ran(engine, **asked):
    return [one for one in engine.maintain(**asked) if one.task == "drift"]


def test_a_stale_summary_is_written_anew_and_nothing_else(engine, stale, root, git, text):
    before = text(stale)
    (done,) = ran(engine)
    assert done.changed == (stale,)
    assert [(row.was, row.to) for row in done.rows] == [("stale", "fresh")]
    after = text(stale)
    assert state(after) == State.FRESH
    old, new = (markdown.parse(one, stale) for one in (before, after))
    cut = re.compile(r"^digest: .*\n|(?<=## Summary\n).*\n", re.MULTILINE)
    assert cut.sub("", after) == cut.sub("", before)
    assert (new.title, new.detail) == (old.title, old.detail)
    assert new.summary == engine.expand(stale).summary
    assert "Atlas-Op: drift" in git(root, "show", "-s", "--format=%B", done.commit)
    assert ran(engine, all_tasks=True) == []
    assert [f for f in engine.status()["findings"] if f.kind == drift.FINDING] == []


@pytest.mark.parametrize("mine", ["## Summary\nIn my own words.", "## Summary\n- The valve"])
def test_a_persons_summary_is_never_written_over(engine, stale, root, git, text, mine):
    write(root, stale, re.sub(r"## Summary\n.*", mine, text(stale)))
    before = text(stale)
    git(root, "commit", "-qam", "in my words")
    assert ran(engine, all_tasks=True) == []
    assert text(stale) == before
    assert [f for f in engine.status()["findings"] if f.kind == drift.FINDING] == []


def test_a_note_of_a_person_is_never_summed_up(engine, root, git, text):
    note = "# Valve\n\n## Summary\nIt leaks.\n\n## Detail\nIt leaks.\n"
    write(root, "notes/valve.md", note)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "note")
    write(root, "notes/valve.md", note + "Not any more.\n")
    git(root, "commit", "-qam", "note")
    assert ran(engine, all_tasks=True) == []
    assert text("notes/valve.md") == note + "Not any more.\n"


def test_one_that_is_being_edited_waits(engine, stale, root, git, text):
    write(root, stale, text(stale) + "\nHalf a sent")
    before = text(stale)
    assert ran(engine) == []
    assert text(stale) == before
    git(root, "commit", "-qam", "done")
    assert len(ran(engine)) == 1


def test_windows_lines_stay(stale, root, engine, git):
    data = (root / stale).read_bytes().replace(b"\n", b"\r\n")
    new = summaries.renewed(data)
    assert new is not None
    assert new.count(b"\r\n") == new.count(b"\n")
    assert summaries.renewed(new) is None


@pytest.mark.parametrize("data", [b"", b"# A\n", b"---\nid: [\n---\n## Detail\n", b"\x00\x01\xff"])
def test_what_is_of_no_record_is_not_renewed(data):
    assert summaries.renewed(data) is None


@settings(max_examples=100)
@given(words, words, st.text(max_size=60))
def test_whatever_a_summariser_says_the_file_stays_whole(before, after, said):
    """A summary that looks like Markdown must not become a heading, or end the detail."""
    old, new = " ".join(["It", *before]), " ".join(["It", *after])
    edited = markdown.replace_section(note(old), "Detail", new).encode()
    made = summaries.renewed(edited, lambda _: said)
    if old == new:
        assert made is None
    elif made is not None:
        found = markdown.parse(made.decode(), "n.md")
        assert found.detail == markdown.parse(edited.decode(), "n.md").detail
        assert drift.state(found) == State.FRESH


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("The valve leaks.\n", "The valve leaks."),
        ("", ""),
        (" \n", ""),
        ("a " * 400, ""),
        ("Two\nlines.", "Two lines."),
    ],
)
def test_an_answer_of_a_model_that_is_no_summary_is_none(said, kept):
    assert summaries.fitting(said) == kept


def test_where_no_model_answers_the_rules_do(engine, stale, root, git):
    """The address is nobody's, and the extra that would ask it need not be there."""
    model = '[llm]\nmodel = "openai/none"\napi_base = "http://127.0.0.1:9"\n'
    write(root, "atlas.toml", model + '[upkeep]\nsummaries = "llm"\n')
    git(root, "commit", "-qam", "settings")
    with MemoryEngine(root) as asking:
        (done,) = ran(asking)
        assert done.changed == (stale,)
        assert asking.expand(stale).summary == offline.summary(_detail(root, stale))


def _detail(root, path: str) -> str:
    return markdown.parse((root / path).read_text(), path).detail
