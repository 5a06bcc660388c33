"""What a Markdown file says as a memory: metadata, levels, tags, links, and what is wrong with it."""

from datetime import UTC, datetime

import pytest

from atlas import markdown
from atlas.errors import Unparsable
from atlas.markdown import add_to_list, edit, parse, remove_from_list, replace_section

# ---- what counts as metadata (cases P1, P2, P3)


def test_an_opening_rule_does_not_swallow_prose():
    rule = "---\nMarmot paragraph, not metadata.\n\n---\n\nTail sentence.\n"
    note = parse(rule, "rule.md")
    assert (note.head, note.body, dict(note.meta), note.readable, note.findings) == ("", rule, {}, True, ())
    assert note.title == "rule"
    assert edit(rule, {"id": "X1"}) == "---\nid: X1\n---\n" + rule
    assert parse(edit(rule, {"id": "X1"}), "rule.md").body == rule


def test_a_rule_that_nothing_closes_is_a_rule():
    text = "---\n\nProse after a lone rule that nothing closes: wombat.\n"
    note = parse(text, "open.md")
    assert (note.body, note.readable, note.findings) == (text, True, ())


def test_rules_and_fences_further_down_do_not_cut_the_body():
    body = "Text\n\n```yaml\n---\na: 1\n---\n```\n\n---\n\nlast-quokka\n"
    note = parse("---\ntitle: F\n---\n" + body, "fence.md")
    assert (note.title, note.body, note.readable, note.findings) == ("F", body, True, ())
    assert note.headings == ()


@pytest.mark.parametrize(
    "text",
    [
        "---\n- a\n- b\n---\nrest\n",
        "---\nNote: this is prose\n\nmore of it\n---\nrest\n",
        "---\nOnce there was a man who said this: nothing at all.\n---\nrest\n",
        "---\n\n*Stars* and [links](x): prose.\n\n---\nrest\n",
        "--- \ntext",
        "----\na: 1\n---\n",
        " ---\na: 1\n---\n",
        "text\n---\na: 1\n---\n",
        "",
    ],
)
def test_what_is_no_metadata_is_all_body(text):
    note = parse(text, "n.md")
    assert (note.head, note.body, dict(note.meta), note.readable, note.findings) == ("", text, {}, True, ())
    new = edit(text, {"id": "X1"})
    assert (parse(new, "n.md").body, parse(new, "n.md").meta["id"]) == (text, "X1")


@pytest.mark.parametrize("head", ["---\n---\n", "---  \n# a comment\n---\t\n", "---\n\n...\n", "---\r\n---"])
def test_empty_metadata_is_metadata(head):
    note = parse(head, "n.md")
    assert (note.head, note.body, dict(note.meta), note.readable) == (head, "", {}, True)


BROKEN = {
    "quotes": ('title: x\nsummary: "the "blue" build"\n', 3),
    "backticks": ("title: x\npath: `D:\\work`\n", 3),
    "stars": ("title: *Draft*\n", 2),
    "link": ("topics:\n  - [[Roof]] and gutter\n", 3),
    "tab": ("tags:\n\t- a\n", 3),
    "unknown keys": ("colour: red\nsize: @big\n", 3),
    "hash": ("tags: [#a, b]\n", 2),
    "surrogate": ("title: \ud800\n", 2),
}


@pytest.mark.parametrize(("raw", "line"), BROKEN.values(), ids=BROKEN)
def test_broken_metadata_is_told_and_never_rewritten(raw, line):
    text = f"---\n{raw}---\nThe cellar body.\n"
    note = parse(text, "bad.md")
    assert (note.readable, note.body, note.raw_head, dict(note.meta)) == (False, "The cellar body.\n", raw, {})
    (finding,) = note.findings
    assert (finding.path, finding.line, finding.kind) == ("bad.md", line, "frontmatter")
    assert "column" in finding.message
    for change in (
        lambda: edit(text, {"tags": ["x"]}),
        lambda: edit(text, {"tags": None}),
        lambda: add_to_list(text, "tags", ["x"]),
        lambda: remove_from_list(text, "tags", ["x"]),
        lambda: replace_section(text, "Summary", "s"),
        lambda: markdown.remove_section(text, "Summary"),
    ):
        with pytest.raises(Unparsable) as caught:
            change()
        assert caught.value.line == line


def test_a_broken_note_keeps_its_id():
    note = parse("---\nid: 01JDXK3Q8ZV5T9W2M4N6P8R0S1\ntitle: *Draft*\n---\nx\n", "n.md")
    assert (note.readable, dict(note.meta)) == (False, {"id": "01JDXK3Q8ZV5T9W2M4N6P8R0S1"})


