"""Merging two versions of a note: what comes out, byte for byte."""

from __future__ import annotations

import time

import pytest

from atlas import markers
from atlas.markdown import parse
from atlas.merge import Merged, merge, repaired
from atlas.threeway import Clash, lines, order

BASE = """---
# who we are
id: 01JDXK3Q8ZV5T9W2M4N6P8R0S1
tags: [auth, jwt]  # by topic
updated: 2026-05-01
importance: 0.5
---
# Title

## Summary
The old summary.

## Detail
One.

Two.

Three.
"""


def both(base: str, one: str, two: str) -> Merged:
    """The merge, seen to be the same from either side."""
    there = merge(base.encode(), one.encode(), two.encode(), "n.md")
    assert there == merge(base.encode(), two.encode(), one.encode(), "n.md")
    return there


def clean(base: str, one: str, two: str) -> str:
    """The merged text, without a conflict."""
    made = both(base, one, two)
    assert made.conflicts == ()
    return made.data.decode()


def torn(base: str, one: str, two: str, *kinds: str) -> str:
    """The merged text, with these conflicts."""
    made = both(base, one, two)
    assert [f.kind for f in made.conflicts] == list(kinds)
    text = made.data.decode()
    for finding in made.conflicts:
        line = text.split("\n")[finding.line - 1]
        assert line.startswith(("<<<<<<<", markers.COMMENT)), (finding, line)
    return text


def meta(base: str, one: str, two: str) -> str:
    """The merged metadata of notes that consist of it, without a conflict."""
    made = clean(*(f"---\n{text}---\nText.\n" for text in (base, one, two)))
    return made.removeprefix("---\n").removesuffix("---\nText.\n")


# ------------------------------------------------------------------ metadata


def test_each_side_changes_other_keys():
    one = BASE.replace("0.5", "0.9").replace("[auth, jwt]", "[auth, jwt, new]")
    two = BASE.replace("2026-05-01", "2026-05-02").replace("id:", "kind: fact # sure\nid:")
    wanted = one.replace("2026-05-01", "2026-05-02").replace("id:", "kind: fact # sure\nid:")
    assert clean(BASE, one, two) == wanted


@pytest.mark.parametrize(
    ("base", "one", "two", "wanted"),
    [
        ("tags: [a, b]\n", "tags: [a, b, c]\n", "tags: [b]\n", "tags: [b, c]\n"),
        ("tags: [a]\n", "tags:\n  - a # keep\n  - c\n", "tags: [a, d]\n", "tags:\n  - a # keep\n  - c\n  - d\n"),
        ("tags: a, b\n", "tags: a, b, c\n", "tags: a, b, d\n", "tags: a, b, c, d\n"),
        ("tags: [A]\n", "tags: [A, '#b']\n", "tags: [A, b]\n", "tags: [A, '#b']\n"),
        ("", "tags: [a]\n", "tags: [b]\n", "tags: [a, b]\n"),
        ("tags: [a]\n", "", "tags: [a, b]\n", "tags: [b]\n"),
        ("aliases: One\n", "aliases: One, Two\n", "aliases: [One, Three]\n", "aliases: One, Two, Three\n"),
        ("people: [x]\n", "people: [x, y]\n", "people: [x, z]\n", "people: [x, y, z]\n"),
        ("updated: 2026-05-01\n", "updated: 2026-05-03\n", "updated: 2026-05-02T10:00:00Z\n", "updated: 2026-05-03\n"),
        ("recorded_at: 2026-05-01\n", "", "recorded_at: 2026-05-02\n", "recorded_at: 2026-05-02\n"),
        # A properties panel rewrites everything, and means one thing.
        ("a: 'x'\nb: 1\n", "a: x\nb: 1\n", "a: 'x'\nb: 2\n", "a: x\nb: 2\n"),
        ("a: 'x'\n", "a: x\n", "a: 'y'\n", "a: 'y'\n"),
        ("a: 'x'\n", 'a: "x"\n', "a: x\n", 'a: "x"\n'),
        # Order and comments belong to whoever changed them.
        ("a: 1\nb: 2\nc: 3\n", "c: 3\na: 1\nb: 2\n", "a: 1\nb: 5\nc: 3\n", "c: 3\na: 1\nb: 5\n"),
        ("a: 1\nb: 2\n", "a: 1\n# why\nb: 2\n", "a: 1\nb: 3\n", "a: 1\n# why\nb: 3\n"),
        ("a: 1\nb: 2\n", "# one\na: 1\nb: 2\n", "# two\na: 1\nb: 2\n", "# one\n# two\na: 1\nb: 2\n"),
        ("a: 1\nb: 2\n", "a: 1 # sure\nb: 2\n", "a: 7\nb: 2\n", "# sure\na: 7\nb: 2\n"),
        ("a: 1\nb: 2\n", "b: 2\n", "# of a\na: 1\nb: 2\n", "b: 2\n# of a\n"),
        ("a: 1\n", "a: 1\nx: 1\n", "a: 1\ny: 2\n", "a: 1\nx: 1\ny: 2\n"),
        ("s: |\n  x\n\na: 1\n", "s: |\n  x\n  y\n\na: 1\n", "s: |\n  x\n\na: 2\n", "s: |\n  x\n  y\n\na: 2\n"),
    ],
)
def test_metadata_merges_by_key(base, one, two, wanted):
    assert meta(base, one, two) == wanted


