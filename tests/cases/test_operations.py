"""G6: while an operation of the user's is under way, nothing is committed into it; afterwards everything is, once."""

from __future__ import annotations

import subprocess

import pytest

from .waiting import ATLAS, log, said_not_committed


@pytest.fixture
def forked(vault):
    """Two branches that both changed the kettle; main is checked out."""
    vault.git("switch", "-qc", "side")
    vault.put("kettle.md", "# Kettle\n\nDescale it with vinegar on Mondays.\n")
    vault.commit("kettle.md")
    vault.put("pan.md", "# Pan\n\nSeason it with oil.\n")
    vault.commit("pan.md")
    vault.git("switch", "-q", "main")
    vault.put("kettle.md", "# Kettle\n\nDescale it with vinegar on Fridays.\n")
    vault.commit("kettle.md")
    vault.left.pop("pan.md")
    # Git begins no rebase while something is staged.
    vault.git("restore", "--staged", "shopping.txt")
    vault.drop("shopping.txt")
    vault.staged = ""
    return vault


#: What is begun, what the person does to end it, and how the commits read then, newest first.
OPERATIONS = {
    "rebase": (("rebase", "side"), ("rebase", "--continue")),
    "merge": (("merge", "side"), ("commit", "-q", "--no-edit")),
    "cherry-pick": (("cherry-pick", "side~1"), ("cherry-pick", "--continue")),
    "revert": (("revert", "--no-edit", "HEAD~1"), ("revert", "--continue")),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_g6_in_the_middle_of_an_operation(forked, name, monkeypatch):
    vault = forked
    monkeypatch.setenv("GIT_EDITOR", "true")
    begin, end = OPERATIONS[name]
    if name == "revert":
        vault.put("kettle.md", "# Kettle\n\nDescale it with vinegar on Sundays.\n")
        vault.commit("kettle.md")
    stopped = subprocess.run(["git", *begin], cwd=vault.root, capture_output=True, check=False)
    assert stopped.returncode != 0
    index, head = vault.git("ls-files", "-s"), vault.git("rev-parse", "HEAD")
    refs = vault.git("for-each-ref")

    paths = [said_not_committed(vault.engine, f"Statement {n} was made meanwhile.", name) for n in range(2)]
    # A rebase goes on only when no tracked file has changes besides.
    target = paths[0] if name == "rebase" else "garden.md"
    assert not vault.engine.append(target, "Water them.").committed
    assert vault.cli("tag", target, "spring").code == 3
    vault.accept(target)
    assert vault.git("ls-files", "-s") == index
    assert vault.git("rev-parse", "HEAD") == head
    assert vault.git("for-each-ref") == refs
    assert vault.first("vinegar") == "kettle.md"

    vault.put("kettle.md", "# Kettle\n\nDescale it with vinegar at weekends.\n")
    vault.git("add", "kettle.md")
    vault.git(*end)
    between = vault.git("log", "--format=%s", f"{head.strip()}..").splitlines()
    assert len(between) <= 1 + (name == "merge") * 2, "nothing extra was committed"
    assert all("Remember" not in line for line in between)
    done = vault.git("rev-parse", "HEAD").strip()
    assert vault.git("rev-list", "--count", f"{done}..").strip() == "0"

    assert vault.engine.ingest("All is quiet again.").applied.committed
    assert vault.engine.status()["waiting"] == []
    ops = vault.git("log", "--reverse", "--format=%(trailers:key=Atlas-Op,valueonly)", f"{done}..").split()
    assert ops == ["ingest", "ingest", "edit", "tag", "ingest"]
    touched = set(vault.git("log", "--format=", "--name-only", f"{done}..").split())
    assert touched > {*paths, target}
    assert len(touched - {*paths, target}) == 1
    assert vault.git("status", "--porcelain", "--", "*.md") == ""
    if (vault.root / "pan.md").exists():
        vault.accept("pan.md")
    vault.holds(queries=["statement made meanwhile"])


def test_g6_in_the_middle_of_a_bisect(forked):
    vault = forked
    vault.git("bisect", "start", "HEAD", "HEAD~2")
    said_not_committed(vault.engine, "Statement made meanwhile.", "bisect")
    vault.git("bisect", "reset")
    assert vault.engine.ingest("All is quiet again.").applied.committed
    assert log(vault.root, vault.run_git, "-2") == [
        "ingestRemember All is quiet again",
        "ingestRemember Statement made meanwhile",
    ]
    vault.holds(queries=["statement made meanwhile"])


def test_g6_a_detached_head(vault):
    branch = vault.git("rev-parse", "main")
    vault.git("checkout", "-q", "--detach")
    path = said_not_committed(vault.engine, "The valve was replaced.", "detached", "git switch")
    ran = vault.cli("ingest", "The boiler was bled.")
    assert ran.code == 3
    assert vault.git("rev-parse", "main", "HEAD") == branch * 2
    vault.git("switch", "-q", "main")
    assert vault.engine.ingest("Back on a branch.").applied.committed
    assert vault.git("log", "--format=%s", "--", path) == "Remember The valve was replaced\n"
    assert vault.git("rev-list", "--count", f"{branch.strip()}..main").strip() == "3"
    vault.holds(queries=["valve"])


def test_g6_a_rebase_without_conflicts_is_left_alone(forked):
    """A search in the middle of every step, as a hook would make it, and no commit but the user's."""
    vault = forked
    vault.git("reset", "-q", "--hard", "HEAD~1")
    for n in range(5):
        vault.put(f"n{n}.md", f"Note {n} about herons.\n")
        vault.commit(f"n{n}.md")
    script = f"{ATLAS} search herons > /dev/null && {ATLAS} ingest 'In a rebase.'; test $? != 1"
    vault.git("rebase", "-q", "--exec", script, "side")
    subjects = vault.git("log", "--format=%s", "side..").splitlines()
    assert subjects == ["by hand"] * 5
    vault.accept("pan.md")
    vault.accept("kettle.md")
    assert vault.engine.ingest("All is quiet again.").applied.committed
    assert log(vault.root, vault.run_git, "-2") == ["ingestRemember All is quiet again", "ingestRemember In a rebase"]
    vault.holds(queries=["herons"])
