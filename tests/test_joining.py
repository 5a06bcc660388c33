"""Notes joined into one, and a section taken out of one."""

from __future__ import annotations

import pytest
from support import write

from atlas import MemoryEngine
from atlas.errors import AtlasError, NotFound, OutsideVault, Unparsable, UsageError
from atlas.joining import levelled
from atlas.relink import Room

ID = "01JDXK3Q8ZV5T9W2M4N6P8R0S1"


KEEP = (
    f"---\nid: {ID}\ntags: [heat]\nkind: fact\n---\n# Boiler\n\n## Summary\nIt is hot.\n\n## Detail\nAll of it. ^b1\n"
)
OTHER = """---
title: Valve
tags: heat, water
aliases: [tap]
kind: note
source: manual.md#3
up: "[[n]]"
---
## Summary
Turns seven times.

## Use
See [plan](plan.png), [[#Summary]] and [[Valve#Use|here]]. ^v7
"""


def test_a_join_loses_nothing_and_every_link_follows(notes, engine, root, git, text):
    linking = "[[Valve]] ![[Valve#Use]] [[tap#^v7|x]] [y](parts/valve.md#Use) [[Boiler]]\n"
    notes({"boiler.md": KEEP, "parts/valve.md": OTHER, "parts/plan.png": "image", "n.md": linking})
    head, other = git(root, "rev-parse", "HEAD").strip(), engine.expand("Valve").id
    done = engine.join("boiler.md", ["Valve"], reason="one thing")
    assert (done.new, done.joined, done.left, done.applied.committed) == ("boiler.md", ("parts/valve.md",), (), True)
    assert text("boiler.md") == (
        f"---\nid: {ID}\ntags: [heat, water]\nkind: fact\naliases: [Valve, tap]\nsupersedes: [{other}]\n---\n"
        "# Boiler\n\n## Summary\nIt is hot.\n\n## Detail\nAll of it. ^b1\n\n"
        "## Valve\n\n- kind: note\n- source: manual.md#3\n- up: [[n]]\n\n"
        "### Summary\nTurns seven times.\n\n"
        "### Use\nSee [plan](parts/plan.png), [[#Valve#Summary]] and [[boiler#Use|here]]. ^v7\n"
    )
    assert text("n.md") == ("[[boiler#Valve]] ![[boiler#Use]] [[tap#^v7|x]] [y](boiler.md#Use) [[Boiler]]\n")
    assert not (root / "parts/valve.md").exists()
    assert git(root, "log", "--format=%s", f"{head}..") == "Join parts/valve.md into boiler.md\n"
    assert engine.expand("tap").path == engine.expand("Valve").path == "boiler.md"
    assert (engine.expand(ID).summary, engine.history(other)[0].op) == ("It is hot.", "join")
    engine.undo()
    assert git(root, "diff", "--stat", head) == ""


def test_two_notes_of_one_title_stay_apart(notes, engine, text):
    notes({"a.md": "# Boiler\n\nOne.\n", "b.md": "# Boiler\n\nTwo.\n\n## Use\nx\n", "c.md": "# Boiler\nThree.\n",
           "n.md": "[[b]] [[b#Boiler]] [[b#Use]] [[c]]\n"})  # fmt: skip
    engine.join("a.md", ["b.md", "c.md"])
    assert text("a.md").endswith(
        "---\n# Boiler\n\nOne.\n\n## Boiler (2)\n\nTwo.\n\n### Use\nx\n\n## Boiler (3)\n\nThree.\n"
    )
    assert text("n.md") == "[[a#Boiler (2)]] [[a#Boiler (2)]] [[a#Use]] [[a#Boiler (3)]]\n"


def test_links_by_id_and_in_metadata_follow_a_join(notes, engine, text):
    other = "01JDXK3Q8ZV5T9W2M4N6P8R0S2"
    notes({"a.md": KEEP, "b.md": f"---\nid: {other}\n---\n# B\n", "n.md": f"---\nsuperseded_by: {other}\n---\n"})
    engine.join("a.md", ["b.md"])
    assert text("n.md") == f"---\nsuperseded_by: {ID}\n---\n"


@pytest.mark.parametrize(
    ("one", "two", "reason"),
    [
        ("A ^v\n", "B ^v\n", r"\^v"),
        ("A[^1]\n\n[^1]: x\n", "B[^1]\n\n[^1]: y\n", r"\[\^1\]"),
        ("A\n", "---\ntrust: untrusted\n---\nB\n", "trusted"),
        ("A\n\n```\nopen\n", "B\n", "fence"),
    ],
)
def test_what_is_not_clean_is_refused(notes, engine, root, git, one, two, reason):
    notes({"a.md": one, "b.md": two, "n.md": "[[b]]\n"})
    with pytest.raises(AtlasError, match=reason):
        engine.join("a.md", ["b.md"])
    assert git(root, "status", "--porcelain") == ""


def test_metadata_that_does_not_read_is_refused(notes, engine, root, git):
    notes({"a.md": "A\n", "b.md": "---\ntitle: [x\n---\nB\n"})
    for keep, other in (("a.md", "b.md"), ("b.md", "a.md")):
        with pytest.raises(Unparsable, match=r"b\.md:2"):
            engine.join(keep, [other])
    assert git(root, "status", "--porcelain") == ""


def test_words_that_cannot_be_meant(notes, engine):
    notes({"a.md": "A\n", "b.md": "B\n"})
    for others in ([], ["a.md"], ["b.md", "b.md"]):
        with pytest.raises(UsageError):
            engine.join("a.md", others)