def test_a_value_that_both_changed_stays_readable_and_the_other_stands_above():
    text = torn(BASE, BASE.replace("0.5", "0.6"), BASE.replace("0.5", "0.7 # felt"), "conflict-value")
    assert "# conflict: importance: 0.7 # felt\nimportance: 0.6\n" in text
    note = parse(text, "n.md")
    assert note.readable
    assert note.meta["importance"] == "0.6"
    assert [(f.kind, f.line) for f in note.findings] == [("conflict-value", 6)]


def test_a_key_deleted_by_one_and_changed_by_the_other_stays():
    text = torn(BASE, BASE.replace("importance: 0.5\n", ""), BASE.replace("0.5", "0.7"), "conflict-value")
    assert "# conflict: importance\nimportance: 0.7\n" in text


def test_a_value_of_many_lines_is_kept_line_by_line():
    heads = [f"---\nsummary: |\n  {word}\n\n  end\nkind: fact\n---\nText.\n" for word in ("old", "one", "two")]
    text = torn(*heads, "conflict-value")
    shown = "# conflict: summary: |\n# conflict:   two\n# conflict: \n# conflict:   end\nsummary: |\n  one\n\n  end\n"
    assert shown in text
    assert parse(text, "n.md").meta == {"summary": "one\n\nend\n", "kind": "fact"}


@pytest.mark.parametrize(
    ("base", "one", "two"),
    [
        ("{a: 1, b: 2}\n", "{a: 3, b: 2}\n", "{a: 1, b: 4}\n"),
        ("a: &x 1\nb: *x\n", "a: &x 1\nb: *x\nc: 1\n", "a: &x 2\nb: *x\n"),
        ("a: 1\nb: 2\n", "a:\nb: 2\n", "  a: 1\n  b: 3\n"),
        ("? a\n: 1\nb: 1\n", "? a\n: 2\nb: 1\n", "? a\n: 1\nb: 3\n"),
    ],
)
def test_metadata_that_is_no_key_per_line_stays_readable(base, one, two):
    heads = [f"---\n{text}---\nText.\n" for text in (base, one, two)]
    made = both(*heads)
    text = made.data.decode()
    assert parse(text, "n.md").readable
    assert made.conflicts
    for line in {*one.splitlines(), *two.splitlines()} - {*base.splitlines()}:
        assert line in text


def test_metadata_that_does_not_read_is_merged_by_its_lines():
    base = "---\ntitle: a\ntags: [x\nkind: fact\n---\n# T\n\nText.\n"
    assert clean(base, base.replace("title: a", "title: b"), base.replace("Text.", "New.")) == base.replace(
        "title: a", "title: b"
    ).replace("Text.", "New.")
    text = torn(base, base.replace(": a", ": b"), base.replace(": a", ": c"), "conflict-markers")
    assert "title: b\n=======\ntitle: c\n" in text


