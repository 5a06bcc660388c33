"""Hub notes: what a page says of its cluster, and that it is a person's page all around that."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import write

from atlas import hubs, markdown
from atlas.hubs import Member
from atlas.memory import CLUSTER_PREFIX

HUB = "clusters/boiler.md"
MARKS = re.compile(r"(<!-- atlas:(\w+) -->).*?(<!-- /atlas:\2 -->)", re.DOTALL)

names = st.text(alphabet="abü #|[]<>`%$-:\n!.é管", max_size=14)
members = st.lists(
    st.builds(
        Member,
        id=st.uuids().map(str),
        path=st.from_regex(r"notes/[a-z]{1,6}\.md", fullmatch=True),
        label=names,
        summary=names,
        entities=st.lists(st.sampled_from(["Ana", "pressure valve", "boiler", "#x"]), max_size=2).map(tuple),
        sums_up=st.booleans(),
        archived=st.booleans(),
    ),
    max_size=6,
    unique_by=lambda one: one.path,
)
person = st.text(alphabet=st.characters(exclude_characters="\r", exclude_categories=("Cs", "Cc")), max_size=40)


def around(data: bytes) -> str:
    """All that is not Atlas's."""
    return MARKS.sub(r"\1\3", data.decode())


def links(data: bytes) -> list[str]:
    return [link.target for link in markdown.parse(data.decode(), HUB).links]


@settings(max_examples=300)
@given(members, members, person, person, person, st.booleans())
def test_every_byte_outside_the_marks_stays(before, after, above, between, below, windows):
    """Whatever a person wrote above, between and below, and however the members change."""
    text = hubs.page("boiler", before, [Member("0", "mine/0.md", "Mine")]).decode()
    text = text.replace("## Detail", f"{between}\n\n## Detail") + below
    text = text.replace("# Boiler", f"# Boiler\n{above}", 1)
    data = (text.replace("\n", "\r\n") if windows else text).encode()
    new = hubs.updated(data, "boiler", after, after[1:])
    assert around(new) == around(data)
    assert hubs.updated(new, "boiler", after, after[1:]) == new, "a page that is up to date does not change"
    assert (b"\r\n" in new) == windows


@settings(max_examples=300)
@given(members, members)
def test_a_page_links_to_its_members_and_to_nothing_else(inside, beside):
    note = markdown.parse(hubs.page("boiler", inside, beside).decode(), HUB)
    living = [*inside, *beside]
    assert sorted(link.target for link in note.links) == sorted(
        one.path.removesuffix(".md") for one in living if not one.archived or one in beside
    )
    assert (note.tags, note.title, note.meta["kind"]) == ((), "Boiler", "hub")
    assert note.summary == hubs.summary("boiler", living)
    assert hubs.guests(note.text.encode()) == tuple(sorted(one.path for one in beside))


@settings(max_examples=200)
@given(members, st.randoms())
def test_the_same_members_make_the_same_page(inside, chance):
    mixed = list(inside)
    chance.shuffle(mixed)
    assert hubs.page("boiler", mixed) == hubs.page("boiler", inside)


def test_what_a_page_says():
    found = [
        Member("1", "memories/a.md", "The valve leaks", "The valve leaks. Ana saw it.", ("Ana", "pressure valve")),
        Member("2", "memories/b.md", "Ana replaced the valve", "Ana replaced the valve.", ("Ana", "pressure valve")),
        Member("3", "memories/c.md", "May", "In May the valve was checked.", ("boiler",), sums_up=True),
        Member("4", "archive/d.md", "The pump is old", archived=True),
    ]
    assert hubs.page("boiler", found).decode() == (
        "---\nkind: hub\n---\n# Boiler\n\n## Summary\n<!-- atlas:summary -->\n"
        "4 memories about Ana, pressure valve. May. The pump is old. The valve leaks. Ana replaced the valve.\n"
        "<!-- /atlas:summary -->\n\n## Detail\n<!-- atlas:members -->\n"
        "- [[memories/c|May]]\n"
        "- [[memories/a|The valve leaks]]\n"
        "- [[memories/b|Ana replaced the valve]]\n"
        "- and 1 archived\n"
        "<!-- /atlas:members -->\n"
    )


def test_a_large_cluster_lists_those_stored_last():
    many = [Member(str(n), f"memories/{n:03}.md", f"Valve {n}") for n in range(60)]
    many.append(Member("s", "memories/000-sum.md", "A summary", sums_up=True))
    many.append(Member("d", "archive/d.md", "Old", archived=True))
    lines = [line for line in hubs.page("x", many).decode().splitlines() if line.startswith("- ")]
    assert lines[0] == "- [[memories/000-sum|A summary]]"
    assert lines[1] == "- [[memories/041|Valve 41]]"
    assert lines[-3:] == ["- [[memories/059|Valve 59]]", "- and 41 more", "- and 1 archived"]
    assert len(lines) == 22


OLD = """---
kind: hub
---
# Boiler

## Summary
The memories of the cluster Boiler.

## Detail
<!-- atlas:members -->
- [[a|A]]
<!-- /atlas:members -->
"""
MEMBERS = [Member(str(n), f"notes/{n}.md", f"Valve {n}") for n in range(3)]


def test_a_page_of_an_earlier_version_gets_a_summary():
    new = hubs.updated(OLD.encode(), "boiler", MEMBERS, [])
    assert new == hubs.page("boiler", MEMBERS)


