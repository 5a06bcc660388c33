"""What a repository holds, and what state it is in."""

from __future__ import annotations

import os
import subprocess

import pytest
from support import ODD_NAMES, open_repo, write

from atlas.errors import GitRefused, NotFound


@pytest.fixture
def first(repo, git):
    """The repository with one commit: a.md."""
    write(repo, "a.md", "one\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "first")
    return repo


# ------------------------------------------------------------------ odd names


@pytest.fixture
def odd(repo, git):
    for name in ODD_NAMES:
        write(repo, name, f"{name!r}\n")
    return repo


def test_odd_names_are_listed_as_they_are(odd, git):
    repository = open_repo(odd)
    assert set(repository.uncommitted()) == set(ODD_NAMES)
    git(odd, "add", "-A")
    assert set(repository.tracked()) == set(ODD_NAMES)
    assert set(repository.staged()) == set(ODD_NAMES)
    git(odd, "commit", "-qm", "odd")
    assert set(repository.tree()) == set(ODD_NAMES)
    assert {name: repository.read("HEAD", name).decode() for name in ODD_NAMES} == {
        name: f"{name!r}\n" for name in ODD_NAMES
    }
    assert repository.uncommitted() == ()
    assert not list(odd.rglob("pwned"))


def test_odd_names_are_matched_literally_by_ignored(odd):
    write(odd, ".gitignore", "star*\n")
    assert open_repo(odd).ignored(ODD_NAMES) == {"star*[a].md"}


# ------------------------------------------------------------------ reading


def test_tree_leaves_out_links_and_other_files(first, git):
    write(first, "sub/B.MD", "two\n")
    write(first, "c.markdown", "three\n")
    write(first, "picture.png", "not a note")
    (first / "link.md").symlink_to("a.md")
    git(first, "add", "-A")
    git(first, "commit", "-qm", "more")
    repository = open_repo(first)
    assert set(repository.tree()) == {"a.md", "sub/B.MD", "c.markdown", "picture.png"}
    assert set(repository.tree("HEAD", (".md", ".markdown"))) == {"a.md", "sub/B.MD", "c.markdown"}
    assert repository.tree("HEAD~1") == {"a.md": git(first, "rev-parse", "HEAD:a.md").strip()}


def test_a_subfolder_sees_only_itself(first, git):
    write(first, "sub/b.md", "two\n")
    write(first, "subway/c.md", "three\n")
    git(first, "add", "-A")
    git(first, "commit", "-qm", "more")
    write(first, "a.md", "dirty\n")
    write(first, "subway/d.md", "new\n")
    write(first, "sub/e.md", "new\n")
    repository = open_repo(first / "sub")
    assert set(repository.tree()) == {"b.md"}
    assert repository.tracked() == ("b.md",)
    assert repository.uncommitted() == ("e.md",)
    assert repository.read("HEAD", "b.md") == b"two\n"
    with pytest.raises(NotFound):
        repository.read("HEAD", "a.md")


@pytest.mark.parametrize("rev", ["nothing", "--help", "", "HEAD~7"])
def test_a_revision_that_is_not_there(first, rev):
    with pytest.raises(NotFound):
        open_repo(first).tree(rev)
    with pytest.raises(NotFound):
        open_repo(first).read(rev, "a.md")


def test_a_file_that_is_not_there(first):
    with pytest.raises(NotFound, match=r"b\.md"):
        open_repo(first).read("HEAD", "b.md")


def test_damage_does_not_look_like_absence(first, git):
    blob = git(first, "rev-parse", "HEAD:a.md").strip()
    place = first / ".git" / "objects" / blob[:2] / blob[2:]
    place.chmod(0o644)
    place.write_bytes(b"garbage")
    with pytest.raises(GitRefused):
        open_repo(first).read("HEAD", "a.md")


def test_blobs_come_back_byte_for_byte(repo, git):
    contents = {bytes([n % 256]) * n + b"\n\0%d" % n for n in range(600)} | {b""}
    for number, data in enumerate(contents):
        (repo / f"{number}.bin").write_bytes(data)
    git(repo, "add", "-A")
    repository = open_repo(repo)
    ids = list(repository.staged().values())
    missing = "0" * 39 + "1"
    read = list(repository.blobs([*ids, missing, "HEAD:a", "x\ny", ids[0]]))
    assert [id for id, _ in read] == list(dict.fromkeys(ids))
    assert {data for _, data in read} == contents


def test_staged_judges_the_index_it_is_given(first, git, tmp_path):
    write(first, "b.md", "staged\n")
    git(first, "add", "b.md")
    (tmp_path / "index").write_bytes((first / ".git" / "index").read_bytes())
    write(first, "c.md", "later\n")
    git(first, "add", "c.md")
    git(first, "rm", "-q", "--cached", "a.md")
    repository = open_repo(first)
    assert set(repository.staged(str(tmp_path / "index"))) == {"b.md"}
    assert repository.staged()["a.md"] == ""
    assert set(repository.staged()) == {"a.md", "b.md", "c.md"}


# ------------------------------------------------------------------ state


def test_uncommitted_is_what_atlas_keeps(first, git):
    write(first, ".gitignore", "ignored.md\n")
    for name in ("new.md", "atlas.toml", "ledger/2026-01/x.jsonl", "usage/x.jsonl", "ignored.md", "x.txt", "sub/n.md"):
        write(first, name, "text\n")
    write(first, "same.md", "same\n")
    git(first, "add", "same.md")
    git(first, "commit", "-qm", "same")
    os.utime(first / "same.md", (0, 0))  # Git would note the new time in its index, and take its lock for it
    (first / "a.md").unlink()
    index = (first / ".git" / "index").read_bytes()
    assert set(open_repo(first).uncommitted()) == {
        "a.md",
        "atlas.toml",
        "ledger/2026-01/x.jsonl",
        "new.md",
        "sub/n.md",
        "usage/x.jsonl",
    }
    assert (first / ".git" / "index").read_bytes() == index


def test_a_conflicted_file_is_not_offered_for_a_commit(first, git):
    write(first, "a.md", "stashed\n")
    git(first, "stash", "-q")
    write(first, "a.md", "two\n")
    git(first, "commit", "-qam", "two")
    popped = subprocess.run(["git", "stash", "pop"], cwd=first, capture_output=True, check=False)
    assert popped.returncode == 1
    write(first, "b.md", "new\n")
    assert open_repo(first).uncommitted() == ("b.md",)


@pytest.fixture
def forked(first, git):
    """Branches `main` and `side` that both changed a.md."""
    git(first, "switch", "-qc", "side")
    write(first, "a.md", "side\n")
    git(first, "commit", "-qam", "side")
    git(first, "switch", "-q", "main")
    write(first, "a.md", "main\n")
    git(first, "commit", "-qam", "main")
    return first


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("rebase", "side"), "a rebase"),
        (("rebase", "--apply", "side"), "a rebase"),
        (("merge", "side"), "a merge"),
        (("cherry-pick", "side"), "a cherry-pick"),
        (("revert", "--no-edit", "HEAD~1"), "a revert"),
        (("am", "patch"), "git am"),
    ],
)
def test_an_operation_under_way_is_named(forked, git, words, named):
    (forked / "patch").write_text(git(forked, "format-patch", "-1", "--stdout", "side"))
    assert open_repo(forked).blocked() == ""
    stopped = subprocess.run(["git", *words], cwd=forked, capture_output=True, check=False)
    assert stopped.returncode != 0
    assert named in open_repo(forked).blocked()
    git(forked, words[0], "--abort")
    assert open_repo(forked).blocked() == ""


def test_a_bisect_is_named(forked, git):
    git(forked, "bisect", "start")
    assert "a bisect" in open_repo(forked).blocked()
    git(forked, "bisect", "reset")
    assert open_repo(forked).blocked() == ""


def test_a_detached_head_is_named(forked, git):
    git(forked, "switch", "-q", "--detach")
    assert "detached" in open_repo(forked).blocked()
    assert open_repo(forked).position().branch == ""


def test_an_operation_in_one_worktree_does_not_block_another(forked, git, tmp_path):
    git(forked, "worktree", "add", "-q", "-b", "third", str(tmp_path / "third"))
    subprocess.run(["git", "merge", "side"], cwd=forked, capture_output=True, check=False)
    assert "a merge" in open_repo(forked).blocked()
    assert open_repo(tmp_path / "third").blocked() == ""


def test_references_are_asked_for_where_they_are_no_files(forked, git):
    """What the reftable format needs: the question goes to Git, not to the folder."""
    repository = open_repo(forked)
    assert not repository.names("CHERRY_PICK_HEAD")
    subprocess.run(["git", "cherry-pick", "side"], cwd=forked, capture_output=True, check=False)
    assert repository.names("CHERRY_PICK_HEAD")