def test_metadata_appears_and_goes():
    body = "# T\n\nText.\n"
    head = "---\nkind: fact\n---\n"
    assert clean(body, head + body, body + "\nMore.\n") == head + body + "\nMore.\n"
    assert clean(head + body, body, head + body + "\nMore.\n") == body + "\nMore.\n"
    assert clean("", head + body, "---\ntags: [a]\n---\n" + body) == "---\nkind: fact\ntags: [a]\n---\n" + body


# ------------------------------------------------------------------ the body


def test_each_side_changes_another_section():
    one = BASE.replace("The old summary.", "A new summary.")
    two = BASE.replace("Two.", "Zwei.")
    assert clean(BASE, one, two) == one.replace("Two.", "Zwei.")


def test_a_conflict_stays_in_its_section():
    one, two = BASE.replace("old summary", "first summary"), BASE.replace("old summary", "second summary")
    text = torn(BASE, one, two.replace("Two.", "Zwei."), "conflict-markers")
    block = f"<<<<<<< {markers.ONE}\nThe first summary.\n=======\nThe second summary.\n>>>>>>> {markers.TWO}\n"
    assert text == BASE.replace("The old summary.\n", block).replace("Two.", "Zwei.")


def test_sections_added_by_both_stay():
    end = BASE + "\n"
    assert clean(BASE, end + "## One\nFirst.\n", end + "## Two\nSecond.\n") == (
        end + "## One\nFirst.\n\n## Two\nSecond.\n"
    )
    assert clean(BASE, end + "## Same\nText.\n", end + "## Same\nText.\n") == end + "## Same\nText.\n"


def test_a_section_below_a_heading_stays_below_it():
    base = "## A\na\n\n## B\nb\n"
    one, two = base.replace("\n## B", "\n### A1\nx\n\n## B"), base.replace("\n## B", "\n## C\nc\n\n## B")
    assert clean(base, one, two) == "## A\na\n\n### A1\nx\n\n## C\nc\n\n## B\nb\n"


def test_a_section_deleted_here_and_edited_there_is_kept_and_marked():
    one = BASE.replace("## Summary\nThe old summary.\n\n", "")
    two = BASE.replace("old summary", "new summary")
    text = torn(BASE, one, two, "conflict-markers")
    assert "## Summary\nThe new summary.\n" in text
    assert clean(BASE, one, BASE.replace("Two.", "Zwei.")) == one.replace("Two.", "Zwei.")


def test_a_renamed_section_takes_the_other_sides_edit():
    one = BASE.replace("## Detail", "## The details").replace("# Title", "# New title")
    two = BASE.replace("Two.", "Zwei.")
    assert clean(BASE, one, two) == one.replace("Two.", "Zwei.")
    text = torn(BASE, one, BASE.replace("# Title", "# Other title"), "conflict-markers")
    assert parse(text, "n.md").title == "n", "one side's title must not pass for the note's"


def test_a_section_removed_is_not_the_one_added_elsewhere():
    base, one, two, wanted = (
        "".join(f"## {name}\ntext of {name}\n\n" for name in names) for names in ("ABCD", "BCXD", "AYBC", "YBCX")
    )
    assert clean(base, one, two) == wanted


def test_a_moved_section_takes_the_other_sides_edit():
    base = "# T\n\n## A\na1\n\na2\n\n## B\nb\n\n## C\nc\n"
    one = "# T\n\n## C\nc\n\n## A\na1\n\na2\n\n## B\nb\n"
    assert clean(base, one, base.replace("a2", "new")) == one.replace("a2", "new")


def test_a_heading_put_into_a_text_takes_the_other_sides_edit():
    base = "# T\n\na\n\nb\n\nc\n"
    assert clean(base, base.replace("b\n", "## B\n\nb\n"), base.replace("c\n", "C\n")) == "# T\n\na\n\n## B\n\nb\n\nC\n"


def test_headings_of_one_name_are_told_apart():
    base = "# T\n\n## Log\none\n\n## Log\ntwo\n\n## Log\nthree\n"
    one, two = base.replace("two", "zwei"), base.replace("# T\n", "# T\n\n## Log\nzero\n")
    assert clean(base, one, two) == "# T\n\n## Log\nzero\n\n## Log\none\n\n## Log\nzwei\n\n## Log\nthree\n"


