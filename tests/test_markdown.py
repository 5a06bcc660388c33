"""The file format: read and written back exactly, edited without harm, composed so that it reads back."""

import json
from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from atlas import markdown, sections
from atlas.errors import Unparsable
from atlas.markdown import add_to_list, compose, edit, parse, remove_from_list, render, replace_section

LAW = settings(deadline=None)

#: Everything that means something to the reader, to be strung together at random.
PIECES = (
    *("---\n", "---\r\n", "...\n", "\n", "\r\n", "\r", " ", "    ", "\t", "\ufeff", "\0", "\x85", "\u2028"),
    *("title: x\n", "tags: [b, a]\n", "tags:\n- \n", "id: y\n", "Note: z\n", "a: 'q' # c\n", "x: *y\n", "k: |\n  t\n"),
    *(
        "# H\n",
        "## Summary\n",
        "## Detail\n",
        "## summary ##\n",
        "### h\n",
        "S\n---\n",
        "T\n===\n",
        "\\## Detail\n",
        "#",
    ),
    *("```\n", "~~~\n", "````\n", "> ```\n", "- ```\n", "    ```\n", "`", "``", "\\", "> ", "- "),
    *("[[A]]", "![[B#^v7|b]]", "[[C\\|d]]", "#tag", " #été", "(#1)", "<b #c>", "](u #d)", "word", "word word\n"),
    *("<<<<<<< a\n", "=======\n", ">>>>>>> b\n"),
)
texts = st.one_of(
    st.text(), st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=25).map("".join)
)


@LAW
@given(texts)
@example("---\n" + "[" * 2000 + "\n---\n")
@example("---\ntitle: x\n---")
@example("---\r---\r")
@example("\ufeff---\ntitle: x\n---\nb")
def test_parse_never_raises_and_render_gives_the_text_back(text):
    note = parse(text, "folder/name.md")
    assert render(note) == text
    assert note.head + note.body == note.text == text
    assert note.raw_head in note.head
    json.dumps(note.meta, allow_nan=False)
    for link in note.links:
        assert note.body[link.start :].startswith("[[")
        assert note.body[: link.end].endswith("]]")
        assert link.embed == (note.body[link.start - 1 : link.start] == "!")
    last = 0
    for heading in note.headings:
        assert last <= heading.start < heading.end <= len(note.body)
        assert heading.text in note.body[heading.start : heading.end]
        last = heading.end
    assert all(finding.path == "folder/name.md" and finding.message for finding in note.findings)
    assert note.readable or note.findings
    markdown.semantic_key(note)
    markdown.original(note)


# ---- editing (cases P6, N1)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["end  \n\n\n", "end"])
def test_an_edit_touches_one_line(newline, end):
    text = f'---\nz: 1  # keep me\na: "q"\ncreated: 2026-05-01\ntags: [b, a]\n---\n    code\n\n{end}'.replace(
        "\n", newline
    )
    new = edit(add_to_list(text, "tags", ["c"]), {"updated": datetime(2026, 5, 2, tzinfo=UTC)})
    old_lines, new_lines = text.split(newline), new.split(newline)
    assert [line for line in new_lines if line not in old_lines] == ["tags: [b, a, c]", "updated: 2026-05-02T00:00:00Z"]
    assert [line for line in old_lines if line not in new_lines] == ["tags: [b, a]"]
    assert new.endswith(end.replace("\n", newline))


def test_mark_and_crlf_survive_an_edit():
    data = b"\xef\xbb\xbf---\r\ntitle: Boiler\r\n---\r\nValve 7\r\n"
    for raw in (data, data.decode("utf-8-sig").encode("utf-16")):
        source = markdown.decode(raw)
        assert parse(source.text, "bom.md").title == "Boiler"
        new = markdown.encode(source, add_to_list(source.text, "tags", ["x"]))
        text = markdown.decode(new)
        assert (text.bom, text.encoding) == (source.bom, source.encoding)
        assert text.text == "---\r\ntitle: Boiler\r\ntags: [x]\r\n---\r\nValve 7\r\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "---\nid: X1\n---\n"),
        ("Body", "---\nid: X1\n---\nBody"),
        ("Body\r\n", "---\r\nid: X1\r\n---\r\nBody\r\n"),
        ("\ufeffBody", "\ufeff---\nid: X1\n---\nBody"),
        ("---\n---\nBody", "---\nid: X1\n---\nBody"),
        ("---\na: 1\n---", "---\na: 1\nid: X1\n---"),
    ],
)
def test_an_id_for_any_file(text, expected):
    assert edit(text, {"id": "X1"}) == expected


def test_a_block_that_would_stack_on_another_is_refused():
    with pytest.raises(Unparsable, match="cannot be put above"):
        edit("\ufeff\n---\ntitle: x\n---\n", {"id": "X1"})


