"""G7: conflict markers, and a merge driver that is not there. With real merges, rebases and cherry-picks of Git."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from atlas import template
from atlas.markdown import parse
from cases.conftest import PATIENCE, PROJECT

NOTE = """---
tags: [garden, may]
updated: 2026-05-01
importance: 0.5
---
# Plan

## Summary
The wombat sleeps in the shed.

## Detail
Marrows first.

Then peas.
"""
PLAN = "plan.md"
DRIVER = f"'{sys.executable}' -P -m atlas merge-driver %O %A %B %P"
MARKS = b"<<<<<<<"


@pytest.fixture
def plan(vault, monkeypatch):
    """The vault with one more note committed; and Atlas can be started by Git."""
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    vault.put(PLAN, NOTE)
    vault.commit(PLAN)
    vault.git("restore", "--staged", "shopping.txt")  # Git refuses to merge over what is staged
    (vault.root / "shopping.txt").unlink()
    vault.left.pop("shopping.txt")
    vault.staged = ""
    return vault


@pytest.fixture
def driven(plan):
    """The same with the driver."""
    plan.git("config", "merge.atlas.driver", DRIVER)
    return plan


def change(vault, *pairs: tuple[str, str], path: str = PLAN, base: str = "") -> str:
    """Change a note and commit; its text."""
    text = base or (vault.root / path).read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    vault.put(path, text)
    vault.commit(path)
    return text


def branches(vault, ours, theirs) -> None:
    """Two branches of the note: `side` with their changes, `main`, checked out, with ours."""
    vault.git("switch", "-qc", "side")
    change(vault, *theirs)
    vault.git("switch", "-q", "main")
    change(vault, *ours)


def attempt(vault, *words: str) -> bool:
    """Run Git; whether it went through."""
    done = subprocess.run(["git", *words], cwd=vault.root, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 0


def now(vault, path: str = PLAN) -> str:
    """The note as it lies there, which counts as the user's from now on."""
    return vault.accept(path).decode()


def kinds(vault) -> set[tuple[str, str]]:
    return {(f.path, f.kind) for f in vault.findings()}


HEADS = [[("may]", "may, marrows]"), ("05-01", "05-03")], [("[garden, may]", "[may]"), ("05-01", "05-02")]]
HEAD_MERGED = NOTE.replace("[garden, may]", "[may, marrows]").replace("05-01", "05-03")
BODIES = [[("wombat sleeps", "wombat eats")], [("wombat sleeps", "wombat digs"), ("peas", "kale")]]
BODY_TORN = NOTE.replace("peas", "kale").replace(
    "The wombat sleeps in the shed.\n",
    "<<<<<<< one version\nThe wombat digs in the shed.\n=======\nThe wombat eats in the shed.\n"
    ">>>>>>> another version\n",
)


# ------------------------------------------------------------------ (a), (e): with the driver


@pytest.mark.parametrize(
    "way", [("merge", "-q", "--no-edit", "side"), ("rebase", "-q", "side"), ("cherry-pick", "side")]
)
def test_g7_a_tags_unite_and_the_later_time_stays(driven, way):
    branches(driven, *HEADS)
    assert attempt(driven, *way)
    assert now(driven) == HEAD_MERGED
    assert driven.engine.status()["merge_driver"]["installed"]
    driven.holds(queries=["wombat"])


def test_g7_a_a_series_of_commits_is_rebased(driven):
    driven.git("switch", "-qc", "side")
    for n in range(5):
        change(
            driven, (f"updated: 2026-05-0{n + 1}", f"updated: 2026-05-0{n + 2}"), ("garden, may", f"t{n}, garden, may")
        )
    driven.git("switch", "-q", "main")
    change(driven, ("updated: 2026-05-01", "updated: 2026-05-04"), ("may]", "may, ours]"), ("Then peas.", "Then corn."))
    assert attempt(driven, "rebase", "-q", "main", "side")
    text = now(driven)
    assert set(parse(text, PLAN).tags) == {"t0", "t1", "t2", "t3", "t4", "garden", "may", "ours"}
    assert "updated: 2026-05-06\n" in text
    assert "Then corn." in text
    driven.holds()