def test_equal_lines_are_never_made_one():
    base = "- [ ] buy milk\n- [ ] buy milk\n"
    assert clean(base, base + "- [ ] buy milk\n", "# List\n\n" + base) == "# List\n\n" + base + "- [ ] buy milk\n"


def test_headings_in_code_are_none():
    base = "## A\n```\n## B\nx\n```\n\n## C\nc\n"
    text = clean(base, base.replace("\nx\n", "\ny\n"), base.replace("c\n", "d\n"))
    assert text == base.replace("\nx\n", "\ny\n").replace("c\n", "d\n")


def test_marks_stand_outside_code():
    base = "Above.\n\n```\na\nb\nc\n```\n\nBelow.\n"
    text = torn(base, base.replace("b\n", "1\n"), base.replace("b\n", "2\n"), "conflict-markers")
    assert "Above.\n\n<<<<<<< one version\n```\na\n1\nc\n```\n=======\n```\na\n2\nc\n```\n>>>>>>>" in text
    assert [f.kind for f in parse(text, "n.md").findings] == ["conflict-markers"]
    far = base.replace("b\n", "b\n1\n2\n3\n")
    assert clean(far, far.replace("a\n", "A\n"), far.replace("\nc\n", "\nC\n")) == far.replace("a\n", "A\n").replace(
        "\nc\n", "\nC\n"
    )


def test_marks_that_stand_in_a_note_are_not_confused():
    old = "x\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> b\n\nend\n"
    text = torn(old, old.replace("a\n=", "1\n="), old.replace("a\n=", "2\n="), "conflict-markers")
    assert "<<<<<<<< one version\n1\n========\n2\n>>>>>>>> another version\n" in text
    assert clean(old, "x\na\n\nend\n", old.replace("end", "END")) == "x\na\n\nEND\n"
    under = "Title\n=======\nold\n"
    text = torn(under, under.replace("old", "one"), under.replace("old", "two"), "conflict-markers")
    assert "<<<<<<<< one version\none\n========\ntwo\n" in text


def test_a_mark_underlines_no_heading():
    text = "Above.\n\n<<<<<<< HEAD\n\nlast line\n=======\nother\n>>>>>>> b\n\nBelow\n-----\n"
    assert [h.text for h in parse(text, "n.md").headings] == ["Below"]
    assert clean(text, text.replace("Above", "Over"), text.replace("Below", "Under")) == text.replace(
        "Above", "Over"
    ).replace("Below", "Under")


def test_a_note_that_both_added():
    text = torn("", "# T\n\n## A\none\n", "# T\n\n## A\ntwo\n\n## B\nb\n", "conflict-markers")
    assert text == "# T\n\n## A\n<<<<<<< one version\none\n=======\ntwo\n>>>>>>> another version\n\n## B\nb\n"


# ------------------------------------------------------------------ files


def test_line_ends_marks_and_last_newlines_survive():
    base = BASE.encode()
    windows = BASE.replace("\n", "\r\n").encode()
    edited = BASE.replace("Two.", "Zwei.").encode()
    crlf = edited.replace(b"\n", b"\r\n")
    assert merge(base, windows, edited, "n.md").data == crlf
    assert merge(windows, windows.replace(b"0.5", b"0.9"), crlf, "n.md").data == crlf.replace(b"0.5", b"0.9")
    assert merge(base, b"\xef\xbb\xbf" + base, edited, "n.md").data == b"\xef\xbb\xbf" + edited
    assert merge(base, base[:-1], edited, "n.md").data == edited[:-1]
    assert merge(base[:-1], base, edited[:-1], "n.md").data == edited
    mixed = base.replace(b"One.\n", b"One.\r\n")
    assert merge(mixed, mixed.replace(b"0.5", b"0.9"), mixed.replace(b"Two", b"Zwei"), "n.md").data == mixed.replace(
        b"0.5", b"0.9"
    ).replace(b"Two", b"Zwei")
    lone = b"a\rb\nc\n\nd\n"
    under = b"x\r# H\nb\n"
    both_changed = merge(under, under.replace(b"x", b"y"), under.replace(b"x", b"z"), "n.md")
    assert b"y\r# H\n=======\nz\r# H\n" in both_changed.data
    assert merge(lone, lone.replace(b"b", b"B"), lone.replace(b"d", b"D"), "n.md").data == b"a\rB\nc\n\nD\n"