def test_removing_what_is_not_there_changes_nothing():
    for text in ("Body", "---\na: 1\n---\nBody"):
        assert edit(text, {"id": None}) == text
        assert remove_from_list(text, "tags", ["x"]) == text
        assert edit(text, {}) == text


values = st.one_of(st.text(), st.booleans(), st.integers(), st.lists(st.text(max_size=5), max_size=3), st.none())


@LAW
@given(texts, st.sampled_from(["id", "tags", "title", "a", "new key"]), values)
def test_an_edit_is_refused_or_exact(text, key, value):
    before = parse(text, "n.md")
    try:
        new = edit(text, {key: value})
    except Unparsable:
        assert not before.readable or before.raw_head or text[:1].isspace() or text.startswith(("---", "\ufeff"))
        return
    after = parse(new, "n.md")
    assert after.readable
    assert after.body == before.body.removeprefix("\ufeff" if not before.head and after.head else "")
    assert {k: v for k, v in after.meta.items() if k != key} == {k: v for k, v in before.meta.items() if k != key}
    assert (key in after.meta) == (value is not None)
    if isinstance(value, str):
        assert after.meta[key] == value
    old_lines = before.raw_head.splitlines(keepends=True)
    kept = after.raw_head.splitlines(keepends=True)
    if key not in before.meta and before.raw_head:
        assert kept[: len(old_lines)] == old_lines


# ---- sections


@pytest.mark.parametrize(
    ("text", "name", "content", "expected"),
    [
        (
            "# T\n\n## Summary\n\nold\n\n\n## Detail\nd\n",
            "summary",
            "\nnew\n",
            "# T\n\n## Summary\n\nnew\n\n\n## Detail\nd\n",
        ),
        ("# T\n\n## Detail\nd\n## Links\nl", "Detail", "e", "# T\n\n## Detail\ne"),
        ("# T\n\n## Detail\nd\n", "Summary", "s", "# T\n\n## Summary\ns\n\n## Detail\nd\n"),
        ("# T\n\ntext", "Summary", "s", "# T\n\ntext\n\n## Summary\ns"),
        ("# T\r\n\r\ntext\r\n", "Links", "a\nb", "# T\r\n\r\ntext\r\n\r\n## Links\r\na\r\nb\r\n"),
        ("", "Links", "a", "## Links\na\n"),
        ("## A\n## B\nb\n", "A", "a", "## A\na\n\n## B\nb\n"),
        ("## A", "A", "a", "## A\na\n"),
        ("```\n## A\n```\n", "A", "a", "```\n## A\n```\n\n## A\na\n"),
        ("---\nid: x\n---\n## A\nold\n", "A", "# one\n\n## two\n", "---\nid: x\n---\n## A\n\\# one\n\n\\## two\n"),
        ("## A\na\n", "A", "a", "## A\na\n"),
    ],
)
def test_a_section_is_exchanged_or_added(text, name, content, expected):
    assert replace_section(text, name, content) == expected


def test_a_section_that_would_be_swallowed_is_refused():
    with pytest.raises(Unparsable, match="fence"):
        replace_section("text\n```\nopen\n", "Links", "a")
    with pytest.raises(Unparsable):
        replace_section("text\n", "two\nlines", "a")


def test_removing_a_section():
    text = "# T\n\n## Summary\ns\n\n## Detail\nd\n\n## More\nm\n"
    assert markdown.remove_section(text, "Detail") == "# T\n\n## Summary\ns\n"
    assert markdown.remove_section(text, "summary") == "# T\n\n## Detail\nd\n\n## More\nm\n"
    assert markdown.remove_section(text, "none") == text
    with pytest.raises(Unparsable, match="taken for metadata"):
        markdown.remove_section("---\n## B\nwords\n# T\nfoo: 1\n---\n", "B")


@LAW
@given(texts)
@example("```\n> ```\n# x")
@example("```\n\\```\n    ```\n- ~~~\n~~~~")
@example("\\\\## Detail\n\\---\r\n===\r## x")
def test_a_shielded_text_comes_back_and_ends_no_section(text):
    shielded = sections.shielded(text)
    assert sections.unshielded(shielded) == text
    note = parse(f"# T\n\n## Summary\n{shielded}\n\n## Detail\nd\n", "n.md")
    assert [h.text for h in note.headings if h.level <= 2] == ["T", "Summary", "Detail"]
    assert note.detail == "d"


@LAW
@given(texts, st.sampled_from(["Summary", "Detail", "Other"]), texts)
def test_a_section_reads_back_or_is_refused(text, name, content):
    try:
        new = replace_section(text, name, content)
    except Unparsable:
        return
    note = parse(new, "n.md")
    newline = "\r\n" if "\r\n" in new else "\r" if "\r" in new else "\n"
    got = sections.content(note.body, note.headings, name) or ""
    assert sections.newlined(got, "\n") == sections.newlined(sections.trimmed(content), "\n"), newline
    assert note.head == parse(text, "n.md").head
    assert replace_section(new, name, content) == new