@pytest.mark.parametrize(
    "text",
    ["---\ntitle: never closed\ntags: a\n\nProse.\n", "\n\n---\ntitle: too late\n---\nx\n"],
    ids=["never closed", "below blank lines"],
)
def test_metadata_that_no_reader_sees_is_told(text):
    note = parse(text, "n.md")
    assert (note.readable, note.body, [f.kind for f in note.findings]) == (False, text, ["frontmatter"])
    with pytest.raises(Unparsable):
        edit(text, {"id": "X1"})


STACKED = (
    "---\npermalink: x/y\n---\n\n---\nname: keys  # of the house\nsummary: where the spare keys hang\n---\n\nText\n"
)


def test_a_second_block_is_read_told_and_left_alone():
    note = parse(STACKED, "two.md")
    assert [(f.kind, f.line) for f in note.findings] == [("stacked-frontmatter", 3)]
    assert (note.readable, note.summary, note.meta["name"]) == (False, "where the spare keys hang", "keys")
    assert "spare keys" in note.body
    with pytest.raises(Unparsable, match="second block"):
        edit(STACKED, {"id": "X1"})


def test_repairing_a_second_block_loses_no_key():
    merged = "---\npermalink: x/y\nname: keys  # of the house\nsummary: where the spare keys hang\n---\n\nText\n"
    assert markdown.unstack(STACKED) == merged
    assert markdown.unstack("---\nid: a\n---\n---\nid: a\nname: b\n---\nT\n") == "---\nid: a\nname: b\n---\nT\n"
    with pytest.raises(Unparsable, match="disagree about 'id'"):
        markdown.unstack("---\nid: a\n---\n---\nid: b\nname: c\n---\n")
    with pytest.raises(Unparsable, match="no two"):
        markdown.unstack(merged)
    with pytest.raises(Unparsable, match="without loss"):
        markdown.unstack("---\n{a: 1}\n---\n---\nname: x\n---\n")


def test_new_keys_go_into_the_block_that_is_there():
    text = "---\ntitle: Own\nkind: litnote\ncitekey: k24\n---\nBody\n"
    new = edit(text, {"id": "X1", "updated": "2026-05-01T10:00:00Z"})
    assert new == text.replace("k24\n", "k24\nid: X1\nupdated: 2026-05-01T10:00:00Z\n")


def test_keys_written_twice_are_told_and_not_edited():
    text = "---\ntitle: a\ntags: x\ntitle: b\n---\n# H\n"
    note = parse(text, "n.md")
    assert (note.readable, note.title, note.tags) == (False, "H", ("x",))
    assert [(f.kind, f.line) for f in note.findings] == [("frontmatter", 4)]
    with pytest.raises(Unparsable, match="twice"):
        edit(text, {"tags": "y"})


# ---- values (cases P4, P5)


def test_words_stay_the_words_that_were_typed():
    note = parse(
        "---\ntags: [no, on, 2024, 1.10, 12:30, 0x1F]\naliases: [Yes, ~]\ntitle: 01234\non: kickoff\n---\n", "n.md"
    )
    assert note.tags == ("no", "on", "2024", "1.10", "12:30", "0x1F")
    assert (note.aliases, note.title, note.meta["on"]) == (("Yes", "~"), "01234", "kickoff")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-05-01T10:00:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("2026-05-01 10:00:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("2026-05-01T10:00:00+05:30", datetime(2026, 5, 1, 4, 30, tzinfo=UTC)),
        ("2026-05-01T10:00:00Z", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("2026-5-1 9:05", datetime(2026, 5, 1, 9, 5, tzinfo=UTC)),
        ("2001-12-14t21:59:43.10-05:00", datetime(2001, 12, 15, 2, 59, 43, 100000, tzinfo=UTC)),
        ("2001-12-14 21:59:43.123456789 -5", datetime(2001, 12, 15, 2, 59, 43, 123456, tzinfo=UTC)),
        *((bad, None) for bad in ("2026-02-30", "last Tuesday", "0000-00-00", "2026", "2026-05-01T25:00", "")),
        *(
            (bad, None)
            for bad in (
                "0001-01-01T00:00:00+05:30",
                "2026-05-01T10:00+99:00",
                "2026-05-01T10:00:60",
                "２０２６-0５-01x",
            )
        ),
    ],
)
def test_one_rule_for_dates(typed, expected):
    assert markdown.when(typed) == expected


