"""G1, G2, G3, G6, N3, A2 and P3 through hooks that are installed as a person installs them."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from filelock import FileLock

from atlas.engine import MemoryEngine

from .malformed import NAMES

BAD = "---\ntitle: *Draft*\n---\nNot fine.\n"
FINE = "---\ntitle: Draft\n---\nFine.\n"


@pytest.fixture
def hooked(vault):
    """The vault of the cases, with hooks."""
    said = vault.cli("hooks", "install", "--json")
    assert said.code == 0, said.err
    yield vault
    settle(vault.root)


def settle(root: Path) -> None:
    """Wait until no refresh runs behind Git's back any more."""
    time.sleep(0.2)
    (root / ".atlas").mkdir(exist_ok=True)
    with FileLock(root / ".atlas" / "hooks.lock", timeout=60):
        pass


def attempt(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=folder, env={**os.environ, **env}, capture_output=True,
                          encoding="utf-8", timeout=120, check=False)  # fmt: skip


def committed(folder: Path, *words: str) -> str:
    """Try to commit; what was said against it, "" when the commit was made."""
    done = attempt(folder, "commit", "-qm", "by hand", *words)
    assert done.returncode == 0 or done.stderr
    return done.stderr if done.returncode else ""


def unstage_the_shopping(vault) -> None:
    """These cases commit all that is staged."""
    vault.git("reset", "-q", "--", "shopping.txt")
    vault.staged = ""


# --------------------------------------------------------------------------- G1


@pytest.mark.parametrize("words", [(), ("-a",), ("--", "one.md")])
def test_g1_a_linked_worktree_is_judged_by_its_own_files(hooked, tmp_path, words):
    """The commit holds what it was asked to hold; a scratch repository and a second vault change only as asked."""
    scratch, second = tmp_path / "scratch", tmp_path / "second"
    hooked.run_git(tmp_path, "init", "-q", "scratch")
    MemoryEngine(second).close()
    before = {place: place.read_bytes() for place in second.rglob("*.md")}
    mine = hooked.root / ".git" / "hooks" / "pre-commit.before-atlas"
    mine.write_text(
        f'#!/bin/sh\nunset $(git rev-parse --local-env-vars)\ntouch "{scratch}/seen"\ngit -C "{scratch}" add seen\n'
        f'git -C "{second}" status --short >/dev/null\n'
    )
    mine.chmod(0o755)
    linked = tmp_path / "linked"
    hooked.git("worktree", "add", "-q", "-b", "linked", str(linked))
    (linked / "one.md").write_text("# One\n")
    (linked / "other.txt").write_text("x\n")
    hooked.run_git(linked, "add", "one.md")
    assert committed(linked, *words) == ""
    assert hooked.run_git(linked, "show", "--name-only", "--format=").split() == ["one.md"]
    (linked / "one.md").write_text(BAD)
    hooked.run_git(linked, "add", "one.md")
    assert "one.md:2: frontmatter" in committed(linked, *words)
    (linked / "one.md").write_text(FINE)
    hooked.run_git(linked, "add", "one.md")
    assert committed(linked, *words) == ""
    settle(linked)
    with MemoryEngine(linked, create=False) as engine:
        assert "one.md" in [hit.path for hit in engine.retrieve("Draft")]
    assert (linked / ".atlas" / "generation").exists()
    assert hooked.run_git(scratch, "diff", "--cached", "--name-only") == "seen\n"
    assert {place: place.read_bytes() for place in second.rglob("*.md")} == before
    hooked.git("worktree", "remove", "--force", str(linked))
    hooked.holds()


# --------------------------------------------------------------------------- G2


def test_g2_the_staged_bytes_are_judged_and_nothing_is_staged(hooked):
    unstage_the_shopping(hooked)
    # 1: staged bad, fixed on disk
    hooked.put("n.md", BAD)
    hooked.git("add", "n.md")
    hooked.put("n.md", FINE)
    assert "n.md:2: frontmatter" in committed(hooked.root)
    # 2: the reverse
    hooked.git("add", "n.md")
    hooked.put("n.md", BAD)
    assert committed(hooked.root) == ""
    assert hooked.git("show", "HEAD:n.md") == FINE
    # 3: half of a note
    hooked.put("n.md", FINE)
    hooked.git("checkout", "-q", "n.md")
    lines = [f"line {n}\n" for n in range(30)]
    hooked.put("half.md", "".join(lines))
    hooked.commit("half.md")
    hooked.put("half.md", "top\n" + "".join(lines) + "bottom\n")
    add = subprocess.run(
        ["git", "add", "-p", "half.md"], cwd=hooked.root, input=b"y\nn\n", capture_output=True, check=False
    )
    assert add.returncode == 0
    assert committed(hooked.root) == ""
    assert hooked.git("show", "HEAD:half.md") == "top\n" + "".join(lines)
    assert hooked.git("diff", "--stat", "half.md").count("half.md") == 1
    # 4: staged, then deleted on disk
    hooked.put("gone.md", FINE)
    hooked.git("add", "gone.md")
    hooked.drop("gone.md")
    assert committed(hooked.root) == ""
    assert hooked.git("show", "HEAD:gone.md") == FINE
    # 5: commit -a
    hooked.put("n.md", BAD)
    assert "n.md:2: frontmatter" in committed(hooked.root, "-a")
    assert hooked.git("diff", "--cached", "--name-only") == ""
    hooked.put("n.md", FINE + "more\n")
    assert committed(hooked.root, "-a") == ""
    settle(hooked.root)
    hooked.holds()