def test_without_git_there_is_no_join_for_the_bytes_would_be_gone(tmp_path):
    with MemoryEngine(tmp_path / "v") as engine:
        write(tmp_path / "v", "a.md", "A\n")
        write(tmp_path / "v", "b.md", "B\n")
        with pytest.raises(AtlasError, match="nothing was written"):
            engine.join("a.md", ["b.md"])
        assert (tmp_path / "v" / "b.md").exists()


def test_what_no_commit_holds_is_committed_before_it_goes(notes, engine, root, git):
    notes({"a.md": "A\n"})
    write(root, "b.md", "Never committed.\n")
    engine.join("a.md", ["b.md"])
    assert git(root, "show", "HEAD^:b.md") == "Never committed.\n"


def test_a_plan_reads_every_note_once():
    reads = iter([b"first", b"second"])
    room = Room(None, lambda _: next(reads), lambda _: False)
    assert (room.read("a.md"), room.read("a.md")) == (b"first", b"first")


# ------------------------------------------------------------------------------ split


LONG = """---
id: 01JDXK3Q8ZV5T9W2M4N6P8R0S1
kind: decision
source: manual.md#3
---
# Boiler

Top, see [[#Valve]] and [[#Seven]].

## Valve

Text [p](../pic.png) [[#End]] [[Boiler]]. ^v7

### Seven

Turns.

## End

Last.
"""


def test_a_section_becomes_a_note_and_every_link_follows(notes, engine, root, git, text, monkeypatch):
    monkeypatch.setenv("ATLAS_NOW", "2026-12-01T08:00:00Z")
    linking = "[[Boiler#Valve]] [[boiler#Seven|x]] [[Boiler#Valve#Seven]] [[Boiler#^v7]] [[Boiler#End]] "
    linking += "[y](h/boiler.md#Valve)\n"
    notes({"h/boiler.md": LONG, "pic.png": "image", "n.md": linking})
    head = git(root, "rev-parse", "HEAD").strip()
    done = engine.split("Boiler", "valve")
    assert (done.old, done.new) == ("h/boiler.md", "h/valve.md")
    new = engine.expand("h/valve.md")
    assert new.meta["derived_from"] == ID
    assert text("h/valve.md") == (
        f"---\nid: {new.id}\nkind: decision\nsource: manual.md#3\n"
        f"created: 2026-12-01T08:00:00Z\nderived_from: {ID}\n---\n"
        "# Valve\n\nText [p](../pic.png) [[boiler#End]] [[Boiler]]. ^v7\n\n## Seven\n\nTurns.\n"
    )
    assert text("h/boiler.md") == LONG.replace(
        LONG[LONG.index("## Valve") : LONG.index("## End")], "[[valve|Valve]]\n\n"
    ).replace("[[#Valve]] and [[#Seven]]", "[[valve]] and [[valve#Seven]]")
    assert text("n.md") == "[[valve]] [[valve#Seven|x]] [[valve#Seven]] [[valve#^v7]] [[Boiler#End]] [y](h/valve.md)\n"
    assert git(root, "log", "--format=%s", f"{head}..") == "Split Valve from Boiler\n"
    engine.undo()
    assert git(root, "diff", "--stat", head) == ""


def test_a_section_can_go_elsewhere(notes, engine, text):
    notes({"A page.md": "# A\n\n## Part two\ntext\n"})
    assert engine.split("A page", "Part two", "b/c/", dry_run=True).new == "b/c/Part two.md"
    assert engine.split("A page", "Part two", "b/two").new == "b/two.md"
    assert text("A page.md") == "# A\n\n[[two|Part two]]\n"
    assert text("b/two.md").endswith("\n---\n# Part two\ntext\n")


def test_of_two_headings_of_one_name_a_link_leads_to_the_first(notes, engine, text):
    notes({"A page.md": "## Use\n\n## Part\n\n### Use\n\n### Own\n\n## Own\n",
           "n.md": "[[A page#Use]] [[A page#Own]]\n"})  # fmt: skip
    engine.split("A page", "Part")
    assert text("n.md") == "[[A page#Use]] [[Part#Own]]\n"


def test_what_cannot_be_taken_out(notes, engine, root, git):
    notes({"a.md": "# A\n## Detail\nx[^1] \n### B\n\n[^1]: note\n", "c.md": "## C\n\n## C\n"})
    with pytest.raises(NotFound):
        engine.split("a.md", "Nothing")
    for name, heading in (("a.md", "A"), ("a.md", "Detail"), ("c.md", "C")):
        with pytest.raises(UsageError):
            engine.split(name, heading)
    with pytest.raises(AtlasError, match=r"\[\^1\]"):
        engine.split("a.md", "B")
    with pytest.raises(OutsideVault):
        engine.split("a.md", "B", "../x.md")
    assert git(root, "status", "--porcelain") == ""


def test_a_taken_name_is_refused(notes, engine, root):
    notes({"a.md": "# A\n\n## C\n\nx\n", "C.md": "there\n"})
    with pytest.raises(AtlasError, match="there already"):
        engine.split("a.md", "C")
    assert (root / "C.md").read_text() == "there\n"


def test_levels_move_together():
    text = "One\n===\n\n## Two ##\n\n```\n# code\n```\n###### Six\n"
    assert levelled(text, 3) == "### One\n\n#### Two ##\n\n```\n# code\n```\n###### Six\n"
    assert levelled("#### Low\n", 3, down=True) == "#### Low\n"
    assert levelled("### Low\n#### Lower\n", 1) == "# Low\n## Lower\n"
