"""The rungs of forgetting: each smaller, each with a way back that loses nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas import ladder, markdown
from atlas.errors import UsageError
from atlas.memory import Rung
from atlas.survey import blob_id

DAY = "2026-11-30"
LONG = "The staging database moved to port 5433.\n\nIt was 5432 before, and two services still ask there."
words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=60)
bodies = st.text(st.sampled_from("ab #\n`-*\\é。|[]"), max_size=200)


def memory(label="Staging", summary="It moved.", detail=LONG, **meta) -> bytes:
    meta = {"id": "01JDXK3Q8ZV5T9W2M4N6P8R0S1", "kind": "fact", "entities": ["staging"], **meta}
    return markdown.compose(meta=meta, label=label, summary=summary, detail=detail).encode()


def note(data: bytes) -> markdown.Note:
    return markdown.parse(data.decode(), "x.md")


def test_each_rung_has_less():
    full = memory()
    summed = ladder.down(full, Rung.L1, DAY)
    named = ladder.down(summed, Rung.L0, DAY)
    assert (note(summed).title, note(summed).summary, LONG in summed.decode()) == ("Staging", "It moved.", False)
    assert (note(named).title, note(named).summary, note(named).entities) == ("Staging", "", ())
    assert [ladder.rung(note(data)) for data in (full, summed, named)] == [Rung.L2, Rung.L1, Rung.L0]
    assert [ladder.below(data) for data in (full, summed, named)] == [Rung.L1, Rung.L0, Rung.TOMBSTONE]


def test_the_blob_of_the_whole_is_kept_on_the_way_down():
    full = memory()
    named = ladder.down(ladder.down(full, Rung.L1, DAY), Rung.L0, "2026-12-31")
    assert note(named).meta["full"] == blob_id(full)
    assert note(named).meta["forgotten"] == "2026-12-31"


def test_a_short_memory_has_no_summary_to_fall_back_on():
    short = memory(summary="Ana likes tea.", detail="")
    assert ladder.below(short) == Rung.L0


def test_a_person_who_writes_a_detail_again_has_a_whole_memory():
    summed = ladder.down(memory(), Rung.L1, DAY)
    again = summed + b"\n## Detail\nAll of it, once more.\n"
    assert ladder.rung(note(again)) == Rung.L2
    assert note(ladder.down(again, Rung.L1, DAY)).meta["full"] == blob_id(again), "that one is the whole of it now"


def test_a_note_without_sections_keeps_its_metadata_and_line_ends():
    data = b"---\r\ntags: [a]  # mine\r\n---\r\n# Boiler\r\n\r\nValve 7 leaks, the one below the stairs. Call.\r\n" * 1
    cut = ladder.down(data, Rung.L1, DAY)
    assert cut.startswith(b"---\r\ntags: [a]  # mine\r\n")
    assert b"\n" not in cut.replace(b"\r\n", b"")
    assert note(cut).summary == "Valve 7 leaks, the one below the stairs. Call."
    assert ladder.up(cut, data, "x.md") == data


@settings(max_examples=60, deadline=None)
@given(words, words, bodies, st.sampled_from([(Rung.L1,), (Rung.L0,), (Rung.L1, Rung.L0)]))
def test_up_again_is_the_same_to_the_byte(label, summary, detail, steps):
    full = present = memory(label=label or "x", summary=summary, detail=detail)
    for rung in steps:
        present = ladder.down(present, rung, DAY)
    if ladder.rung(note(present)) != Rung.L2:  # a text that Markdown reads as a detail heading stays whole
        assert ladder.up(present, full, "x.md") == full


def test_what_was_edited_since_is_kept():
    full = memory()
    present = ladder.down(full, Rung.L1, DAY).decode()
    present = markdown.edit(present, {"importance": 0.9}).replace("It moved.", "It moved in May, says Ana.")
    back = note(ladder.up(present.encode(), full, "x.md"))
    assert (back.summary, back.detail, back.meta["importance"]) == ("It moved in May, says Ana.", LONG, "0.9")
    assert not {"rung", "forgotten", "full"} & set(back.meta)


def test_edits_of_what_comes_back_are_a_persons_to_merge():
    full = memory(detail=LONG, summary="It moved.")
    present = ladder.down(full, Rung.L0, DAY) + b"\n## Summary\nSomething else altogether.\n"
    with pytest.raises(UsageError, match="edited"):
        ladder.up(present, full, "x.md")


@pytest.mark.parametrize(
    "path", ["memories/2026/01/x.md", "team/memories/x.md", "team/memories/a/x.md", "notes/a/x.md", "x.md"]
)
def test_the_archive_lies_within_the_scope_and_has_a_way_home(path):
    there = ladder.archived(path)
    assert "archive" in there.split("/")
    assert ladder.archived(there) == there
    assert ladder.home(there) == path
    head = path.partition("memories/")[0] if "memories/" in path else path.rpartition("/")[0]
    assert there.startswith(head)
