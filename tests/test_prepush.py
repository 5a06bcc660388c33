"""What a push would give away: private notes and secrets, in any commit the remote does not have."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import atlas, spawn
from support import write
from test_hooks import commit, install, run

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
NOTE = f"# Deploy\n\nThe token is {SECRET}.\n"


@pytest.fixture
def pushing(root, tmp_path, git) -> Path:
    """A vault with hooks, one commit, and an empty repository to push to."""
    git(tmp_path, "init", "--quiet", "--bare", "there.git")
    git(root, "remote", "add", "origin", str(tmp_path / "there.git"))
    install(root)
    (root / ".git" / "hooks" / "pre-commit").unlink()
    (root / ".git" / "hooks" / "post-commit").unlink()
    commit(root, "a.md", "# A\n")
    return root


def refused(root: Path, *words: str) -> list[str]:
    """What is said against a push; [] when it went out."""
    done = run(root, "push", *(words or ("origin", "HEAD")))
    assert (done.returncode == 0) == ("not pushed" not in done.stderr), done.stderr
    assert SECRET not in done.stderr
    return [line for line in done.stderr.splitlines() if ": private: " in line or ": secret: " in line]


def test_a_first_push_of_nothing_private_goes_out(pushing):
    assert refused(pushing) == []
    run(pushing, "push", "origin", "HEAD:refs/heads/side")
    assert refused(pushing, "--delete", "origin", "side") == []


def test_the_private_folder_is_kept_here(pushing, git):
    commit(pushing, "private/diary.md", "# Dear diary\n")
    short = git(pushing, "rev-parse", "HEAD")[:9]
    (said,) = refused(pushing)
    assert said.startswith("private/diary.md:1: private: ")
    assert short in said
    git(pushing, "rm", "-q", "private/diary.md")
    git(pushing, "commit", "-qm", "gone")
    assert len(refused(pushing)) == 1, "history has it all the same"
    assert refused(pushing, "origin", "HEAD~2:refs/heads/main") == []
    assert run(pushing, "push", "origin", "HEAD", ATLAS_SKIP="1").returncode == 0
    commit(pushing, "b.md", "# B\n")
    assert refused(pushing) == [], "the remote has it by now"


def test_what_is_private_is_the_vaults_to_say(pushing):
    write(pushing, "atlas.toml", '[share]\nprivate = ["*.secret.md", "me/"]\n')
    commit(pushing, "private/a.md", "# A\n")
    assert refused(pushing) == []
    commit(pushing, "x/b.secret.md", "# B\n")
    commit(pushing, "me/photo.png", "png")
    assert [line.partition(":")[0] for line in refused(pushing)] == ["x/b.secret.md", "me/photo.png"]
    write(pushing, "atlas.toml", "[share]\nprivate = []\n")
    assert refused(pushing) == []


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("---\nscope: private\n---\nx\n", True),
        ("---\nscope: 'private/'\n---\nx\n", True),
        ("---\nscope: team\n---\nx\n", False),
        ("# A\n\nscope: private\n", False),
    ],
)
def test_a_note_may_say_that_it_is_private(pushing, text, private):
    commit(pushing, "c.md", text)
    assert [": private: " in line for line in refused(pushing)] == [True] * private


def test_secrets_are_found_by_commit_and_line_and_once(pushing, git):
    commit(pushing, "deploy.md", NOTE)
    short = git(pushing, "rev-parse", "HEAD")[:9]
    commit(pushing, "deploy.md", NOTE + "\nMore.\n")
    (said,) = refused(pushing)
    assert said.startswith("deploy.md:3: secret: ")
    assert short in said
    assert run(pushing, "push", "--no-verify", "origin", "HEAD").returncode == 0
    commit(pushing, "deploy.md", NOTE + "\nStill more.\n")
    assert refused(pushing) == [], "the line is there already, for everybody to see"


def test_new_branches_forced_pushes_tags_and_deletions(pushing, git):
    commit(pushing, "b.md", "# B\n")
    assert refused(pushing) == []
    git(pushing, "switch", "-qc", "side")
    commit(pushing, "private/x.md", "x\n")
    assert len(refused(pushing, "origin", "side")) == 1
    git(pushing, "tag", "-am", "v1", "v1")
    assert len(refused(pushing, "origin", "v1")) == 1
    assert len(refused(pushing, "--all", "origin")) == 1
    git(pushing, "reset", "-q", "--keep", "HEAD~2")
    commit(pushing, "c.md", NOTE)
    assert len(refused(pushing, "--force", "origin", "side:main")) == 1
    git(pushing, "reset", "-q", "--keep", "HEAD~1")
    commit(pushing, "c.md", "# C\n")
    assert refused(pushing, "--force", "origin", "side:main") == []
    git(pushing, "push", "-q", "--no-verify", "origin", "side:gone")
    assert refused(pushing, "--delete", "origin", "gone") == []


def test_a_commit_without_a_parent_counts_whole(pushing, git):
    git(pushing, "switch", "-q", "--orphan", "fresh")
    commit(pushing, "private/x.md", "x\n")
    assert len(refused(pushing)) == 1


def test_a_remote_whose_state_was_never_fetched(pushing, tmp_path, git):
    assert refused(pushing) == []
    git(tmp_path, "clone", "-q", str(tmp_path / "there.git"), "elsewhere")
    git(tmp_path / "elsewhere", "config", "user.email", "x@example.test")
    git(tmp_path / "elsewhere", "config", "user.name", "x")
    commit(tmp_path / "elsewhere", "theirs.md", "x\n")
    git(tmp_path / "elsewhere", "push", "-q", "origin", "HEAD")
    commit(pushing, "b.md", "# B\n")
    assert refused(pushing, "--force", "origin", "HEAD:main") == []
    commit(pushing, "private/b.md", "# B\n")
    url = str(tmp_path / "there.git")
    assert len(refused(pushing, url, "HEAD:main")) == 1, "an address has no tracking branches"


def test_a_merge_counts_for_what_it_changed_itself(pushing, git):
    git(pushing, "switch", "-qc", "other")
    commit(pushing, "b.md", "# B\n")
    git(pushing, "switch", "-q", "main")
    commit(pushing, "c.md", "# C\n")
    git(pushing, "merge", "-q", "--no-commit", "other")
    write(pushing, "private/evil.md", "x\n")
    git(pushing, "add", "-A")
    git(pushing, "commit", "-qm", "merged")
    (said,) = refused(pushing)
    assert said.startswith("private/evil.md")


def test_notes_of_a_vault_in_a_subfolder_and_no_others(tmp_path, make_repo, git):
    top = make_repo(tmp_path / "work")
    git(tmp_path, "init", "--quiet", "--bare", "there.git")
    git(top, "remote", "add", "origin", str(tmp_path / "there.git"))
    assert atlas("init", "notes", cwd=top).code == 0
    assert install(top / "notes").code == 0
    commit(top, "private/code.md", NOTE)
    assert refused(top) == []
    commit(top, "notes/private/x.md", "x\n")
    (said,) = refused(top)
    assert said.startswith("notes/private/x.md")


def test_a_large_first_push_is_read_in_one_go(pushing, git):
    """300 commits of one note each take a handful of processes, not one each."""
    stream = "".join(
        f"commit refs/heads/main\ncommitter x <x@example.test> {1_700_000_000 + n} +0000\ndata 1\nx\n"
        f"{'from refs/heads/main^0' + chr(10) if n == 0 else ''}M 644 inline n{n}.md\ndata 6\n# N {n % 10}\n\n"
        for n in range(300)
    )
    git(pushing, "fast-import", "--quiet", "--force", data=stream)
    git(pushing, "reset", "-q")
    commit(pushing, "last.md", NOTE)
    (said,) = refused(pushing)
    assert said.startswith("last.md:3")


def test_a_broken_setting_lets_the_push_go_and_says_so(pushing):
    commit(pushing, "private/x.md", "x\n")
    write(pushing, "atlas.toml", "[share\n")
    done = run(pushing, "push", "origin", "HEAD")
    assert done.returncode == 0
    assert "pre-push did nothing" in done.stderr
    assert spawn("hook", "pre-push", cwd=pushing).code == 0


def test_the_vaults_own_checks_are_asked(pushing):
    write(pushing, "evals/floor.toml", '[[case]]\nquery = "Where does Ana sit?"\nnever_text = ["floor 2"]\n')
    commit(pushing, "ana.md", "# Ana\n\nAna sits on floor 2.\n")
    done = run(pushing, "push", "origin", "HEAD")
    assert done.returncode != 0
    assert "evals/floor.toml:1: eval: case 1 (Where does Ana sit?): ana.md holds 'floor 2'" in done.stderr
    commit(pushing, "ana.md", "# Ana\n\nAna sits on floor 5.\n")
    assert run(pushing, "push", "origin", "HEAD").returncode == 0


def test_checks_that_cannot_be_read_stop_nothing_and_say_so(pushing):
    write(pushing, "evals/floor.toml", "[[case]\n")
    commit(pushing, "b.md", "# B\n")
    done = run(pushing, "push", "origin", "HEAD")
    assert done.returncode == 0
    assert "evals/floor.toml is not valid TOML" in done.stderr