def test_g7_a_criss_cross(driven):
    """Each branch merges the other, and then again: Git first merges the two bases."""
    branches(driven, *HEADS)
    driven.git("branch", "ours")
    assert attempt(driven, "merge", "-q", "--no-edit", "side")
    change(driven, ("Marrows first.", "Marrows second."))
    driven.git("switch", "-q", "side")
    assert attempt(driven, "merge", "-q", "--no-edit", "ours")
    assert now(driven) == HEAD_MERGED, "the same from either side"
    change(driven, ("may, marrows]", "may, marrows, more]"))
    driven.git("switch", "-q", "main")
    assert attempt(driven, "merge", "-q", "--no-edit", "side")
    assert now(driven) == HEAD_MERGED.replace("marrows]", "marrows, more]").replace("Marrows first", "Marrows second")
    driven.holds()


def test_g7_a_a_note_that_both_added(driven):
    driven.git("switch", "-qc", "side")
    change(driven, path="new.md", base="---\ntags: [a]\n---\n# New\n\n## One\nThe okapi.\n")
    driven.git("switch", "-q", "main")
    change(driven, path="new.md", base="---\ntags: [b]\n---\n# New\n\n## Two\nThe tapir.\n")
    assert attempt(driven, "merge", "-q", "--no-edit", "side")
    text = now(driven, "new.md")
    assert parse(text, "new.md").tags in {("a", "b"), ("b", "a")}
    assert "okapi" in text
    assert "tapir" in text
    driven.holds()


def test_g7_a_line_ends_of_windows(driven):
    for ours, theirs in [(NOTE.replace("\n", "\r\n"), NOTE.replace("peas", "kale"))]:
        driven.git("switch", "-qc", "side")
        change(driven, base=theirs)
        driven.git("switch", "-q", "main")
        driven.put(PLAN, ours.encode())
        driven.commit(PLAN)
    assert attempt(driven, "merge", "-q", "--no-edit", "side")
    assert driven.accept(PLAN) == NOTE.replace("peas", "kale").replace("\n", "\r\n").encode()


@pytest.mark.parametrize("name", ["a b.md", "ü\n.md", "$(touch pwned).md", "it's.md", "-x.md", "-h.md", "--.md"])
def test_g7_a_odd_names(driven, name):
    driven.put(name, NOTE)
    driven.commit(name)
    driven.git("switch", "-qc", "side")
    change(driven, *HEADS[0], path=name)
    driven.git("switch", "-q", "main")
    change(driven, *HEADS[1], path=name)
    assert attempt(driven, "merge", "-q", "--no-edit", "side")
    assert now(driven, name) == HEAD_MERGED
    driven.holds()


def test_g7_a_needs_no_vault_and_no_settings(driven):
    branches(driven, *HEADS)
    driven.put("atlas.toml", "[[[ broken")
    driven.commit("atlas.toml")
    assert attempt(driven, "merge", "-q", "--no-edit", "side")
    assert now(driven) == HEAD_MERGED
    driven.put("atlas.toml", "")


def test_g7_e_a_conflict_keeps_both_texts_and_is_listed_until_it_is_resolved(driven):
    branches(driven, *BODIES)
    assert not attempt(driven, "merge", "-q", "--no-edit", "side")
    assert now(driven) == BODY_TORN
    assert kinds(driven) == {(PLAN, "conflict-markers"), (PLAN, "unmerged")}
    assert {PLAN} <= {*driven.paths("wombat digs"), *driven.paths("wombat eats")}
    driven.git("add", PLAN)
    assert kinds(driven) == {(PLAN, "conflict-markers")}
    assert [f.kind for f in driven.engine.validate(staged=True)] == ["conflict-markers"]
    driven.put(PLAN, NOTE.replace("sleeps", "digs and eats").replace("peas", "kale"))
    driven.git("add", PLAN)
    driven.git("commit", "-qm", "merged")
    driven.holds()