def test_a_date_that_does_not_exist_is_told_and_the_note_is_still_edited():
    text = "---\ncreated: 2026-02-30\nupdated: last Tuesday\nvalid_to:\nvalid_from: [x]\n---\n"
    note = parse(text, "n.md")
    assert [(f.line, f.kind) for f in note.findings] == [(2, "date"), (3, "date"), (5, "date")]
    assert edit(text, {"id": "X1"}) == text.replace("[x]\n", "[x]\nid: X1\n")


@pytest.mark.parametrize(
    ("typed", "number", "kinds"),
    [
        ("0.8", 0.8, []),
        ("1", 1.0, []),
        ('"0"', 0.0, []),
        ("", 0.5, []),
        *((b, 0.5, ["importance"]) for b in ("1.5", ".nan", "nan", "high", "[1]")),
    ],
)
def test_importance(typed, number, kinds):
    note = parse(f"---\nimportance: {typed}\n---\n", "n.md")
    assert markdown.importance(note.meta) == number
    assert [f.kind for f in note.findings] == kinds


@pytest.mark.parametrize(
    ("typed", "is_pinned"), [("true", True), ("Yes", True), ("1", True), ("no", False), ("", False), ("[true]", False)]
)
def test_pinned(typed, is_pinned):
    assert markdown.pinned(parse(f"---\npinned: {typed}\n---\n", "n.md").meta) is is_pinned


# ---- the three levels


def test_a_memory_file():
    text = (
        "---\nid: 01JDXK3Q8ZV5T9W2M4N6P8R0S1\nkind: decision\ntags: [cluster/jwt, auth]\n---\n# JWT refresh race\n\n"
        "## Summary\nRefresh tokens raced;\nthe window won.\n\n## Detail\n\nAll of it.\n\n## Links\n\n[[Auth]]\n"
    )
    note = parse(text, "memories/2026/05/jwt.md")
    assert note.title == "JWT refresh race"
    assert note.summary == "Refresh tokens raced;\nthe window won."
    assert note.detail == "All of it.\n\n## Links\n\n[[Auth]]"
    assert (note.tags, [link.target for link in note.links]) == (("cluster/jwt", "auth"), ["Auth"])
    assert [(h.level, h.text, h.line) for h in note.headings] == [
        (1, "JWT refresh race", 6),
        (2, "Summary", 8),
        (2, "Detail", 12),
        (2, "Links", 16),
    ]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: ' One\n\n  two '\n---\n# H\n", "One two"),
        ("---\ntitle: [a]\n---\n# H ##\n", "H"),
        ("```\n# code\n```\n\nUnder\n=====\n", "Under"),
        ("two\nlines\n=====\n# After", "After"),
        ("#hash\n\n#  C#  \n", "C#"),
        ("# C # #\n", "C #"),
        ("    # code\n> # quoted\n", "a note"),
        ("#\n", "a note"),
        ("", "a note"),
    ],
)
def test_titles(text, title):
    assert parse(text, "folder/a note.MD").title == title


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("---\nsummary: m\n---\n## Summary\n\ns\n", "s"),
        ("---\nsummary: m\n---\n## Summary\n\n## Other\nx\n", "m"),
        ("---\nsummary: ' '\ndescription: d\n---\ntext", "d"),
        ("## SUMMARY ##\na\n### b\nc\n# d\n", "a\n### b\nc"),
        ("Summary\n-------\ns\n\nOther\n-----\nx\n", "s"),
        ("### Summary\nx\n", ""),
        ("```\n## Summary\nx\n```\n", ""),
    ],
)
def test_summaries(text, summary):
    assert parse(text, "n.md").summary == summary


@pytest.mark.parametrize(
    "text",
    [
        "- item\n  ```\n  # code\n  ```\n",
        "> ```\n> # code\n\n",
        "- ```\n  # code\n",
        "1. ~~~\n   # code\n   ~~~~\n",
        "````\n```\n# code\n````\n",
        "```\n# code\n~~~\n# code\n```\n",
        "    ```\n    # code\n",
    ],
)
def test_headings_in_fences_are_code(text):
    assert [h.text for h in parse(text + "# Real\n", "n.md").headings] == ["Real"]


@pytest.mark.parametrize(
    "text",
    ["``` a ` b\n# Real\n", "- item\n---\n# Real\n", "a\nb\n---\n# Real\n", "| a |\n---\n# Real\n", "---\n# Real\n"],
)
def test_rules_tables_and_spans_are_no_headings(text):
    assert [h.text for h in parse(text, "n.md").headings] == ["Real"]


