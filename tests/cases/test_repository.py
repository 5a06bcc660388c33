"""G: hooks' variables, commits that cannot be made, and repositories in odd states."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import children
import pytest

from atlas import template
from atlas.engine import MemoryEngine

from .waiting import ATLAS, log, said_not_committed

NOBODY = 65534
ORDINARY_QUESTION = "vinegar"


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# ------------------------------------------------------------------ G1: Git's own variables


@pytest.fixture
def other(tmp_path, make_repo, git):
    """Another repository, which a hook's variables point to."""
    folder = make_repo(tmp_path / "other")
    (folder / "theirs.md").write_text("Theirs.\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "theirs")
    return folder


def hook_variables(other: Path) -> dict[str, str]:
    """What Git gives to a hook, all of it pointing elsewhere."""
    return {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / "i"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git" / "objects"),
        "GIT_COMMON_DIR": str(other / ".git"),
        "GIT_PREFIX": "sub/",
        "GIT_NAMESPACE": "x",
        "GIT_LITERAL_PATHSPECS": "0",
        "GIT_CONFIG_PARAMETERS": "'user.name=Nobody Asked'",
    }


def test_g1_the_engine_works_on_its_own_repository(vault, other, git, monkeypatch):
    before = snapshot(other)
    for name, value in hook_variables(other).items():
        monkeypatch.setenv(name, value)
    vault.engine.refresh(rebuild=True)
    stored = vault.engine.ingest("Remembered from within a hook.")
    assert stored.applied.committed
    vault.engine.tag("kettle.md", ["kitchen"])
    assert [entry.op for entry in vault.engine.history(limit=2)] == ["tag", "ingest"]
    vault.engine.undo()
    assert vault.engine.validate(staged=True) == []
    for name in hook_variables(other):
        monkeypatch.delenv(name)
    assert snapshot(other) == before
    assert git(vault.root, "log", "-1", "--format=%an") == "Ada Example\n"
    assert git(vault.root, "diff", "--name-only", "HEAD~3", "HEAD").splitlines() == [stored.applied.paths[0]]
    vault.holds(queries=["within a hook"])


def test_g1_the_command_line_too(vault, other):
    before = snapshot(other)
    env = hook_variables(other)
    ran = vault.cli("ingest", "Remembered from within a hook.", "--json", env=env)
    assert (ran.code, ran.json["committed"]) == (0, True)
    assert (
        vault.cli("search", "within a hook", "--json", env=env).json["hits"][0]["path"]
        == ran.json["memories"][0]["path"]
    )
    assert snapshot(other) == before
    assert ran.json["commit"] == vault.git("rev-parse", "HEAD").strip()
    vault.holds()


@pytest.mark.parametrize(
    "words", [["commit", "-m", "x"], ["commit", "-am", "x"], ["commit", "-m", "x", "--", "one.md"]]
)
def test_g1_from_a_hook_of_a_linked_worktree(vault, tmp_path, make_repo, git, words):
    """The hook remembers in a second vault: the commit under way holds what was staged, and nothing else."""
    second = make_repo(tmp_path / "second")
    template.create(second)
    tree = tmp_path / "linked"
    vault.git("worktree", "add", "-q", "-b", "side", str(tree))
    hook = vault.root / ".git" / "hooks" / "pre-commit"
    hook.write_text(
        f"#!/bin/sh\ncd '{second}' && {ATLAS} ingest 'A commit was made elsewhere.' >&2\n"
        f"cd '{tree}' && {ATLAS} index >&2\n"
    )
    hook.chmod(0o755)
    (tree / "one.md").write_text("One wombat.\n")
    git(tree, "add", "one.md")
    (tree / "garden.md").write_text("The garden was dug over.\n")
    git(tree, *words)
    changed = git(tree, "show", "--format=", "--name-only", "HEAD").split()
    assert changed == (["garden.md", "one.md"] if words[1] == "-am" else ["one.md"])
    assert git(second, "log", "--format=%s", "-1") == "Remember A commit was made elsewhere\n"
    assert len(git(second, "show", "--format=", "--name-only", "HEAD").split()) == 1
    with MemoryEngine(tree, create=False) as linked:
        assert linked.refresh().derived == 0, "the hook had indexed the linked tree itself"
        assert linked.retrieve("wombat")[0].path == "one.md"
        assert linked.ingest("Remembered in the linked tree.").applied.committed
    assert log(tree, git, "-1")[0].startswith("ingest")
    assert "one.md" not in {hit.path for hit in vault.hits("wombat")}
    hook.unlink()
    vault.holds()


# ------------------------------------------------------------------ G4: a commit that cannot be made


def impatient(vault) -> MemoryEngine:
    """An engine that waits a second for a signature."""
    toml = vault.root / "atlas.toml"
    vault.put("atlas.toml", toml.read_bytes() + b"\n[git]\ntimeout_seconds = 1\n" if b"[git]" not in toml.read_bytes()
              else toml.read_bytes().replace(b"[git]", b"[git]\ntimeout_seconds = 1"))  # fmt: skip
    vault.commit("atlas.toml")
    return MemoryEngine(vault.root, create=False)


def test_g4_a_signer_that_sleeps(vault, tmp_path, ended):
    with impatient(vault) as engine:
        head = vault.git("rev-parse", "HEAD")
        signer = tmp_path / "signer"
        signer.write_text(f"#!/bin/sh\necho $$ >> '{tmp_path}/pids'\nexec sleep 600\n")
        signer.chmod(0o755)
        vault.git("config", "commit.gpgsign", "true")
        vault.git("config", "gpg.program", str(signer))
        paths = [said_not_committed(engine, f"Statement {n} about the valve.", "signing") for n in range(3)]
        assert not engine.append(paths[0], "And the washer.").committed
        pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
        assert len(pids) == 4, "each write waits for the signer once, however many wait before it"
        assert all(ended(pid) for pid in pids)
        assert vault.git("rev-parse", "HEAD") == head
        assert vault.git("config", "commit.gpgsign") == "true\n"
        assert vault.engine.status()["waiting"] == [*paths, paths[0]]
        vault.b6_git_is_whole_and_staging_untouched()
        vault.git("config", "commit.gpgsign", "false")
        assert engine.ingest("The key is there again.").applied.committed
        assert engine.status()["waiting"] == []
    made = vault.git("log", "--reverse", "--format=%s", f"{head.strip()}..").splitlines()
    assert [line.split()[2] for line in made] == ["0", "1", "2", "0", "key"]
    vault.holds(queries=["about the valve"])


def test_g4_no_identity(vault):
    vault.git("config", "user.useConfigOnly", "true")
    vault.git("config", "--unset", "user.email")
    ran = vault.cli("ingest", "The valve was replaced.")
    assert ran.code == 3
    assert "Saved, not committed" in ran.err
    assert "git config user.email" in ran.err
    assert vault.git("config", "--get-regexp", r"^user\.").splitlines() == [
        "user.name Ada Example",
        "user.useconfigonly true",
    ]
    vault.git("config", "user.email", "ada@example.test")
    assert vault.engine.ingest("Now Git knows who this is.").applied.committed
    assert vault.git("log", "-2", "--format=%ae").split() == ["ada@example.test"] * 2
    assert vault.engine.status()["waiting"] == []
    vault.holds(queries=["valve"])


def remember_without_rights(root: str) -> tuple[bool, str, list[str], str]:
    """As somebody who may write the vault, but not its `.git`."""
    if not os.geteuid():
        with MemoryEngine(root, create=False) as engine:  # loads all that only root may read
            engine.ingest("Something else, before.")
            engine.status()
        for place in (Path(root).parent, Path(root), *Path(root).rglob("*")):
            os.chown(place, NOBODY, NOBODY, follow_symlinks=False)
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    for place in (Path(root, ".git"), *Path(root, ".git").rglob("*")):
        place.chmod(0o555 if place.is_dir() else 0o444)
    with MemoryEngine(root, create=False) as engine:
        stored = engine.ingest("The valve was replaced.")
        found = engine.retrieve("valve replaced")[0].path
        return stored.applied.committed, stored.applied.note, engine.status()["waiting"], found


def test_g4_a_git_folder_that_may_not_be_written(make_repo, git):
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        root = make_repo(Path(folder) / "vault")
        template.create(root)
        committed, note, waiting, found = children.start(remember_without_rights, str(root)).result()
        assert not committed
        assert "denied" in note.lower()
        assert waiting == [found]
        assert (root / found).exists()
        for place in (root, *root.rglob("*")):
            os.chown(place, os.geteuid(), os.getegid(), follow_symlinks=False)
            place.chmod(0o755 if place.is_dir() else 0o644)
        with MemoryEngine(root, create=False) as engine:
            assert engine.ingest("It may be written again.").applied.committed
            assert engine.status()["waiting"] == []
        assert git(root, "status", "--porcelain") == ""
        assert "error" not in git(root, "fsck", "--no-dangling")


# ------------------------------------------------------------------ G5: odd repositories


def notes(folder: Path) -> Path:
    """A folder of notes that is a vault without Git."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "atlas.toml").write_text("")
    (folder / "kettle.md").write_text("# Kettle\n\nDescale the kettle with vinegar.\n")
    return folder


def test_g5_no_git_at_all(tmp_path):
    root = notes(tmp_path / "plain")
    with MemoryEngine(root, create=False) as engine:
        stored = engine.ingest("Remembered without Git.")
        assert "git init" in stored.applied.note
        assert not stored.applied.committed
        assert engine.retrieve(ORDINARY_QUESTION)[0].path == "kettle.md"
        assert engine.status()["git"]["blocked"] != ""
        assert engine.append("kettle.md", "And rinse.").paths == ("kettle.md",)
    assert not (root / ".git").exists()


def test_g5_git_that_came_later_takes_over(tmp_path, make_repo, git):
    root = notes(tmp_path / "plain")
    with MemoryEngine(root, create=False) as engine:
        first = engine.ingest("Remembered without Git.")
        make_repo(root)
        second = engine.ingest("Remembered on a branch that is not born yet.")
        assert second.applied.committed
        assert git(root, "show", "--format=", "--name-only", "HEAD").split() == list(second.applied.paths)
        assert set(first.applied.paths) <= set(engine.status()["uncommitted"])
        assert engine.retrieve(ORDINARY_QUESTION)[0].path == "kettle.md"
        assert len(engine.history()) == 1
        engine.undo()
        assert not (root / second.applied.paths[0]).exists()


def test_g5_a_bare_repository_is_refused_in_words(tmp_path, git):
    root = notes(tmp_path / "bare")
    git(root, "init", "-q", "--bare")
    before = snapshot(root)
    with MemoryEngine(root, create=False) as engine:
        assert engine.retrieve(ORDINARY_QUESTION)[0].path == "kettle.md"
        stored = engine.ingest("Remembered in a bare one.")
        assert not stored.applied.committed
        assert "bare" in stored.applied.note
        assert "bare" in engine.status()["git"]["blocked"]
    after = snapshot(root)
    new = {name for name in after if name not in before and not name.startswith(".atlas/")}
    assert new == {stored.applied.paths[0]}


def test_g5_a_subfolder_of_a_larger_repository(tmp_path, make_repo, git, sound):
    outer = make_repo(tmp_path / "outer")
    (outer / "code.py").write_text("print(1)\n")
    (outer / "readme.md").write_text("Not a memory: vinegar.\n")
    root = notes(outer / "docs" / "memory")
    git(outer, "add", "-A")
    git(outer, "commit", "-qm", "outer")
    (outer / "code.py").write_text("print(2)\n")
    (outer / "staged.py").write_text("print(3)\n")
    git(outer, "add", "staged.py")
    (outer / "new.md").write_text("untracked\n")
    dirty = git(outer, "status", "--porcelain", "--", ":!docs")
    with MemoryEngine(root, create=False) as engine:
        stored = engine.ingest("The valve was replaced.")
        engine.append("kettle.md", "And rinse.")
        assert stored.applied.committed
        assert {hit.path for hit in engine.retrieve(ORDINARY_QUESTION)} <= {"kettle.md", *stored.applied.paths}
        assert {e.op for e in engine.history()} >= {"ingest", "edit"}
        engine.undo()
        assert engine.status()["uncommitted"] == []
    touched = set(git(outer, "log", "--format=", "--name-only", "HEAD~3..HEAD").split())
    assert touched == {f"docs/memory/{stored.applied.paths[0]}", "docs/memory/kettle.md"}
    assert git(outer, "status", "--porcelain", "--", ":!docs") == dirty
    assert git(outer, "diff", "--cached", "--name-only").split() == ["staged.py"]
    sound(outer)


def test_g5_a_repository_of_another_owner(vault, monkeypatch, home):
    """Git refuses; its own advice is passed on, and nobody's configuration is edited."""
    config = snapshot(home)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert vault.first(ORDINARY_QUESTION) == "kettle.md"
    path = said_not_committed(vault.engine, "The valve was replaced.", "safe.directory")
    assert "safe.directory" in vault.engine.status()["git"]["blocked"]
    ran = vault.cli("ingest", "The boiler was bled.")
    assert ran.code == 3
    assert "safe.directory" in ran.err
    monkeypatch.delenv("GIT_TEST_ASSUME_DIFFERENT_OWNER")
    assert snapshot(home) == config
    assert vault.engine.ingest("It is ours again.").applied.committed
    assert vault.git("log", "--format=%H", "--", path).strip()
    assert vault.engine.status()["waiting"] == []
    vault.holds(queries=["valve"])


def test_g5_where_dot_git_is_a_file(tmp_path, make_repo, git, sound):
    """A linked working tree, and a repository whose folder lies elsewhere (as a submodule's does)."""
    first = make_repo(tmp_path / "first")
    template.create(first)
    git(first, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    apart = tmp_path / "apart"
    git(tmp_path, "clone", "-q", "--separate-git-dir", str(tmp_path / "gitdir"), str(first), str(apart))
    git(apart, "config", "user.name", "Ada Example")
    git(apart, "config", "user.email", "ada@example.test")
    for root, branch in ((tmp_path / "linked", "side"), (apart, "main")):
        assert (root / ".git").is_file()
        head = git(first, "rev-parse", "HEAD")
        with MemoryEngine(root, create=False) as engine:
            stored = engine.ingest("The valve was replaced.")
            assert stored.applied.commit == git(root, "rev-parse", branch).strip()
            assert engine.search("valve").tree == stored.applied.commit
            git(root, "commit", "-q", "--allow-empty", "-m", "by hand")
            assert engine.search("valve").tree == git(root, "rev-parse", "HEAD").strip()
        assert git(first, "rev-parse", "HEAD") == head
        assert git(root, "status", "--porcelain") == ""
    sound(first)