def test_g7_e_metadata_stays_readable_and_the_other_value_is_listed(driven):
    branches(driven, [("0.5", "0.6")], [("0.5", "0.9")])
    assert not attempt(driven, "merge", "-q", "--no-edit", "side")
    text = now(driven)
    assert "# conflict: importance: 0.9\nimportance: 0.6\n" in text
    assert parse(text, PLAN).readable
    driven.git("commit", "-qam", "too early")
    assert kinds(driven) == {(PLAN, "conflict-value")}
    assert [f.kind for f in driven.engine.validate()] == ["conflict-value"]
    ran = driven.cli("merge", "--repair", "--json")
    assert (ran.code, [row["kind"] for row in ran.json["conflicts"]], ran.json["commit"]) == (1, ["conflict-value"], "")
    assert now(driven) == text, "which value is right, nobody but a person knows"


# ------------------------------------------------------------------ (b), (c): without it


def test_g7_b_a_clone_is_told_that_it_has_no_driver(plan, tmp_path, git):
    git(tmp_path, "clone", "-q", str(plan.root), "clone")
    clone = tmp_path / "clone"
    done = subprocess.run(
        [sys.executable, "-P", "-m", "atlas", "status", "--json"], cwd=clone, capture_output=True, check=True
    )
    state = json.loads(done.stdout)["merge_driver"]
    assert not state["installed"]
    assert "atlas hooks install" in state["inactive_reason"]


def test_g7_c_an_older_branch_is_told_that_it_has_no_rule(driven):
    driven.put(".gitattributes", "*.md diff=markdown\n")
    assert "no attribute names it" in driven.engine.status()["merge_driver"]["inactive_reason"]
    template.create(driven.root)
    assert driven.engine.status()["merge_driver"] == {"installed": True, "inactive_reason": ""}


# ------------------------------------------------------------------ atlas merge


@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
def test_merge_takes_what_git_left(plan, style):
    plan.git("config", "merge.conflictStyle", style)
    branches(plan, *HEADS)
    assert not attempt(plan, "merge", "-q", "--no-edit", "side")
    torn = plan.accept(PLAN)
    assert MARKS in torn
    assert plan.cli("merge", "--dry-run", "--json").json["merged"] == [PLAN]
    assert plan.accept(PLAN) == torn
    ran = plan.cli("merge", "--json")
    assert (ran.code, ran.json["merged"], ran.json["conflicts"]) == (0, [PLAN], [])
    assert now(plan) == HEAD_MERGED
    assert plan.git("diff", "--name-only", "--diff-filter=U") == ""
    plan.git("commit", "-qm", "merged")
    assert plan.cli("merge").code == 0
    plan.holds()


@pytest.mark.parametrize("way", [("rebase", "-q", "side"), ("cherry-pick", "side")])
def test_merge_within_a_rebase_and_a_cherry_pick(plan, way):
    branches(plan, *HEADS)
    assert not attempt(plan, *way)
    assert plan.cli("merge").code == 0
    assert now(plan) == HEAD_MERGED
    assert attempt(plan, "-c", "core.editor=true", way[0], "--continue")
    plan.holds()


def test_merge_names_what_conflicts_still_and_stages_only_the_rest(plan):
    plan.git("switch", "-qc", "side")
    change(plan, *BODIES[1])
    change(plan, ("tags: [garden]", "tags: [garden, a]"), path="garden.md")
    plan.git("switch", "-q", "main")
    change(plan, *BODIES[0])
    change(plan, ("tags: [garden]", "tags: [garden, b]"), path="garden.md")
    assert not attempt(plan, "merge", "-q", "--no-edit", "side")
    ran = plan.cli("merge", "--json")
    assert (ran.code, ran.json["merged"]) == (1, ["garden.md"])
    assert [(row["path"], row["line"], row["kind"]) for row in ran.json["conflicts"]] == [(PLAN, 9, "conflict-markers")]
    assert now(plan) == BODY_TORN
    assert "tags: [garden, b, a]" in now(plan, "garden.md").replace("a, b", "b, a")
    assert plan.git("diff", "--name-only", "--diff-filter=U").split() == [PLAN]
    again = plan.cli("merge", "--json")
    assert (again.code, again.json["left"]) == (1, [])
    assert now(plan) == BODY_TORN