@pytest.mark.parametrize(
    ("there", "mine"),
    [
        ("The memories of the cluster Boiler.", "The memories of the cluster Boiler. And the pump."),
        ("The memories of the cluster Boiler.", "What I know of it."),
        ("## Summary\nThe memories of the cluster Boiler.\n\n", ""),
        ("# Boiler", "# The boiler in the cellar"),
        ("## Detail\n", "Below, by hand.\n\n## Detail\n"),
    ],
)
def test_what_a_person_changed_of_it_stays(there, mine):
    text = OLD.replace(there, mine)
    new = hubs.updated(text.encode(), "boiler", MEMBERS, []).decode()
    assert mine in new
    assert "notes/1|" in new
    if "Summary" not in mine and "memories of the cluster" not in text:
        assert "atlas:summary" not in new, "a summary of a person's own, or none, is left so"


def test_a_part_whose_marks_are_gone_is_not_put_back():
    text = hubs.page("boiler", MEMBERS).decode().replace("<!-- atlas:summary -->\n", "")
    new = hubs.updated(text.encode(), "boiler", MEMBERS[:2], []).decode()
    assert "atlas:summary -->\n3 memories" not in new
    assert "3 memories" in new
    part = "<!-- atlas:notes -->\nMine now.\n"
    data = hubs.page("boiler", MEMBERS) + part.encode()
    assert hubs.updated(data, "boiler", MEMBERS, MEMBERS[1:]) == data


def test_notes_beside_the_members_get_their_part_when_there_are_some():
    data = hubs.page("boiler", MEMBERS)
    assert b"atlas:notes" not in data
    new = hubs.updated(data, "boiler", MEMBERS, [Member("9", "mine/A b.md", "A b")])
    assert hubs.guests(new) == ("mine/A b.md",)
    assert b"4 memories" in new
    assert hubs.guests(hubs.updated(new, "boiler", MEMBERS, [])) == ()


@pytest.mark.parametrize("data", [b"# Mine\n", b"<!-- atlas:members -->\n", b"\xff\xfe\x00\x00\x00", b""])
def test_a_persons_own_page_is_left_alone(data):
    assert hubs.updated(data, "boiler", MEMBERS, MEMBERS) == data
    assert not hubs.is_hub(data)


# ------------------------------------------------------------------ in a vault


@pytest.fixture
def bundled(engine, root, git):
    for n in range(4):
        write(root, f"notes/{n}.md", f"---\ntags: [{CLUSTER_PREFIX}boiler]\n---\n# Valve {n}\n\nText {n}.\n")
    commit(root, git)
    engine.maintain()
    return root


def commit(root, git) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")


def test_a_hub_does_not_churn(bundled, engine, git):
    write(bundled, "notes/1.md", f"---\ntags: [{CLUSTER_PREFIX}boiler, x]\n---\n# Valve 1\n\nAnother text.\n")
    write(bundled, "notes/other.md", "# Another thing\n")
    commit(bundled, git)
    assert engine.maintain() == []


def test_notes_beside_are_kept_while_they_are_there(bundled, engine, git, text):
    for name in ("own", "gone"):
        write(bundled, f"mine/{name}.md", f"# A {name} note\n")
    part = "<!-- atlas:notes -->\n- [[mine/own]]\n- [[mine/gone|x]]\n- [[notes/1]]\n<!-- /atlas:notes -->\n"
    write(bundled, HUB, text(HUB) + part)
    (bundled / "mine" / "gone.md").unlink()
    commit(bundled, git)
    (ran,) = engine.maintain()
    assert ran.changed == (HUB,)
    assert hubs.guests(text(HUB).encode()) == ("mine/own.md",)
    assert "[[mine/own|A own note]]" in text(HUB)
    assert engine.maintain() == []


def test_a_hub_without_members_says_so(bundled, engine, git, text):
    for n in range(4):
        (bundled / "notes" / f"{n}.md").unlink()
    commit(bundled, git)
    engine.maintain()
    assert links(text(HUB).encode()) == []
    assert "No memories are left here." in text(HUB)
    assert engine.maintain() == []


def test_archived_members_are_counted(bundled, engine, git, text):
    write(bundled, "notes/1.md", f"---\ntags: [{CLUSTER_PREFIX}boiler]\nrung: L0\n---\n# Valve 1\n")
    commit(bundled, git)
    engine.maintain()
    assert links(text(HUB).encode()) == ["notes/0", "notes/2", "notes/3"]
    assert "- and 1 archived\n" in text(HUB)


def test_a_hub_does_not_answer_for_its_members(bundled, engine):
    hits = engine.search("Valve 2", abstain=False).hits
    assert hits[0].path == "notes/2.md"
    hub = engine.search("Boiler", abstain=False).hits[0]
    assert hub.path == HUB
    assert "atlas:" not in hub.text + hub.summary
    assert "[[" not in hub.text


@pytest.mark.parametrize("slug", ["con", "a:b", "x/../y"])
def test_a_tag_that_can_be_no_file_name_gets_no_page(engine, root, git, slug):
    for n in range(3):
        write(root, f"notes/{n}.md", f"---\ntags: ['{CLUSTER_PREFIX}{slug}']\n---\n# Valve {n}\n")
    commit(root, git)
    assert engine.maintain() == []