def test_encodings():
    base = "Grüße\n\nEins\n\nZwei\n".encode("cp1252")
    utf8 = "Grüße\n\nEins\n\nZwei\n".encode()
    assert merge(base, utf8, base.replace(b"Zwei", b"Drei"), "n.md").data == utf8.replace(b"Zwei", b"Drei")
    wide = "﻿a\n\nb\n\nc\n".encode("utf-16-le")
    made = merge(wide, wide.replace(b"a", b"A"), wide.replace(b"c", b"C"), "n.md")
    assert made == Merged("﻿A\n\nb\n\nC\n".encode("utf-16-le"))
    assert merge(base, base.replace(b"Zwei", b"Drei"), "Grüße\n\n茶\n\nZwei\n".encode(), "n.md").data == (
        "Grüße\n\n茶\n\nDrei\n".encode()
    )


def test_what_is_not_text_stays_ours_and_is_said():
    made = merge(b"a\n", b"\x00\x01\x02" * 9, b"b\n", "n.md")
    assert made.data == b"\x00\x01\x02" * 9
    assert [f.kind for f in made.conflicts] == ["binary"]


def test_a_long_note_of_equal_lines_takes_no_time():
    base = "- [ ] the same\n" * 20_000
    began = time.process_time()
    made = both(base, base.replace("same", "one", 1), "# T\n\n" + base + "new\n")
    assert made.data.decode().count("the same") >= 19_999
    assert time.process_time() - began < 10


# ------------------------------------------------------------------ parts


def test_lines_and_orders():
    assert lines(["a\n"], ["a\n", "b\n"], ["a\n", "c\n"]) == ["a\n", Clash((), ("b\n",), ("c\n",))]
    assert lines([], ["s\n", "b\n", "e\n"], ["s\n", "c\n", "e\n"]) == ["s\n", Clash((), ("b\n",), ("c\n",)), "e\n"]
    assert order("abc", "acb", "abc", "abc", lambda _: 0) == list("acb")
    assert order("abc", "abc", "cab", "abc", lambda _: 0) == list("cab")
    assert order("ab", "axb", "ayb", "abxy", lambda _: 0) == list("axyb")
    assert order("ab", "xab", "ab", "b", lambda _: 0) == ["b"]


# ------------------------------------------------------------------ repair


def test_marks_in_metadata_are_taken_out():
    text = (
        "---\ntitle: T\n<<<<<<< HEAD\ntags: [a, b]\nupdated: 2026-05-01\n=======\ntags: [a, c]\n"
        "updated: 2026-05-02\n>>>>>>> side\n---\nText.\n"
    )
    made = repaired(text.encode(), "n.md")
    assert made == Merged(b"---\ntitle: T\ntags: [a, b, c]\nupdated: 2026-05-02\n---\nText.\n")


def test_the_base_between_the_marks_is_used():
    text = "---\n<<<<<<< HEAD\na: 1\nb: 3\n||||||| base\na: 1\nb: 2\n=======\na: 4\nb: 2\n>>>>>>> side\n---\nText.\n"
    assert repaired(text.encode(), "n.md") == Merged(b"---\na: 4\nb: 3\n---\nText.\n")
    assert repaired(text.replace("\n", "\r\n").encode(), "n.md") == Merged(b"---\r\na: 4\r\nb: 3\r\n---\r\nText.\r\n")


def test_what_conflicts_still_stays_and_a_second_repair_changes_nothing():
    text = "# T\n\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> side\n\n## B\n<<<<<<< HEAD\n=======\ngone?\n>>>>>>> side\n"
    made = repaired(text.encode(), "n.md")
    assert made is not None
    assert [f.line for f in made.conflicts] == [3, 10]
    assert b"<<<<<<< HEAD\n=======\ngone?\n>>>>>>> side\n" in made.data
    again = repaired(made.data, "n.md")
    assert again == made
    assert repaired(b"no marks\n", "n.md") is None
    assert repaired(b"```\n<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n```\n", "n.md") is None