@pytest.mark.parametrize("half", ["wombat eats", "My own words.\n"])
def test_merge_leaves_a_half_finished_resolution_alone(plan, half):
    branches(plan, *HEADS)
    assert not attempt(plan, "merge", "-q", "--no-edit", "side")
    torn = now(plan)
    mine = (
        torn.replace("wombat sleeps", half) if "wombat" in half else torn[: torn.index("<<<")] + "tags: [mine]\n" + half
    )
    plan.put(PLAN, mine)
    ran = plan.cli("merge", "--json")
    assert (ran.code, ran.json["merged"]) == (1, [])
    assert "checkout --merge" in ran.json["left"][0]["message"]
    assert now(plan) == mine
    assert plan.git("diff", "--name-only", "--diff-filter=U").split() == [PLAN]
    plan.git("checkout", "--merge", "--", PLAN)
    assert plan.cli("merge").code == 0
    assert now(plan) == HEAD_MERGED


def test_merge_after_a_driver_that_could_not_run(plan):
    """Git then keeps ours, without a mark, and hides theirs."""
    plan.git("config", "merge.atlas.driver", "false")
    branches(plan, *HEADS)
    assert not attempt(plan, "merge", "-q", "--no-edit", "side")
    assert MARKS not in plan.accept(PLAN)
    assert plan.cli("merge").code == 0
    assert now(plan) == HEAD_MERGED


def test_a_deletion_against_an_edit_is_left_to_a_person(plan):
    plan.git("switch", "-qc", "side")
    plan.git("rm", "-q", PLAN)
    plan.git("commit", "-qm", "gone")
    plan.git("switch", "-q", "main")
    text = change(plan, *HEADS[0])
    assert not attempt(plan, "merge", "-q", "--no-edit", "side")
    ran = plan.cli("merge", "--json")
    assert (ran.code, ran.json["left"][0]["path"]) == (1, PLAN)
    assert now(plan) == text
    assert (PLAN, "unmerged") in kinds(plan)


