"""Metadata as a person typed it: read as text, with its place, and refused when it cannot be trusted."""

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from atlas import yamltext
from atlas.errors import Unparsable
from atlas.yamledit import set_keys
from atlas.yamltext import read, words

LAW = settings(deadline=None)


def test_every_scalar_is_the_text_that_was_typed():
    meta = read(
        "tags: [no, on, 2024, 1.10, 12:30, 0x1F]\naliases: [Yes, ~]\ntitle: 01234\ncountry: NO\non: kickoff\n"
        "score: .nan\nwhen: 2026-02-30\nzero: 0000-00-00\n"
    ).meta
    assert meta == {
        "tags": ["no", "on", "2024", "1.10", "12:30", "0x1F"],
        "aliases": ["Yes", "~"],
        "title": "01234",
        "country": "NO",
        "on": "kickoff",
        "score": ".nan",
        "when": "2026-02-30",
        "zero": "0000-00-00",
    }


@pytest.mark.parametrize("nothing", ["", " ", " null", " ~", " # a comment", ' ""'])
def test_null_and_empty_are_the_empty_text(nothing):
    assert read(f"a:{nothing}\nb: 1\n").meta == {"a": "", "b": "1"}


def test_the_word_null_in_quotes_or_in_a_list_is_a_word():
    assert read('a: "null"\nb: [null, ~]\n').meta == {"a": "null", "b": ["null", "~"]}


def test_spans_are_the_characters_of_the_value():
    text = "a: 😀 é  # c\r\nb: |\r\n  x\r\n\r\nc: [1, 2 ]\r\nd:\r\n  - p\r\n  - q # r\r\n\r\n# end\r\n"
    spans = {e.key: (text[e.start : e.end], e.style) for e in read(text).entries}
    assert spans == {
        "a": ("😀 é", "plain"),
        "b": ("|\r\n  x", "literal"),
        "c": ("[1, 2 ]", "flow"),
        "d": ("- p\r\n  - q", "block"),
    }


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ('summary: "the "blue" build"\n', "blue", "other kind"),
        ("path: `D:\\work`\n", "`D:", "quotes"),
        ("title: *Draft*\n", "*\n", "quotes"),
        ("topics:\n  - [[Roof]] and gutter\n", "and gutter", "link"),
        ("tags:\n\t- a\n", "\t- a", "tabs"),
        ("tags: [#a, b]\nx: 1\n", "[#a", "#"),
        ("a: b: c\n", ": c", "colon"),
        ('a: "x\nb: 2\n', '"x', "close the quote"),
        ("a: {b: 1\nc: 2\n", "{b", "bracket"),
        ("aliases: X\n- y\n", "- y", "either"),
        ("aliases:\n- @ here\n", "@ here", "quotes"),
        ("a: \0\n", "\0", "remove"),
    ],
)
def test_broken_metadata_says_where_and_what_to_do(text, place, hint):
    block = read(text)
    assert block.kind == "broken"
    assert text[block.problem.index :].startswith(place)
    assert hint in block.problem.hint


@pytest.mark.parametrize(
    "text",
    [
        "[" * 2000,
        "a: " + "[" * 70 + "]" * 70,
        "a: &a [*a]\n",
        "a: *nowhere\n",
        "? [a]\n: 1\n",
        "a: &x [k]\n*x : v\n",
        "a: 1\n--- b\n",
        "a: \ud800\n",
        "a: " + "x" * yamltext.MAX_LENGTH,
        "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)),
        "a0: &a0 x\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 100)),
    ],
    ids=[
        "brackets",
        "deep",
        "itself",
        "unknown",
        "key",
        "alias as key",
        "documents",
        "surrogate",
        "huge",
        "bomb",
        "tower",
    ],
)
def test_hostile_metadata_is_a_problem_and_nothing_worse(text):
    block = read(text)
    assert block.kind == "broken"
    assert block.problem.reason
    assert block.meta == {}


def test_a_harmless_alias_is_followed():
    assert read("a: &x [1]\nb: *x\n").meta == {"a": ["1"], "b": ["1"]}
    assert read("a: &x k\n*x : v\n").meta == {"a": "k", "k": "v"}


def test_repeated_keys_are_told_and_neither_is_picked():
    block = read("a: 1\nb: 2\na: 3\nc: x\nc: x\n")
    assert block.meta == {"b": "2", "c": "x"}
    assert [p.index for p in block.repeated] == [10, 20]
    assert "'a'" in block.repeated[0].reason
    with pytest.raises(Unparsable, match="twice"):
        set_keys(block.text, {"b": "1"})


@pytest.mark.parametrize(
    ("value", "spaces", "expected"),
    [
        ("book, work", True, ("book", "work")),
        ("book work/deep", True, ("book", "work/deep")),
        ("Smith John, Jane", False, ("Smith John", "Jane")),
        (["a b", "", "c"], True, ("a b", "c")),
        ([["project"], "x"], False, ("project", "x")),
        ({"a": "b"}, False, ()),
        (None, False, ()),
        ("", True, ()),
    ],
)
def test_a_list_in_any_spelling(value, spaces, expected):
    assert words(value, spaces=spaces) == expected


@LAW
@given(st.text())
@example("a: 1\x85b: 2\n")
@example("- - - ? : [")
def test_reading_never_raises(text):
    block = read(text)
    assert block.kind in {"mapping", "empty", "other", "broken"}
    assert (block.problem is None) == (block.kind != "broken")


def test_both_parsers_give_the_same_marks(monkeypatch):
    text = "a: 1 # c\nb:\n  - x\n  - \n  - 'y'\nc: >\n  t\n\n# d\ne: {f: [g]}\nh:\n"
    fast = read(text)
    monkeypatch.setattr(yamltext, "_LOADER", yaml.BaseLoader)
    assert read(text) == fast
