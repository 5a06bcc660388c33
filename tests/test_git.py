"""Finding the repository of a vault, and starting Git."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support import open_repo, write

from atlas import git as atlas_git
from atlas.errors import GitRefused
from atlas.process import call, environment

# ------------------------------------------------------------------ finding


def test_a_folder_without_git_has_no_repository(tmp_path):
    assert atlas_git.look(tmp_path) == (None, "")
    assert atlas_git.find(tmp_path) is None


def test_a_repository_without_commits(repo):
    found = open_repo(repo)
    assert (found.folder, found.top, found.prefix) == (repo, repo, "")
    assert found.position() == ("refs/heads/main", "")
    assert found.blocked() == ""
    assert found.uncommitted() == ()


def test_a_subfolder_knows_its_prefix(repo):
    (repo / "notes" / "mine").mkdir(parents=True)
    found = open_repo(repo / "notes" / "mine")
    assert (found.top, found.prefix, found.git_dir) == (repo, "notes/mine/", repo / ".git")


def test_a_link_to_a_vault_is_that_vault(first, tmp_path):
    (tmp_path / "link").symlink_to(first)
    assert open_repo(tmp_path / "link").top == first


def test_a_linked_worktree_has_its_own_git_folder(first, git, tmp_path):
    git(first, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    found = open_repo(tmp_path / "side")
    assert found.git_dir == first / ".git" / "worktrees" / "side"
    assert found.common_dir == first / ".git"
    assert found.position().branch == "refs/heads/side"


def test_a_git_file_leads_to_the_git_folder(tmp_path, git):
    git(tmp_path, "init", "-q", "-b", "main", "--separate-git-dir", str(tmp_path / "elsewhere"), str(tmp_path / "v"))
    assert (tmp_path / "v" / ".git").is_file()
    assert open_repo(tmp_path / "v").git_dir == tmp_path / "elsewhere"


def test_a_git_file_that_leads_nowhere_is_a_reason(tmp_path):
    write(tmp_path, "v/.git", "gitdir: /nowhere/at/all\n")
    found, reason = atlas_git.look(tmp_path / "v")
    assert found is None
    assert "/nowhere/at/all" in reason


def test_a_bare_repository_is_refused_in_words(tmp_path, git):
    git(tmp_path, "init", "-q", "--bare", str(tmp_path / "bare.git"))
    with pytest.raises(GitRefused, match=r"bare repository.*clone"):
        atlas_git.find(tmp_path / "bare.git")


def test_git_s_own_folder_is_no_vault(repo):
    with pytest.raises(GitRefused, match="inside Git's own folder"):
        atlas_git.find(repo / ".git" / "refs")


def test_another_owner_gives_git_s_advice_and_no_setting(first, tmp_path, monkeypatch):
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\n\tname = Somebody\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    if os.geteuid() == 0:
        for place in (first, first / ".git"):
            os.chown(place, 65534, 65534)
    else:
        monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    found, reason = atlas_git.look(first)
    assert found is None
    assert f"git config --global --add safe.directory {first}" in reason
    with pytest.raises(GitRefused, match="dubious ownership"):
        atlas_git.find(first)
    assert settings.read_text() == "[user]\n\tname = Somebody\n"


def test_no_git_on_the_machine_is_a_reason(first, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    found, reason = atlas_git.look(first)
    assert found is None
    assert "install Git" in reason


def test_a_folder_that_is_not_there(tmp_path):
    assert "there is no folder" in atlas_git.look(tmp_path / "gone")[1]


def test_a_folder_its_repository_ignores_is_not_under_git(first, git):
    write(first, ".gitignore", "private/\n")
    (first / "private").mkdir()
    assert atlas_git.find(first / "private") is None
    made = atlas_git.ensure_repository(first / "private")
    assert (made.top, made.prefix) == (first / "private", "")


def test_an_ignored_folder_with_tracked_files_is_under_git(first, git):
    write(first, "private/a.md", "kept\n")
    git(first, "add", "-A")
    write(first, ".gitignore", "private/\n")
    assert open_repo(first / "private").top == first


def test_ensure_repository_makes_main_once(tmp_path):
    made = atlas_git.ensure_repository(tmp_path)
    assert made.position().branch == "refs/heads/main"
    assert atlas_git.ensure_repository(tmp_path) == made


def test_ensure_repository_keeps_the_larger_one(repo):
    (repo / "sub").mkdir()
    assert atlas_git.ensure_repository(repo / "sub").top == repo


# ------------------------------------------------------------------ starting Git


def test_a_hook_s_variables_do_not_pass_and_the_identity_does(monkeypatch):
    asked = subprocess.run(["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True)
    local = asked.stdout.split()
    assert "GIT_DIR" in local
    for name in (*local, "GIT_CONFIG_KEY_0", "GIT_AUTHOR_DATE", "GIT_GLOB_PATHSPECS", "GIT_OF_A_LATER_VERSION"):
        monkeypatch.setenv(name, "/other")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ada")
    passed = environment({"GIT_INDEX_FILE": "mine"})
    assert not (set(local) - {"GIT_INDEX_FILE"}) & set(passed)
    assert not {"GIT_CONFIG_KEY_0", "GIT_AUTHOR_DATE", "GIT_GLOB_PATHSPECS", "GIT_OF_A_LATER_VERSION"} & set(passed)
    assert passed["GIT_INDEX_FILE"] == "mine"
    assert passed["GIT_AUTHOR_NAME"] == "Ada"
    assert os.environ["GIT_DIR"] == "/other"


def test_a_call_is_stopped_with_all_it_started(repo, tmp_path, ended):
    note = tmp_path / "pid"
    ran = call(repo, "-c", f"alias.hang=!echo $$ > '{note}'; trap '' TERM; sleep 600", "hang", seconds=1)
    assert ran.late
    assert "1 s" in ran.said
    assert ended(int(note.read_text()))


def test_a_stopped_git_leaves_no_lock(first):
    hook = first / ".git" / "hooks" / "reference-transaction"
    hook.write_text("#!/bin/sh\nls .git/refs/heads > seen\nsleep 600\n")
    hook.chmod(0o755)
    repository = open_repo(first)
    ran = repository.call("update-ref", "refs/heads/other", repository.head(), seconds=1)
    assert ran.late
    assert "other.lock" in (first / "seen").read_text()
    assert not list((first / ".git").rglob("*.lock"))


def test_a_nul_in_a_name_is_said_not_raised(first):
    with pytest.raises(GitRefused, match="NUL"):
        open_repo(first).read("HEAD", "a\0b.md")


def test_starting_git_loads_nothing_heavy():
    code = "import sys, atlas.process; print('duckdb' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
