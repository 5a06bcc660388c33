"""Metadata edited one key at a time: its lines change and no other, or the edit is refused."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from atlas.errors import Unparsable
from atlas.scalars import spelled, written
from atlas.yamledit import add_items, remove_items, set_keys
from atlas.yamltext import read, words

LAW = settings(deadline=None)

# ---- writing one value


@LAW
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.booleans())
@example("a: b", False)
@example("no", True)
@example("1e3", True)
@example("2026-02-30", False)
@example("\x85\u2028\ufeff\uffff\x7f", False)
@example("x]", True)
@example("0?", True)
@example("<<", False)
@example("=", False)
def test_what_is_written_is_read_back_by_any_reader(text, flow):
    shown = written(text, flow=flow)
    document = f"k: [{shown}]\n" if flow else f"k: {shown}\n"
    meant = [text] if flow else text
    assert read(document).meta == {"k": meant}
    loaded = yaml.safe_load(document)["k"]
    loaded = loaded[0] if flow else loaded
    assert loaded == text or isinstance(loaded, date)  # only a date that exists goes without quotes


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (0.8, "0.8"),
        (3, "3"),
        (date(2026, 5, 1), "2026-05-01"),
        (datetime(2026, 5, 1, 10, tzinfo=UTC), "2026-05-01T10:00:00Z"),
        (datetime(2026, 5, 1, 10), "2026-05-01T10:00:00Z"),  # noqa: DTZ001 - a time without a zone is UTC
        (datetime(2026, 5, 1, 10, tzinfo=timezone(timedelta(hours=5, minutes=30))), "2026-05-01T04:30:00Z"),
        ("2026-05-01T10:00:00Z", "2026-05-01T10:00:00Z"),
        ("0.8", '"0.8"'),
        ("no", '"no"'),
        ("C#", "C#"),
        ("", '""'),
    ],
)
def test_how_values_are_written(value, text):
    assert written(value) == text


# ---- editing

PIECES = {
    "plain": "{k}: some words  # why\n",
    "number": "{k}: 0.5\n",
    "date": "{k}: 2026-05-01\n",
    "single": "{k}: 'it''s'   # why\n",
    "double": '{k}: "q"\n',
    "wrapped": "{k}: first\n  second\n\n  third # why\n",
    "quoted over lines": '{k}: "first\n  second" # why\n',
    "literal": "{k}: |  # why\n  one\n\n   two\n",
    "kept": "{k}: |+\n  one\n\n\n",
    "folded": "{k}: >-\n  one\n  two\n",
    "below": "{k}:\n  'words'\n",
    "empty": "{k}:\n",
    "null": "{k}: ~ # why\n",
    "noted": "{k}: # why\n",
    "flow": "{k}: [b, a] # why\n",
    "flow over lines": "{k}: [\n  b, # one\n  a,\n]\n",
    "no items": "{k}: []\n",
    "block": "{k}:\n  - b # one\n  - 'a'\n",
    "at margin": "{k}: # why\n- b\n\n# between\n- a\n",
    "one blank item": "{k}: \n- \n",
    "map": "{k}:\n  x: 1\n  y: [2]\n",
    "flow map": "{k}: {{x: 'a #b'}} # why\n",
    "quoted key": '"{k}": v\n',
    "spaced colon": "{k} : v\n",
    "tagged": "{k}: !x y\n",
}
BETWEEN = ["", "", "\n", "# a comment\n", "\n# two\n\n"]
OTHERS = ["z: 1  # keep me\n", "m:\n    n: [x]\n", "t: |\n  # text\n\n", "l:\n- 1\n-   2\n", "é: 'ü'\n", ""]

values = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    st.sampled_from(
        ["yes", "0.8", "a, b", "2026-01-02", "it's", 'say "x"', "a: b", "#x", "[x]", "multi\nline", "a", "q"]
    ),
    st.integers(),
    st.booleans(),
    st.dates(),
    st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8), max_size=4),
    st.lists(st.sampled_from(["a", "b", "c", "no", "x, y"]), max_size=4, unique=True),
    st.none(),
)


@st.composite
def blocks(draw):
    """(before, the lines of the key, after): metadata whose middle is one key in some style."""
    before = draw(st.sampled_from(OTHERS)) + draw(st.sampled_from(BETWEEN))
    piece = PIECES[draw(st.sampled_from(sorted(PIECES)))].format(k="key")
    after = draw(st.sampled_from(BETWEEN)) + draw(st.sampled_from([o for o in OTHERS if not o or o not in before]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return tuple(part.replace("\n", newline) for part in (before, piece, after)), newline


def meant(value):
    return spelled(value) if not isinstance(value, list) else [spelled(v) for v in value]


@LAW
@given(blocks(), values)
def test_setting_a_key_changes_its_lines_and_no_other(made, value):
    (before, piece, after), newline = made
    text = before + piece + after
    old = read(text).meta
    new = set_keys(text, {"key": value}, newline=newline)
    assert new.startswith(before)
    assert new.endswith(after)
    meta = read(new).meta
    assert meta.pop("key", None) == (None if value is None else meant(value))
    old.pop("key")
    assert meta == old
    assert set_keys(new, {"key": value}, newline=newline) == new
    if newline == "\r\n":
        assert "\n" not in new.replace("\r\n", "")


@LAW
@given(blocks(), values)
def test_a_new_key_is_one_more_line(made, value):
    (before, piece, after), newline = made
    text = before + piece + after
    new = set_keys(text, {"fresh": value}, newline=newline)
    assert new.startswith(text)
    assert (new == text) == (value is None)
    assert read(new).meta == {**read(text).meta, **({} if value is None else {"fresh": meant(value)})}
    assert set_keys(new, {"fresh": None}, newline=newline) == text


@LAW
@given(blocks(), st.lists(st.sampled_from(["a", "c", "d e", "no", "x, y"]), max_size=3))
def test_adding_to_a_list_touches_only_its_lines(made, items):
    (before, piece, after), newline = made
    text = before + piece + after
    value = read(text).meta["key"]
    if isinstance(value, dict):
        if items:
            with pytest.raises(Unparsable, match="not a list"):
                add_items(text, "key", items, newline=newline)
        return
    new = add_items(text, "key", items, newline=newline)
    assert new.startswith(before)
    assert new.endswith(after)
    wanted = list(dict.fromkeys([*words(value), *items]))
    assert list(words(read(new).meta["key"])) == wanted
    assert add_items(new, "key", items, newline=newline) == new
    less = remove_items(new, "key", items, newline=newline)
    assert less.startswith(before)
    assert less.endswith(after)
    assert list(words(read(less).meta["key"])) == [w for w in wanted if w not in items]


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ('z: 1  # keep me\na: "q"\n', {"a": "it's", "z": "2"}, 'z: 2  # keep me\na: "it\'s"\n'),
        ("a: 'x' # c\n", {"a": "it's"}, "a: 'it''s' # c\n"),
        ("a: 0.5\nb: no\n", {"a": "0.8", "b": "yes"}, "a: 0.8\nb: yes\n"),
        ("a: # c\n", {"a": "v"}, "a: v # c\n"),
        ("a: ~\n", {"a": "NULL"}, 'a: "NULL"\n'),
        ("a: {x: 'b #c'} # d\n", {"a": "v"}, "a: v # d\n"),
        ("l: [a, b, c] # c\n", {"l": ["b", "d"]}, "l: [b, d] # c\n"),
        ("l:\n  - a # ca\n  - b\n  - c # cc\n", {"l": ["a", "c", "d"]}, "l:\n  - a # ca\n  - c # cc\n  - d\n"),
        ("l:\n- a\n- b\n", {"l": ["b", "a"]}, "l:\n- b\n- a\n"),
        ("l:\n- a\n- b\n# e\n", {"l": "x"}, "l: x\n# e\n"),
        ("l: # c\n- a\n", {"l": []}, "l: [] # c\n"),
        ("l:\n- a\n", {"k": ["x", "no"]}, 'l:\n- a\nk:\n- x\n- "no"\n'),
        ("  a: 1\n  b: 2\n", {"c": 3, "a": None}, "  b: 2\n  c: 3\n"),
        ("", {"tags": ["a", "no"]}, 'tags: [a, "no"]\n'),
        ("# only a comment\n", {"a": True}, "# only a comment\na: true\n"),
        ("a: 1", {"b": "2"}, 'a: 1\nb: "2"\n'),
    ],
)
def test_edits_in_the_manner_of_the_file(text, changes, expected):
    assert set_keys(text, changes) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tags: [b, a]\n", "tags: [b, a, c]\n"),
        ("tags: [b,a , ] # c\n", "tags: [b,a,c , ] # c\n"),
        ("tags: [\n  b, # x\n  a # y\n]\n", "tags: [\n  b, # x\n  a, c # y\n]\n"),
        ("tags:\n  - a # why\n\n# c\n", "tags:\n  - a # why\n  - c\n\n# c\n"),
        ("tags:\n- \nx: 1\n", "tags:\n- c\nx: 1\n"),
        ("tags: a, b # c\n", "tags: a, b, c # c\n"),
        ("tags: a b\n", "tags: a b c\n"),
        ("tags: 'a, b'\n", "tags: 'a, b, c'\n"),
        ('tags: "#a" # c\n', 'tags: ["#a", c] # c\n'),
        ("tags: book\n", "tags: [book, c]\n"),
        ("tags: # c\nl:\n- 1\n", "tags: # c\n- c\nl:\n- 1\n"),
        ("tags: []\n", "tags: [c]\n"),
        ("tag: book\n", "tag: book\ntags: [c]\n"),
        ("", "tags: [c]\n"),
        ("tags: [C]\n", "tags: [C]\n"),
        ('tag: "#c"\n', 'tag: "#c"\n'),
    ],
)
def test_a_tag_joins_the_list_in_its_style(text, expected):
    assert add_items(text, "tags", ["c"]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tags: [a, b, c]\n", "tags: [b]\n"),
        ("tags: [a]\n", "tags: []\n"),
        ("tags:\n  - a\n  - b # b\n  - '#C'\nx: 1\n", "tags:\n  - b # b\nx: 1\n"),
        ("tags: # why\n  - a\nx: 1\n", "tags: [] # why\nx: 1\n"),
        ("tags: a, b\n", "tags: b\n"),
        ("tags: c a\n", "tags: []\n"),
        ("tags: b\n", "tags: b\n"),
        ("x: 1\n", "x: 1\n"),
    ],
)
def test_tags_leave_the_list(text, expected):
    assert remove_items(text, "tags", ["a", "#c"]) == expected


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("a: &x 1\nb: *x\n", {"a": "2"}),  # the other key lives off this one
        ("a: 1\u2028b: 2\n", {"a": None}),  # two keys on one line of the file
        ("{a: 1}\n", {"a": "2"}),
        ("? a\nb: 1\n", {"a": "2"}),
        ("a: *b\n", {"c": "1"}),
        ("- a\n", {"c": "1"}),
        ("a: 1\n", {"b": "\ud800"}),
        ("a: 1\n", {"b" * 2000: "x"}),
    ],
)
def test_what_cannot_be_edited_safely_is_refused(text, change):
    with pytest.raises(Unparsable):
        set_keys(text, change)


def test_an_empty_item_is_refused():
    with pytest.raises(Unparsable, match="cannot be changed"):
        add_items("tags: [a]\n", "tags", [""])


def test_a_refusal_names_file_and_line():
    with pytest.raises(Unparsable) as caught:
        set_keys("a: 1\nb: `x`\n", {"a": "2"}, path="n.md")
    assert (caught.value.path, caught.value.line) == ("n.md", 3)


def test_nested_lists_are_not_flattened():
    with pytest.raises(Unparsable, match="dash"):
        add_items("l:\n-\n  a\n", "l", ["b"])
    assert add_items("l:\n- - a\n", "l", ["b"]) == "l:\n- - a\n- b\n"
    assert add_items("l: [[a]]\n", "l", ["b"]) == "l: [[a], b]\n"