def test_merge_of_named_notes_and_outside_git(plan, tmp_path):
    branches(plan, *HEADS)
    assert not attempt(plan, "merge", "-q", "--no-edit", "side")
    assert plan.cli("merge", "garden.md").code == 0
    assert MARKS in plan.accept(PLAN)
    assert plan.cli("merge", PLAN).code == 0
    assert now(plan) == HEAD_MERGED
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "atlas.toml").write_text("")
    done = subprocess.run([sys.executable, "-P", "-m", "atlas", "merge"], cwd=bare, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"not under Git" in done.stderr


# ------------------------------------------------------------------ (d): marks that slipped in


def slipped(vault, ours, theirs, style: str = "merge") -> str:
    """Merge without the driver and commit the marks."""
    vault.git("config", "merge.conflictStyle", style)
    branches(vault, ours, theirs)
    assert not attempt(vault, "merge", "-q", "--no-edit", "side")
    vault.git("commit", "-qam", "marks and all")
    return now(vault)


@pytest.mark.parametrize("style", ["merge", "diff3"])
def test_g7_d_marks_in_metadata_are_flagged_and_repaired(plan, style):
    slipped(plan, *HEADS, style)
    assert kinds(plan) == {(PLAN, "frontmatter"), (PLAN, "conflict-markers")}
    card = plan.hits("wombat")[0]
    assert card.path == PLAN
    assert plan.engine.expand(PLAN).tags == (), "neither side passes for the note's"
    assert plan.engine.validate(), "and the hook refuses it"
    ran = plan.cli("merge", "--repair", "--json")
    assert (ran.code, ran.json["merged"], ran.json["committed"]) == (0, [PLAN], True)
    assert now(plan) == HEAD_MERGED, "what both came from is known from the merge"
    entry = plan.engine.history(limit=1)[0]
    assert (entry.op, entry.paths) == ("repair", (PLAN,))
    plan.holds()
    plan.engine.undo()
    assert MARKS in plan.accept(PLAN)


def test_g7_d_marks_that_no_merge_explains_unite_what_can_be_united(driven):
    """The merge in history that touched the note did not leave them, so it does not tell what they came from."""
    plan = driven
    branches(plan, [("0.5", "0.6")], [("peas", "kale")])
    assert attempt(plan, "merge", "-q", "--no-edit", "side")
    now(plan)
    text = NOTE.replace(
        "tags: [garden, may]\nupdated: 2026-05-01\n",
        "<<<<<<< HEAD\ntags: [garden, may, a]\nupdated: 2026-05-02\n=======\ntags: [may, b]\nupdated: 2026-05-03\n"
        ">>>>>>> stash\n",
    )
    plan.put(PLAN, text)
    ran = plan.cli("merge", "--repair", "--json")
    assert (ran.code, ran.json["merged"]) == (0, [PLAN])
    note = parse(now(plan), PLAN)
    assert (set(note.tags), note.meta["updated"]) == ({"garden", "may", "a", "b"}, "2026-05-03")
    assert [entry.op for entry in plan.engine.history(limit=2)] == ["repair", "keep"], "what was there is in history"
    plan.holds()


def test_g7_d_a_repair_keeps_both_texts_where_they_conflict(plan):
    torn = slipped(plan, HEADS[0] + BODIES[0], HEADS[1] + BODIES[1])
    assert parse(torn, PLAN).readable is False
    assert plan.cli("merge", "--repair", "--dry-run").code == 1
    assert now(plan) == torn
    ran = plan.cli("merge", "--repair", "--json")
    assert (ran.code, ran.json["merged"], ran.json["committed"]) == (1, [], True)
    text = now(plan)
    assert "wombat digs" in text
    assert "wombat eats" in text
    assert parse(text, PLAN).readable
    assert kinds(plan) == {(PLAN, "conflict-markers")}
    again = plan.cli("merge", "--repair", "--json")
    assert now(plan) == text
    assert (again.code, again.json["commit"]) == (1, "")
    assert now(plan) == text


def test_a_repair_waits_for_a_merge_under_way(plan):
    branches(plan, *HEADS)
    assert not attempt(plan, "merge", "-q", "--no-edit", "side")
    torn = now(plan)
    ran = plan.cli("merge", "--repair", "--json")
    assert (ran.code, ran.json["left"][0]["message"].endswith("`atlas merge`")) == (1, True)
    assert now(plan) == torn


def test_a_repair_leaves_examples_and_what_it_cannot_read_alone(plan):
    example = "# How to\n\n```\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> b\n```\n"
    plan.put("example.md", example)
    plan.put("half.md", "# Half\n\n<<<<<<< HEAD\nonly one\n")
    assert plan.cli("merge", "--repair").code == 0
    plan.holds()


# ------------------------------------------------------------------ cost


def test_the_driver_loads_nothing_heavy(plan):
    code = (
        "import sys; from atlas.commands import main\ntry: main(['merge-driver', *sys.argv[1:]])\n"
        "except SystemExit as end: print(end.code, *sorted({m.split('.')[0] for m in sys.modules}))"
    )
    files = [plan.root / name for name in ("o", "a", "b")]
    for place, text in zip(files, (NOTE, NOTE.replace("0.5", "0.6"), NOTE.replace("peas", "kale")), strict=True):
        place.write_text(text)
    began = time.process_time()
    ran = plan.script(code, *map(str, files), PLAN)
    assert time.process_time() - began < 5
    ended, *loaded = ran.out.split()
    assert ended == "0"
    assert not {*loaded} & {"duckdb", "numpy", "git", "rich", "frontmatter", "tokenizers", "watchdog", "Stemmer"}
    assert files[1].read_text() == NOTE.replace("0.5", "0.6").replace("peas", "kale")
    for place in files:
        place.unlink()


def test_a_driver_that_cannot_write_says_so_to_git(plan):
    ran = plan.cli("merge-driver", "nowhere", "nowhere", "nowhere", PLAN)
    assert ran.code == 129
    assert PLAN in ran.err