# --------------------------------------------------------------------------- G3


def test_g3_living_with_other_hooks(vault, tmp_path):
    unstage_the_shopping(vault)
    mine = vault.root / ".git" / "hooks" / "pre-commit"
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("#!/bin/sh\necho mine >&2\n[ ! -e STOP ]\n")
    mine.chmod(0o755)
    before = mine.read_bytes()
    first = vault.cli("hooks", "install", "--json").json
    files = {p: p.read_bytes() for p in mine.parent.iterdir()}
    assert vault.cli("hooks", "install", "--json").json == first
    assert {p: p.read_bytes() for p in mine.parent.iterdir()} == files
    vault.put("a.md", FINE)
    vault.git("add", "a.md")
    done = attempt(vault.root, "commit", "-qm", "x")
    assert (done.returncode, done.stderr) == (0, "mine\n")
    vault.put("STOP", "")
    vault.put("b.md", FINE)
    vault.git("add", "b.md")
    assert attempt(vault.root, "commit", "-qm", "x").returncode == 1
    vault.drop("STOP")
    for where, value in (("--file", str(tmp_path / "hooks-elsewhere")), ("--local", ".husky/_")):
        if where == "--file":
            env = {"GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig")}
            vault.git("config", "--file", env["GIT_CONFIG_GLOBAL"], "core.hooksPath", value)
        else:
            env = {}
            vault.git("config", "core.hooksPath", value)
        said = vault.cli("hooks", "install", "--json", env=env)
        assert said.code == 1
        assert "core.hooksPath" in said.json["inactive_reason"]
        assert not (vault.root / value).exists()
        assert "core.hooksPath" in vault.cli("status", "--json", env=env).json["hooks"]["inactive_reason"]
    vault.git("config", "--unset", "core.hooksPath")
    vault.cli("hooks", "uninstall")
    assert mine.read_bytes() == before
    assert committed(vault.root) == ""
    settle(vault.root)
    vault.holds()


# --------------------------------------------------------------------------- G6


def rebase_a_side(hooked, commits: int, head: str = "") -> None:
    """A branch of so many commits, put on a `main` that went on."""
    unstage_the_shopping(hooked)
    hooked.git("switch", "-qc", "side")
    for n in range(commits):
        hooked.put(f"side-{n}.md", f"{head}# Side {n}\n")
        hooked.commit(f"side-{n}.md")
    hooked.git("switch", "-q", "main")
    hooked.put("onto.md", "# Onto\n")
    hooked.commit("onto.md")
    hooked.git("switch", "-q", "side")
    hooked.git("rebase", "-q", "main")


def test_g6_operations_end_as_they_should(hooked):
    """Stopped by a conflict, nothing is added to a merge, a rebase or a cherry-pick; the index is right."""
    unstage_the_shopping(hooked)
    hooked.git("switch", "-qc", "side")
    for n in range(5):
        hooked.put(f"side-{n}.md", f"# Side {n}\n")
        hooked.commit(f"side-{n}.md")
    hooked.put("kettle.md", "# Kettle\n\nDescale the kettle with vinegar on side.\n")
    hooked.commit("kettle.md")
    tip = hooked.git("rev-parse", "HEAD").strip()
    hooked.git("switch", "-q", "main")
    kept = dict(hooked.left)
    hooked.put("kettle.md", "# Kettle\n\nDescale the kettle with vinegar on main.\n")
    hooked.commit("kettle.md")
    text = "# Kettle\n\nDescale the kettle with vinegar, settled.\n"
    for words, ending, more in (
        (("merge", "side"), ("commit", "-qm", "merged"), 7),
        (("rebase", "main", "side"), ("rebase", "--continue"), 6),
        (("cherry-pick", tip), ("cherry-pick", "--continue"), 1),
    ):
        start = hooked.git("rev-parse", "main").strip()
        stopped = attempt(hooked.root, *words)
        assert stopped.returncode != 0, words
        assert hooked.cli("hook", "post-commit").code == 0
        with MemoryEngine(hooked.root, create=False) as engine:
            assert not engine.ingest("A thing to keep while something is under way.").applied.committed
        hooked.put("kettle.md", text)
        hooked.git("add", "kettle.md")
        done = attempt(hooked.root, *ending, GIT_EDITOR="true")
        assert done.returncode == 0, done.stderr
        assert hooked.git("rev-list", "--count", f"{start}..HEAD").strip() == str(more), words
        settle(hooked.root)
        hooked.git("switch", "-q", "main")
        hooked.git("reset", "-q", "--keep", start)
    hooked.left.update(kept)
    hooked.left["kettle.md"] = (hooked.root / "kettle.md").read_bytes()
    for n in range(5):
        hooked.left.pop(f"side-{n}.md", None)
    settle(hooked.root)
    hooked.b2_index_equals_a_rebuilt_one(["kettle"])
    hooked.b6_git_is_whole_and_staging_untouched()


