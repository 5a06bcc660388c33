"""A commit that cannot be made: said within a limit, and everything as before."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import QUICK, RECORD, SIGN, open_repo, script, write

from atlas.commits import commit
from atlas.errors import NotCommitted

# ------------------------------------------------------------------ a commit that cannot be made


def test_a_signer_that_hangs(first, git, tmp_path, sound, ended):
    git(first, "config", "commit.gpgsign", "true")
    git(first, "config", "gpg.program", str(script(tmp_path / "signer", f"echo $$ > '{tmp_path}/pid'\nsleep 600\n")))
    head, index = git(first, "rev-parse", "HEAD"), git(first, "ls-files", "-s")
    with pytest.raises(NotCommitted, match="signing took longer than 1 s"):
        commit(open_repo(first), {"n.md": b"hello\n"}, RECORD, limits=QUICK)
    assert ended(int((tmp_path / "pid").read_text()))
    assert (git(first, "rev-parse", "HEAD"), git(first, "ls-files", "-s")) == (head, index)
    assert git(first, "config", "commit.gpgsign").strip() == "true"
    sound(first)
    git(first, "config", "commit.gpgsign", "false")
    assert commit(open_repo(first), {"n.md": b"hello\n"}, RECORD) != head.strip()


def test_signing_is_not_turned_off(first, git, tmp_path):
    git(first, "config", "commit.gpgsign", "true")
    git(first, "config", "gpg.program", str(script(tmp_path / "signer", SIGN)))
    sha = commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    assert "gpgsig -----BEGIN PGP SIGNATURE-----" in git(first, "cat-file", "commit", sha)


def test_a_signer_that_refuses(first, git, tmp_path):
    git(first, "config", "commit.gpgsign", "true")
    git(first, "config", "gpg.program", str(script(tmp_path / "signer", "exit 2\n")))
    with pytest.raises(NotCommitted, match="could not be signed"):
        commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)


@pytest.mark.parametrize("missing", ["user.email", "user.name"])
@pytest.mark.parametrize("strict", ["true", "false"])
def test_no_identity_is_invented(first, git, missing, strict):
    """Git itself would take the name from the password database and the e-mail from the name of the machine."""
    git(first, "config", "user.useConfigOnly", strict)
    git(first, "config", "--unset", missing)
    head = git(first, "rev-parse", "HEAD").strip()
    with pytest.raises(NotCommitted, match=r"git config user\.email") as caught:
        commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    assert caught.value.paths == ("n.md",)
    assert git(first, "rev-parse", "HEAD").strip() == head
    git(first, "config", missing, "ada@example.test")
    assert commit(open_repo(first), {"n.md": b"hello\n"}, RECORD) != head


@contextmanager
def as_nobody():
    """Without root's right to write everywhere; somebody else already has none."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_read_only_git_folder(make_repo, git):
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        repo = make_repo(Path(folder) / "vault")
        write(repo, "a.md", "one\n")
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "first")
        open_repo(repo)  # loads what nobody else may read from where it is installed
        places = [Path(folder), repo, *repo.rglob("*")]
        for place in places:
            if os.geteuid() == 0:
                os.chown(place, 65534, 65534)
            place.chmod(0o555 if place.is_dir() else 0o444)
        with as_nobody():
            with pytest.raises(NotCommitted, match="Permission denied") as caught:
                commit(open_repo(repo), {"n.md": b"hello\n"}, RECORD)
            assert open_repo(repo).tree().keys() == {"a.md"}
        assert caught.value.exit_code == 3
        for place in places:
            place.chmod(0o755)


def test_a_stale_index_lock_is_waited_for_and_left(first, git):
    lock = first / ".git" / "index.lock"
    lock.write_text("somebody's")
    head, index = git(first, "rev-parse", "HEAD"), git(first, "ls-files", "-s")
    for files in ({"n.md": b"hello\n"}, {"a.md": None, "n.md": b"hello\n"}):
        with pytest.raises(NotCommitted, match=r"index\.lock"):
            commit(open_repo(first), files, RECORD, limits=QUICK)
    assert lock.read_text() == "somebody's"
    assert (git(first, "rev-parse", "HEAD"), git(first, "ls-files", "-s")) == (head, index)
    lock.unlink()
    sha = commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    assert git(first, "rev-list", "--count", sha).strip() == "2"


def test_a_locked_branch_leaves_the_index_as_it_was(first, git):
    (first / ".git" / "refs" / "heads" / "main.lock").write_text("")
    write(first, "b.md", "staged\n")
    write(first, "same.md", "the very bytes\n")
    git(first, "add", "b.md", "same.md")
    index = git(first, "ls-files", "-s")
    files = {"a.md": None, "n.md": b"hello\n", "c.md": b"c2\n", "same.md": b"the very bytes\n"}
    with pytest.raises(NotCommitted, match=r"main\.lock"):
        commit(open_repo(first), files, RECORD, limits=QUICK)
    assert git(first, "ls-files", "-s") == index
    (first / ".git" / "refs" / "heads" / "main.lock").unlink()
    commit(open_repo(first), files, RECORD)
    assert git(first, "diff", "--cached", "--name-only").split() == ["b.md"]


@pytest.mark.parametrize("words", [("merge", "side"), ("rebase", "side"), ("cherry-pick", "side")])
def test_nothing_is_committed_into_the_user_s_operation(first, git, words, sound):
    git(first, "switch", "-qc", "side")
    write(first, "a.md", "side\n")
    git(first, "commit", "-qam", "side")
    git(first, "switch", "-q", "main")
    write(first, "a.md", "main\n")
    git(first, "commit", "-qam", "main")
    subprocess.run(["git", *words], cwd=first, capture_output=True, check=False)
    index = git(first, "ls-files", "-s")
    with pytest.raises(NotCommitted, match=words[0]):
        commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    assert git(first, "ls-files", "-s") == index
    git(first, words[0], "--abort")
    count = int(git(first, "rev-list", "--count", "HEAD"))
    commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    assert int(git(first, "rev-list", "--count", "HEAD")) == count + 1
    sound(first)


def test_nothing_is_committed_on_a_detached_head(first, git):
    git(first, "switch", "-q", "--detach")
    head = git(first, "rev-parse", "HEAD")
    with pytest.raises(NotCommitted, match="detached"):
        commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    assert git(first, "rev-parse", "HEAD") == head
