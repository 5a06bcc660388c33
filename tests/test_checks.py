"""What is wrong with a note's bytes, and what a change forgot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import open_repo, write
from ulid import ULID

from atlas import checks, config, precommit
from atlas.health import validate
from atlas.identity import derived_id

MOST = 10_000
WORDS = " ".join(f"word{n}" for n in range(100))
OTHERS = " ".join(f"other{n}" for n in range(100))


def kinds(text: str | bytes, before: str | None = None) -> list[tuple[int, str]]:
    data = text if isinstance(text, bytes) else text.encode()
    found = checks.check("a.md", data, MOST, before.encode() if before is not None else None)
    return [(f.line, f.kind) for f in found.findings]


def head(id: str) -> str:
    return f"---\ntitle: A\nid: {id}\n---\nText.\n"


@pytest.mark.parametrize(
    ("id", "kind"),
    [
        ("nonsense", "foreign-id"),
        ("202601151030", "foreign-id"),
        ("01JDXK3Q8ZV5T9W2M4N6P8R0S", "id"),
        ("01JDXK3Q8ZV5T9W2M4N6P8R0SU", "id"),
        ("81JDXK3Q8ZV5T9W2M4N6P8R0S1", "id"),
        ("two words", "id"),
        ("[a, b]", "id"),
    ],
)
def test_an_id_that_is_none(id, kind):
    assert kinds(head(id)) == [(3, kind)]
    assert kinds(head(id), before=head(id)) == [], "it was there before"
    assert kinds(head(id), before=head("01JDXK3Q8ZV5T9W2M4N6P8R0S1")) == [(3, kind)]


def test_the_identity_a_note_had_without_an_id_is_one():
    assert kinds(head(derived_id("notes/a.md"))) == []


@given(st.integers(0, 2**128 - 1), st.booleans())
def test_every_ulid_is_an_id(number, lower):
    id = str(ULID.from_int(number))
    found = checks.check("a.md", head(id.lower() if lower else id).encode(), MOST)
    assert (found.findings, found.id.upper()) == ((), id)


@pytest.mark.parametrize(
    "text", ["# A\n\nNo metadata.\n", "---\nid:\n---\nEmpty.\n", "```yaml\nid: nonsense\n```\n", ""]
)
def test_no_id_is_no_finding(text):
    assert kinds(text) == []


def test_what_is_no_note():
    assert kinds("x" * (MOST + 1)) == [(0, "oversized")]
    assert kinds(b"\x00\x01\x02\x03" * 500) == [(0, "binary")]


def test_what_a_merge_left_and_what_cannot_be_read():
    assert kinds("---\ntitle: *x*\n---\n") == [(2, "frontmatter")]
    assert kinds("a\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n") == [(2, "conflict-markers")]


def layered(summary: str, detail: str) -> str:
    return f"# A\n\n## Summary\n{summary}\n\n## Detail\n{detail}\n"


@pytest.mark.parametrize(
    ("was", "now", "drifts"),
    [
        (layered("short", WORDS), layered("short", OTHERS), True),
        (layered("short", WORDS), layered("short", f"{WORDS} {OTHERS}"), True),
        (layered("short", WORDS), layered("new", OTHERS), False),
        (layered("short", WORDS), layered("short", WORDS + " one more"), False),
        (layered("short", "a b c"), layered("short", "d e f"), False),
        (f"---\nsummary: short\n---\n{WORDS}\n", f"---\nsummary: short\n---\n{OTHERS}\n", True),
        (f"{WORDS}\n", f"{OTHERS}\n", False),
        (f"## Summary\ns\n\n## More\n{WORDS}\n", f"## Summary\ns\n\n## More\n{OTHERS}\n", True),
        (layered("短い", "猫" * 50), layered("短い", "犬" * 50), True),
    ],
)
def test_a_summary_that_stayed_behind(was, now, drifts):
    found = checks.check("a.md", now.encode(), MOST, was.encode()).findings
    assert [f.kind for f in found] == (["summary-drift"] if drifts else [])
    assert {f.kind for f in found} <= checks.WARNINGS


@given(st.lists(st.sampled_from("abcdefgh"), max_size=80), st.randoms())
def test_the_order_of_words_is_no_drift(words, draw):
    other = list(words)
    draw.shuffle(other)
    assert kinds(layered("s", " ".join(other)), before=layered("s", " ".join(words))) == []


def staged(root) -> list[tuple[str, str]]:
    return [(f.path, f.kind) for f in precommit.findings(config.load(root), open_repo(root))]


def test_ids_are_looked_for_in_the_whole_index(root, git):
    """Of two notes with one id the newcomer is named; a note that had it all along is not, whatever is done to it."""
    id = str(ULID.from_int(7))
    write(root, "old note.md", head(id))
    write(root, "sample.md", f"```\nid: {id}\n```\n\nid: {id}\n")
    git(root, "add", "-A")
    assert staged(root) == []
    git(root, "commit", "-qm", "x")
    write(root, "old note.md", head(id) + "more\n")
    write(root, "new.md", head(id))
    git(root, "add", "-A")
    assert staged(root) == [("new.md", "duplicate-id")]
    git(root, "rm", "-q", "--cached", "old note.md")
    assert staged(root) == [], "the other is gone by then"
    git(root, "add", "old note.md")
    write(root, "a (conflicted copy).md", head(id))
    git(root, "rm", "-q", "--cached", "old note.md")
    git(root, "add", "a (conflicted copy).md")
    assert staged(root) == [("a (conflicted copy).md", "duplicate-id")], "never the original"


def test_a_merge_is_judged_by_what_neither_side_has(root, git):
    bad = "---\ntitle: *x*\n---\n"
    write(root, "a.md", "base\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "base")
    git(root, "switch", "-qc", "other")
    write(root, "theirs.md", bad)
    write(root, "a.md", "theirs\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "theirs")
    git(root, "switch", "-q", "main")
    write(root, "a.md", "ours\n")
    git(root, "commit", "-qam", "ours")
    git(root, "merge", "--no-commit", "-s", "ours", "other")
    git(root, "checkout", "other", "--", "theirs.md")
    write(root, "a.md", bad)
    git(root, "add", "a.md")
    assert staged(root) == [("a.md", "frontmatter")]


def test_a_vault_that_numbers_its_notes_may_go_on(root, git):
    write(root, "new.md", head("202601151030"))
    git(root, "add", "-A")
    settings = config.load(root)
    assert [f.kind for f in precommit.findings(settings, open_repo(root))] == ["foreign-id"]
    git(root, "commit", "-qm", "numbered by hand")
    write(root, "next.md", head("202601151031"))
    write(root, "torn.md", head("01JDXK3Q8ZV5T9W2M4N6P8R0S"))
    git(root, "add", "-A")
    assert [(f.path, f.kind) for f in precommit.findings(settings, open_repo(root))] == [("torn.md", "id")]
    assert [(f.path, f.kind) for f in validate(settings, (), None)] == [("torn.md", "id")]