def test_g6_a_rebase_ends_with_its_own_commits(hooked):
    rebase_a_side(hooked, 10)
    assert hooked.git("rev-list", "--count", "main..side") == "10\n"
    settle(hooked.root)
    hooked.holds(queries=["onto"])


def test_g6_upkeep_waits_until_a_merge_or_rebase_is_over_and_is_a_commit_then(hooked):
    rebase_a_side(hooked, 3, "---\ntags: [cluster/side]\n---\n")
    assert hooked.git("rev-list", "--count", "main..side") == "3\n", (
        "upkeep is due, and no commit but the three is there"
    )
    hooked.git("switch", "-q", "main")
    said = attempt(hooked.root, "merge", "-q", "--no-ff", "--no-edit", "side")
    assert said.returncode == 0
    assert "upkeep, clusters: committed" in said.stderr
    ops = hooked.git("log", "--format=%(trailers:key=Atlas-Op,valueonly,separator=%x2C)", "-2").splitlines()
    assert ops == ["clusters", ""], "one commit after the merge"
    assert hooked.git("show", "--name-only", "--format=", "HEAD") == "clusters/side.md\n"
    assert not (hooked.root / ".git" / "MERGE_HEAD").exists()
    hooked.left["clusters/side.md"] = (hooked.root / "clusters/side.md").read_bytes()
    settle(hooked.root)
    hooked.holds(queries=["onto"])


# ------------------------------------------------------------------ N3, A2, P3


def test_n3_names_through_an_installed_hook(hooked):
    for path in NAMES:
        hooked.put(path, "Fine.\n")
    bad = "two\nlines.md"
    hooked.put(bad, BAD)
    hooked.put("unstaged.md", BAD)
    hooked.git("add", "-N", "--", *NAMES)
    said = committed(hooked.root, "--", *NAMES).splitlines()
    assert said[0].startswith("two\\nlines.md:2: frontmatter: ")
    assert len(said) == 2
    hooked.put(bad, "Fine.\n")
    assert committed(hooked.root, "--", *NAMES) == ""
    assert not list(hooked.root.rglob("pwned"))
    settle(hooked.root)
    hooked.holds({("unstaged.md", 2, "frontmatter")})


VALUES = {
    "AKIA" + "IOSFODNN7EXAMPLQ": "cloud key",
    "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2: "token",
    "-----BEGIN RSA PRIVATE" + " KEY-----": "key block",
    "postgres://user:tr0ub4dor@db.example/x": "password",
    "Authorization: Bearer " + "abcDEF123456ghiJKL7890": "bearer",
}
CONTROLS = (
    "rotate the API key monthly",
    "at 3c6e0b8a9c15224a8228b9a98ca1531d55e4a1b2",
    "id 7f1f9a52-6f6f-4b3c-8f53-0d9c1a2b3c4d",
    'os.environ["TOKEN"]',
)


def test_a2_a_secret_is_stopped_by_file_and_line_and_never_repeated(hooked):
    for number, value in enumerate(VALUES):
        hooked.put(f"s{number}.md", f"# Note\n\nfirst\n{value}\n")
        hooked.git("add", "-N", f"s{number}.md")
        said = committed(hooked.root, "--", f"s{number}.md")
        assert f"s{number}.md:4: secret: " in said
        assert value.split()[-1] not in said
        hooked.git("reset", "-q", "--", f"s{number}.md")
        hooked.drop(f"s{number}.md")
    hooked.put("fine.md", "# Fine\n\n" + "\n".join(CONTROLS) + "\n")
    hooked.git("add", "-N", "fine.md")
    assert committed(hooked.root, "--", "fine.md") == ""
    settle(hooked.root)
    hooked.holds()


def test_p3_only_commits_that_stage_a_bad_file_are_stopped(hooked):
    hooked.put("bad.md", BAD)
    hooked.git("add", "-N", "bad.md")
    hooked.git("commit", "-qm", "past the hook", "--no-verify", "--", "bad.md")
    hooked.put("good.md", FINE)
    hooked.git("add", "-N", "good.md")
    assert committed(hooked.root, "--", "good.md") == ""
    hooked.put("bad.md", BAD + "more\n")
    assert "bad.md:2: frontmatter" in committed(hooked.root, "--", "bad.md")
    hooked.put("bad.md", FINE)
    assert committed(hooked.root, "--", "bad.md") == ""
    settle(hooked.root)
    hooked.holds()


def test_writes_of_atlas_run_no_hook(hooked):
    """A hook that starts Atlas, which commits, which starts a hook: there is no such circle."""
    (hooked.root / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    with MemoryEngine(hooked.root, create=False) as engine:
        assert engine.ingest("The boiler is in the cellar.").applied.committed
