"""Commits hold exactly what they were given, and the user's staging area stays the user's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support import ODD_NAMES, RECORD, open_repo, write

from atlas.commits import commit
from atlas.errors import NotCommitted, OutsideVault

# ------------------------------------------------------------------ what is in a commit


def test_the_first_commit_of_a_repository(repo, git, sound):
    write(repo, "mine.md", "not yet\n")
    sha = commit(open_repo(repo), {"notes/n.md": b"hello\n"}, RECORD)
    assert git(repo, "rev-parse", "main").strip() == sha
    assert git(repo, "show", "--format=", "--name-only", sha).split() == ["notes/n.md"]
    write(repo, "notes/n.md", "hello\n")
    assert git(repo, "status", "--porcelain").splitlines() == ["?? mine.md"]
    sound(repo)


def test_all_that_the_user_staged_stays_staged(first, git, sound):
    """Staged, half staged, removed, added, renamed, only intended to be added, and untracked."""
    write(first, "a.md", (first / "a.md").read_text().replace("line 2", "LINE 2"))
    git(first, "add", "a.md")
    write(first, "a.md", (first / "a.md").read_text().replace("line 7", "LINE 7"))
    git(first, "rm", "-q", "--cached", "c.md")
    git(first, "mv", "b.md", "moved.md")
    write(first, "new.md", "new\n")
    git(first, "add", "new.md")
    write(first, "intended.md", "later\n")
    git(first, "add", "-N", "intended.md")
    write(first, "untracked.md", "mine\n")
    staged, unstaged = git(first, "diff", "--cached"), git(first, "diff")
    sha = commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    write(first, "n.md", "hello\n")
    assert git(first, "diff", "--cached") == staged
    assert git(first, "diff") == unstaged
    assert git(first, "diff", "--name-status", f"{sha}~1", sha).split() == ["A", "n.md"]
    assert "?? untracked.md" in git(first, "status", "--porcelain")
    sound(first)


def test_what_the_user_staged_of_our_own_file_stays_too(first, git):
    write(first, "a.md", "the half they chose\n")
    git(first, "add", "a.md")
    sha = commit(open_repo(first), {"a.md": b"the whole\n"}, RECORD)
    assert git(first, "show", f"{sha}:a.md") == "the whole\n"
    assert git(first, "show", ":a.md") == "the half they chose\n"


def test_a_file_only_intended_to_be_added_becomes_a_real_one(first, git):
    write(first, "n.md", "hello\n")
    git(first, "add", "-N", "n.md")
    commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    assert git(first, "status", "--porcelain") == ""


def test_a_staged_folder_in_place_of_a_file(first, git):
    git(first, "rm", "-q", "a.md")
    write(first, "a.md/inner.md", "in a folder\n")
    git(first, "add", "-A")
    staged = git(first, "diff", "--cached")
    sha = commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    assert git(first, "diff", "--cached") == staged.strip() + "\n"
    assert set(open_repo(first).tree(sha)) == {"a.md", "b.md", "c.md", "n.md"}


def test_a_file_in_place_of_what_the_user_staged_below_it(first, git):
    """Git would drop the staged `n.md/inner.md` to make room for `n.md` in the index."""
    write(first, "n.md/inner.md", "staged\n")
    git(first, "add", "n.md/inner.md")
    sha = commit(open_repo(first), {"n.md": b"hello\n", "m.md": b"hello\n"}, RECORD)
    assert git(first, "show", ":n.md/inner.md") == "staged\n"
    assert git(first, "show", "--format=", "--name-only", sha).split() == ["m.md", "n.md"]
    assert git(first, "show", ":m.md") == "hello\n"


def test_a_file_below_what_the_user_staged(first, git):
    write(first, "n", "staged\n")
    git(first, "add", "n")
    commit(open_repo(first), {"n/inner.md": b"hello\n"}, RECORD)
    assert git(first, "show", ":n") == "staged\n"


def test_a_merge_conflict_left_by_a_stash_stays(first, git, sound):
    write(first, "a.md", "stashed\n")
    git(first, "stash", "-q")
    write(first, "a.md", "two\n")
    git(first, "commit", "-qam", "two")
    subprocess.run(["git", "stash", "pop"], cwd=first, capture_output=True, check=False)
    before = git(first, "ls-files", "-u")
    assert before.count("a.md") == 3
    sha = commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    assert git(first, "ls-files", "-u") == before
    assert git(first, "show", f"{sha}:a.md") == "two\n"


def test_changing_removing_and_modes(first, git, sound):
    repository = open_repo(first)
    sha = commit(repository, {"a.md": None, "b.md": b"b2\n", "c.md": b"c2\n", "gone.md": None}, RECORD)
    assert git(first, "ls-tree", "--format=%(objectmode) %(path)", sha).splitlines() == ["100644 b.md", "100755 c.md"]
    (first / "a.md").unlink()
    write(first, "b.md", "b2\n")
    write(first, "c.md", "c2\n")
    assert git(first, "status", "--porcelain") == ""
    sound(first)


def test_nothing_to_change_is_no_commit(first, git):
    head = git(first, "rev-parse", "HEAD").strip()
    assert commit(open_repo(first), {"a.md": (first / "a.md").read_bytes(), "gone.md": None}, RECORD) == head
    assert commit(open_repo(first), {}, RECORD) == head
    assert git(first, "rev-parse", "HEAD").strip() == head


def test_nothing_to_change_before_the_first_commit(repo):
    assert commit(open_repo(repo), {"gone.md": None}, RECORD) == ""
    assert open_repo(repo).head() == ""


def test_a_subfolder_vault_commits_only_its_own(first, git):
    write(first, "a.md", "dirty\n")
    write(first, "b.md", "staged\n")
    git(first, "add", "b.md")
    (first / "vault").mkdir()
    sha = commit(open_repo(first / "vault"), {"n.md": b"hello\n"}, RECORD)
    assert git(first, "show", "--format=", "--name-only", sha).split() == ["vault/n.md"]
    write(first, "vault/n.md", "hello\n")
    assert git(first, "status", "--porcelain").splitlines() == [" M a.md", "M  b.md"]


def test_a_linked_worktree_commits_to_its_own_branch(first, git, tmp_path, sound):
    git(first, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    main = git(first, "rev-parse", "main")
    sha = commit(open_repo(tmp_path / "side"), {"n.md": b"hello\n"}, RECORD)
    write(tmp_path / "side", "n.md", "hello\n")
    assert git(first, "rev-parse", "side").strip() == sha
    assert git(first, "rev-parse", "main") == main
    assert git(tmp_path / "side", "status", "--porcelain") == git(first, "status", "--porcelain") == ""
    sound(first)


@pytest.mark.parametrize("filler", [0, 12])
def test_odd_names(repo, git, filler):
    files = {name: f"{name!r}\n".encode() for name in ODD_NAMES}
    files |= {f"filler{n}.md": b"x\n" for n in range(filler)}
    sha = commit(open_repo(repo), files, RECORD)
    repository = open_repo(repo)
    assert {name: repository.read(sha, name) for name in files} == files
    assert not list(repo.rglob("pwned"))


@pytest.mark.parametrize("path", ["", "/etc/x.md", "../x.md", "a/../../x.md", "a//b.md", "a\0b.md"])
def test_a_path_that_leaves_the_vault(first, git, path):
    head = git(first, "rev-parse", "HEAD")
    with pytest.raises(OutsideVault):
        commit(open_repo(first), {path: b"x"}, RECORD)
    assert git(first, "rev-parse", "HEAD") == head


@pytest.mark.parametrize("path", [".git/hooks/x.md", "a.md/below.md"])
def test_a_path_git_cannot_hold(first, git, path, sound):
    index = git(first, "ls-files", "-s")
    with pytest.raises(NotCommitted) as caught:
        commit(open_repo(first), {path: b"x", "n.md": b"y"}, RECORD)
    assert caught.value.paths == (path, "n.md")
    assert git(first, "ls-files", "-s") == index
    sound(first)


@pytest.mark.parametrize("count", [1, 40])
def test_git_s_filters_apply(first, git, count):
    """Line ends, a `clean` filter and plain bytes, in a small commit and in a large one."""
    git(first, "config", "core.autocrlf", "input")
    git(first, "config", "filter.shout.clean", "tr a-z A-Z")
    write(first, ".gitattributes", "*.shout.md filter=shout\nraw/* -text\nraw/*.shout.md -filter\n")
    files = {f"{n}.md": b"one\r\ntwo %d\r\n" % n for n in range(count)}
    files |= {"x.shout.md": b"loud\n", "raw/crlf.md": b"one\r\n", "raw/x.shout.md": b"soft\n", "nul.md": b"\0\r\n"}
    sha = commit(open_repo(first), files, RECORD)
    repository = open_repo(first)
    assert repository.read(sha, "0.md") == b"one\ntwo 0\n"
    assert repository.read(sha, f"{count - 1}.md") == b"one\ntwo %d\n" % (count - 1)
    assert repository.read(sha, "x.shout.md") == b"LOUD\n"
    assert repository.read(sha, "raw/x.shout.md") == b"soft\n"
    assert repository.read(sha, "raw/crlf.md") == b"one\r\n"
    assert repository.read(sha, "nul.md") == b"\0\r\n"
    for path, data in files.items():
        (first / path).parent.mkdir(exist_ok=True)
        (first / path).write_bytes(data)
    assert git(first, "status", "--porcelain").splitlines() == ["?? .gitattributes"]


def test_a_repository_with_sha256(tmp_path, git):
    git(tmp_path, "init", "-q", "-b", "main", "--object-format=sha256")
    git(tmp_path, "config", "user.name", "Ada")
    git(tmp_path, "config", "user.email", "ada@example.test")
    repository = open_repo(tmp_path)
    commit(repository, {"a.md": b"one\n"}, RECORD)
    sha = commit(repository, {"a.md": None, **{f"{n}.md": b"%d\n" % n for n in range(20)}}, RECORD)
    assert len(sha) == 64
    stored = dict(repository.blobs(repository.tree().values()))
    assert sorted(stored.values()) == sorted(b"%d\n" % n for n in range(20))


def test_a_file_edited_in_the_tick_of_the_index_stays_modified(first, git):
    """A copy of the index that looks younger than the original would make Git trust a stale entry."""
    git(first, "config", "core.checkStat", "minimal")
    git(first, "config", "core.trustctime", "false")
    tick = 1_700_000_000 * 10**9
    os.utime(first / "a.md", ns=(tick, tick))
    git(first, "add", "a.md")
    git(first, "update-index", "--refresh")
    text = (first / "a.md").read_text()
    write(first, "a.md", text.replace("line 2", "LINE 2"))
    os.utime(first / "a.md", ns=(tick, tick))
    os.utime(first / ".git" / "index", ns=(tick, tick))
    commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    write(first, "n.md", "hello\n")
    assert git(first, "status", "--porcelain").splitlines() == [" M a.md"]


_spawned: list[object] = []
sys.addaudithook(lambda event, args: _spawned.append(args) if event == "subprocess.Popen" else None)


@pytest.mark.parametrize(("count", "most"), [(1, 10), (2000, 12)])
def test_few_processes_per_commit(first, count, most):
    repository = open_repo(first)
    _spawned.clear()
    commit(repository, {f"n/{n}.md": b"%d\n" % n for n in range(count)}, RECORD)
    assert len(_spawned) <= most