# ---- tags and links (cases O1, O2)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("---\ntags: book, work\n---\n", ("book", "work")),
        ("---\ntags: book work/deep\n---\n", ("book", "work/deep")),
        ('---\ntags: [book, "#work"]\n---\n', ("book", "work")),
        ('---\ntags:\n  - "#a/b"\n  - c d\n---\n', ("a/b", "c d")),
        ("---\ntag: book\n---\n", ("book",)),
        ("---\ntags: 2024\n---\n", ("2024",)),
        ("---\ntags: ['#', a]\n---\n", ("a",)),
        ("---\ntags: [Work, work]\n---\n#WORK #rest", ("Work", "rest")),
        ("---\ntags: [e\u0301t\u00e9]\n---\n", ("été",)),
        ("#work/deep, #été #123 #y123.\n(#paren) a#b ##c \\#d #", ("work/deep", "été", "y123", "paren")),
        ("#标签， #日本 #🎉 #a_b-c/ #e\u0301te", ("标签", "日本", "🎉", "a_b-c", "éte")),
        ("`#include` ``#a`b`` \n```\n#ff8800\n```\n~~~\n#x", ()),
        ('http://x.y/#z [a](#b) [a](u #c) [[A #d]] <span color="x" #e> [[#f]]', ()),
        ("<3 #love", ("love",)),
        ("open ` tick #yes\n\nnext ` tick #no_code", ("yes", "no_code")),
    ],
)
def test_tags(text, tags):
    note = parse(text, "n.md")
    assert (note.tags, note.findings) == (tags, ())


@pytest.mark.parametrize("head", ["tags: #daily", "tags:\n- a\n- #daily", "tag:\n  x: 1"])
def test_a_tag_that_yaml_does_not_see_is_told(head):
    note = parse(f"---\n{head}\n---\n", "n.md")
    assert [(f.kind, f.line) for f in note.findings] == [("tag", 2)]
    assert (note.readable, "daily" in note.tags) == (True, False)


LINKS = (
    "| [[Boiler\\|the boiler]] | x |\n\n[[Boiler|it]], [[Boiler#Valve]], [[Boiler#^v7]], ![[Boiler]], "
    "[[folder/Boiler.md]]\n\n"
    "`[[Ghost]]` ``[[Ghost]] ` [[Ghost]]`` \\[[Ghost]]\n\n```\n[[Ghost]]\n```\n\n> [!note] [[Boiler]]\n\n"
    "rating:: 4\n[[]] [[ ]] [[#Here]] [[Boiler.MD#a#b\\|x|y]]\n"
)


def test_links():
    found = [(link.target, link.heading, link.alias, link.embed) for link in parse(LINKS, "n.md").links]
    assert found == [
        ("Boiler", "", "the boiler", False),
        ("Boiler", "", "it", False),
        ("Boiler", "Valve", "", False),
        ("Boiler", "^v7", "", False),
        ("Boiler", "", "", True),
        ("folder/Boiler", "", "", False),
        ("Boiler", "", "", False),
        ("", "Here", "", False),
        ("Boiler", "a#b", "x|y", False),
    ]


def test_links_follow_a_rename_and_code_does_not():
    new = markdown.retarget_links(
        "---\nk: '[[Boiler]]'\n---\n" + LINKS, lambda link: "Kettle" if link.target.endswith("Boiler") else None
    )
    expected = LINKS.replace("folder/Boiler", "Boiler").replace("Boiler", "Kettle")
    assert new == "---\nk: '[[Boiler]]'\n---\n" + expected
    assert markdown.retarget_links(LINKS, lambda link: None) == LINKS


# ---- other findings


def test_conflict_markers_are_told():
    conflict = "<<<<<<< ours\nred\n=======\nblue\n>>>>>>> theirs\n"
    assert [(f.kind, f.line) for f in parse("# H\n\n" + conflict, "n.md").findings] == [("conflict-markers", 3)]
    assert parse(f"```\n{conflict}```\n", "n.md").findings == ()
    assert parse("<<<<<<< ours\nonly one\n", "n.md").findings == ()
    head = parse(f"---\ntitle: a\n{conflict.replace('red', 'x: red')}---\n", "n.md")
    assert [(f.kind, f.line) for f in head.findings] == [("frontmatter", 4), ("conflict-markers", 3)]


def test_other_findings():
    assert [(f.kind, f.line) for f in parse("a\r\nb \0 secretword\r\n", "n.md").findings] == [("nul", 2)]
    assert "secretword" in parse("a\0b secretword\n", "n.md").body
    assert [f.kind for f in parse("café", "n.md", encoding="cp1252").findings] == ["encoding"]