# ---- composing

labels = texts.filter(lambda label: label.strip() and not set(label) & set("\r\n"))


@LAW
@given(labels, texts, texts)
@example("C #", "## Detail\n```", "## Summary\nx")
@example("#", "", "## Summary\nx\n## Detail\ny")
def test_a_composed_memory_gives_its_texts_back(label, summary, detail):
    meta = {"id": "01JDXK3Q8ZV5T9W2M4N6P8R0S1", "tags": ["cluster/jwt", "no"], "importance": 0.8}
    note = parse(compose(meta=meta, label=label, summary=summary, detail=detail), "n.md")
    assert note.readable
    assert note.title == label.strip()
    assert note.summary == sections.trimmed(summary)
    assert sections.trimmed(detail) in {"", note.detail}
    assert note.meta == {"id": meta["id"], "tags": ["cluster/jwt", "no"], "importance": "0.8"}


@LAW
@given(
    st.dictionaries(st.text(min_size=1, max_size=20), st.one_of(st.text(), st.lists(st.text(), max_size=3)), max_size=4)
)
def test_composed_metadata_gives_its_words_back(meta):
    try:
        text = compose(meta=meta, label="L", summary="", detail="")
    except Unparsable:
        assert any(key.count(" ") > 4 for key in meta)
        return
    assert parse(text, "n.md").meta == meta
    if meta:
        assert set(yaml.safe_load(parse(text, "n.md").raw_head)) == set(meta)


def test_the_look_of_a_new_memory():
    text = compose(
        meta={
            "id": "01JDXK3Q8ZV5T9W2M4N6P8R0S1",
            "kind": "decision",
            "tags": ["cluster/jwt", "no"],
            "created": "2026-11-29T10:00:00Z",
            "updated": datetime(2026, 11, 29, 10, tzinfo=UTC),
            "importance": 0.8,
            "pinned": True,
            "source": "a: b",
            "tier": None,
            "entities": (),
        },
        label="JWT refresh race:\nsliding window",
        summary="\nRefresh tokens raced.\n",
        detail="Grüße\n",
    )
    assert text == (
        '---\nid: 01JDXK3Q8ZV5T9W2M4N6P8R0S1\nkind: decision\ntags: [cluster/jwt, "no"]\n'
        "created: 2026-11-29T10:00:00Z\n"
        'updated: 2026-11-29T10:00:00Z\nimportance: 0.8\npinned: true\nsource: "a: b"\nentities: []\n---\n'
        "# JWT refresh race: sliding window\n\n## Summary\nRefresh tokens raced.\n\n## Detail\nGrüße\n"
    )
    with pytest.raises(Unparsable):
        compose(meta={"source": "\ud800"}, label="L", summary="", detail="")
    with pytest.raises(Unparsable):
        compose(meta={"source": object()}, label="L", summary="", detail="")


# ---- meaning (case O4)


def key(text):
    return markdown.semantic_key(parse(text, "n.md"))


def test_the_same_meaning_in_another_style():
    text = '---\ntitle: "A"  # mine\ntags: [x, y]\nempty:\nn: {a: 1, b: 2}\n---\nBody\n'
    for same in (
        "---\ntags:\n  - x\n  - y\nempty: null\ntitle: A\nn:\n  b: '2'\n  a: 1\n---\nBody\n",
        "---\r\ntags: x, y\r\ntitle: A\r\nn: {a: 1, b: 2}\r\naliases: []\r\ncssclasses:\r\n---\r\nBody\r\n",
    ):
        assert key(same) == key(text)
    for other in (
        text.replace('"A"', "B"),
        text.replace("[x, y]", "[y, x]"),
        text.replace("Body", "Body "),
        text.replace("a: 1", "a: 3"),
    ):
        assert key(other) != key(text)
    assert key("---\ntitle: *a*\n---\nx") != key("---\ntitle: *b*\n---\nx")


def test_the_words_that_were_remembered():
    def said(text):
        return markdown.original(parse(text, "name.md"))

    assert said("# L\n\n## Summary\ns\n\n## Detail\nd\n") == "d"
    assert said("# L\n\n## Summary\ns\n") == "s"
    assert said("# L\n\nbody\n# More\n") == "body\n# More"
    assert said("before\n# L\nbody\n") == "before\n# L\nbody"
    assert said("# L\n") == "L"
    assert said("") == "name"


def test_a_repeat_is_told_from_news():
    assert markdown.text_key("Ana's  desk\ne\u0301") == markdown.text_key("Ana's desk é")
    assert markdown.text_key("git branch -d") != markdown.text_key("git branch -D")
    assert markdown.text_key("port 5433") != markdown.text_key("port 5434")
