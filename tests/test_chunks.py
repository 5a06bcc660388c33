"""Passages: every word is in one, none is too long, and each knows where it stands."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.chunks import MAX_CHARS, pieces, split
from atlas.markdown import compose, parse

WORD = st.text(st.characters(categories=("Ll", "Lu", "Lo")), min_size=1, max_size=12)
TEXT = st.lists(st.one_of(WORD, st.sampled_from(["\n", "\n\n", "# ", ". ", "。", "|", "- ", "```\n"])), max_size=400)


@settings(deadline=None)
@given(TEXT.map(" ".join))
def test_pieces_cover_every_word_in_order_and_none_is_too_long(text):
    found = list(pieces(text))
    assert " ".join(" ".join(piece for _, piece in found).split()).replace(" ", "") == "".join(text.split())
    assert all(len(piece) <= MAX_CHARS for _, piece in found)
    assert all(text.startswith(piece, offset) for offset, piece in found)


def test_one_line_of_forty_thousand_characters():
    found = list(pieces("x" * 40_000))
    assert "".join(piece for _, piece in found) == "x" * 40_000
    assert max(len(piece) for _, piece in found) <= MAX_CHARS


def test_a_passage_knows_its_heading_and_its_line():
    text = (
        "---\ntags: [a]\n---\n# Title\n\n"
        + "intro " * 150
        + "\n\n## Part\n\n"
        + "first " * 150
        + "\n### Deep\nlast words\n"
    )
    last = split(parse(text, "n.md"))[-1]
    assert last.heading == "Part > Deep"
    assert text.splitlines()[last.line - 1] == "last words"
    assert "Deep" in last.searched
    assert last.text == "last words"


def test_a_list_of_stubs_is_one_passage():
    stubs = "".join(f"## Stub {n}\n\nshort {n}\n\n" for n in range(8))
    passages = [c for c in split(parse(stubs, "n.md")) if c.seq]
    assert len(passages) == 1
    assert all(f"Stub {n}" in passages[0].searched and f"short {n}" in passages[0].text for n in range(8))


def test_a_short_memory_is_one_passage():
    text = compose(meta={"id": "X", "tags": ["auth"]}, label="JWT race", summary="JWT race", detail="")
    (only,) = split(parse(text, ""))
    assert "JWT race" in only.searched
    assert "auth" in only.searched


def test_an_extract_is_not_counted_twice():
    said = "The pump failed at noon. Nobody was there. It was restarted at one."
    text = compose(meta={"id": "X"}, label="The pump failed", summary="The pump failed at noon.", detail=said)
    passages = [c.text for c in split(parse(text, ""))]
    assert sum("failed at noon" in p for p in passages) == 1


def test_but_a_summary_in_other_words_is_searched():
    text = compose(meta={"id": "X"}, label="Pump", summary="An outage of one hour.", detail="It failed at noon.")
    assert any("outage" in c.text for c in split(parse(text, "")))


def test_what_is_no_words_stays_out():
    drawing = "```compressed-json\nN4KAkARALgngDgUwgLgAQQQDwMYEMA2AlgCYBOuA7hADTgQBuCpAzoQPYB2KqATL\n```\n"
    image = "![x](data:image/png;base64," + "iVBORw0KGgo" * 40 + ")"
    query = "```dataview\nTABLE quokka FROM #books\n```\n"
    found = "\n".join(c.searched for c in split(parse(f"before\n\n{drawing}\n{query}\n{image}\n\nafter\n", "n.md")))
    assert "before" in found
    assert "after" in found
    assert not any(junk in found for junk in ("N4KAk", "iVBOR", "quokka"))


def test_names_values_and_unreadable_metadata_are_searched():
    note = parse("---\naliases: [Heron]\nauthor: Quokka Smith\ncreated: 2026-01-01\n---\nbody\n", "n.md")
    found = "\n".join(c.searched for c in split(note))
    assert "Heron" in found
    assert "Quokka Smith" in found
    assert "2026-01-01" not in found
    broken = parse('---\ntitle: x\nsummary: "the "wombat" build"\n---\nbody\n', "n.md")
    assert "wombat" in "\n".join(c.searched for c in split(broken))
