"""The hooks as files and settings: put in beside others, taken out, found again, and never in Git's way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from shell import ROOT, Said, atlas, environment, spawn
from support import script, write

from atlas import hook, hooks, stubs

BROKEN = "---\ntitle: *Draft*\n---\nNot fine.\n"
NAMES = list(hook.NAMES)


def install(root: Path, *words: str, **env: str) -> Said:
    return spawn("hooks", "install", *words, "--json", cwd=root, **env)


def run(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Git as a person runs it, in an environment that finds Atlas."""
    return subprocess.run(["git", *words], cwd=folder, env=environment(**env), capture_output=True, text=True,
                          timeout=60, check=False)  # fmt: skip


def commit(folder: Path, path: str, text: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    write(folder, path, text)
    run(folder, "add", "--", path)
    return run(folder, "commit", "-m", path, *words, **env)


def recorded(root: Path, place: Path, code: str) -> Path:
    """Make a program of a test's own what starts Atlas; it notes each call in `calls`."""
    done = script(place, f'echo "$@" >> "{place.parent}/calls"\n{code}\n')
    run(root, "config", "atlas.command", f"'{done}'")
    return place.parent / "calls"


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = [file for file in folder.rglob("*") if file.is_file() and "objects" not in file.parts]
    return {str(file.relative_to(folder)): (file.stat().st_mode, file.read_bytes()) for file in files}


# ------------------------------------------------------------------ in and out


def test_installing_twice_changes_nothing_and_uninstalling_leaves_nothing(root):
    write(root, ".gitattributes", "*.md diff=markdown\n")  # of a vault made before the template named the driver
    before = snapshot(root / ".git" / "hooks")
    found = install(root).json
    assert found["installed"] == NAMES
    assert (found["chained"], found["missing"], found["edited"], found["inactive_reason"]) == ([], [], [], "")
    assert found["merge_driver"] == {"installed": True, "inactive_reason": ""}
    once = snapshot(root / ".git")
    assert install(root).json == found
    assert snapshot(root / ".git") == once
    assert spawn("hooks", "status", "--json", cwd=root).json == found
    gone = spawn("hooks", "uninstall", "--json", cwd=root)
    assert (gone.code, gone.json["installed"]) == (0, [])
    assert snapshot(root / ".git" / "hooks") == before
    assert [p.name for p in (root / ".git" / "atlas").iterdir()] == ["turn"], "the lock of writers"
    assert "atlas" not in (root / ".git" / "config").read_text()
    assert b"atlas" not in (root / ".git" / "info" / "attributes").read_bytes()
    assert spawn("hooks", "status", cwd=root).code == 1


def test_a_hook_that_was_there_runs_first_and_can_block(root):
    mine = script(root / ".git" / "hooks" / "pre-commit", 'echo "mine $(basename "$0")" >&2\n[ ! -e STOP ] || exit 7\n')
    mine.chmod(0o750)
    before = (mine.stat().st_mode, mine.read_bytes())
    assert install(root).json["chained"] == ["pre-commit"]
    done = commit(root, "a.md", "# A\n")
    assert (done.returncode, done.stderr.count("mine pre-commit\n")) == (0, 1)
    refused = commit(root, "a.md", BROKEN)
    assert (refused.returncode, refused.stderr.count("mine")) == (1, 1)
    assert "a.md:2: frontmatter: " in refused.stderr
    write(root, "STOP", "")
    stopped = commit(root, "b.md", BROKEN)
    assert stopped.returncode != 0
    assert "b.md" not in stopped.stderr
    spawn("hooks", "uninstall", cwd=root)
    assert (mine.stat().st_mode, mine.read_bytes()) == before
    assert [p.name for p in mine.parent.iterdir() if p.suffix != ".sample"] == ["pre-commit"]


def test_a_chained_hook_gets_its_arguments_and_its_input(root, tmp_path, git):
    git(tmp_path, "init", "--quiet", "--bare", "there.git")
    git(root, "remote", "add", "origin", str(tmp_path / "there.git"))
    log = tmp_path / "log"
    script(root / ".git" / "hooks" / "pre-push", f'echo "$1" > "{log}"; cat >> "{log}"\n')
    install(root)
    assert commit(root, "a.md", "# A\n").returncode == 0
    head = git(root, "rev-parse", "HEAD").strip()
    assert run(root, "push", "origin", "main").returncode == 0
    assert log.read_text() == f"origin\nrefs/heads/main {head} refs/heads/main {'0' * 40}\n"


def test_a_program_and_a_link_are_chained_as_they_are(root, tmp_path):
    """Not every hook is a shell script, and frameworks put links in."""
    target = script(tmp_path / "shared", 'echo "linked" >&2\n')
    folder = root / ".git" / "hooks"
    (folder / "pre-commit").symlink_to(target)
    write(folder, "post-checkout", f"#!{sys.executable}\nimport sys; print('python', *sys.argv[1:], file=sys.stderr)\n")
    (folder / "post-checkout").chmod(0o755)
    assert install(root).json["chained"] == ["pre-commit", "post-checkout"]
    assert "linked" in commit(root, "a.md", "# A\n").stderr
    assert "python" in run(root, "switch", "-c", "other").stderr
    spawn("hooks", "uninstall", cwd=root)
    assert (folder / "pre-commit").readlink() == target
    assert target.read_text().endswith('echo "linked" >&2\n')


def test_a_hook_that_git_does_not_run_is_kept_and_not_run(root):
    mine = root / ".git" / "hooks" / "pre-commit"
    write(mine.parent, mine.name, "#!/bin/sh\nexit 1\n")
    mine.chmod(0o644)
    assert install(root).json["chained"] == []
    assert commit(root, "a.md", "# A\n").returncode == 0
    spawn("hooks", "uninstall", cwd=root)
    assert (mine.stat().st_mode & 0o777, mine.read_text()) == (0o644, "#!/bin/sh\nexit 1\n")


def test_what_a_person_changed_is_named_and_left(root):
    install(root)
    stub = root / ".git" / "hooks" / "pre-commit"
    stub.write_text(stub.read_text().replace("hook=pre-commit", "hook=pre-commit # mine"))
    edited = stub.read_bytes()
    again = install(root)
    assert again.json["edited"] == ["pre-commit"]
    assert str(stub) in again.err
    gone = spawn("hooks", "uninstall", cwd=root)
    assert stub.read_bytes() == edited
    assert str(stub) in gone.err
    left = commit(root, "a.md", BROKEN)
    assert (left.returncode, left.stderr) == (0, ""), "a stub that was left does nothing"


def test_two_hooks_of_others_are_not_mixed(root):
    folder = root / ".git" / "hooks"
    script(folder / "pre-commit", "exit 0\n")
    install(root)
    (folder / "pre-commit").unlink()
    script(folder / "pre-commit", "# newer\nexit 0\n")
    before = snapshot(folder)
    assert "are both hooks of others" in install(root).err
    assert snapshot(folder) == before


def test_a_framework_that_keeps_the_stub_elsewhere_is_not_run_twice(root):
    """pre-commit, installed later, calls what it found; chaining it as well would go in a circle."""
    folder = root / ".git" / "hooks"
    install(root)
    (folder / "pre-commit").rename(folder / "pre-commit.legacy")
    script(folder / "pre-commit", '"$(dirname "$0")/pre-commit.legacy" "$@"\n')
    before = snapshot(folder)
    found = install(root).json
    assert (found["installed"], found["inactive_reason"]) == (NAMES, "")
    assert snapshot(folder) == before
    assert commit(root, "a.md", BROKEN).returncode == 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200), mode=st.sampled_from([0o755, 0o700, 0o644, 0o555]))
def test_any_hook_comes_back_byte_for_byte(tmp_path, data, mode):
    assume(b"# atlas-stub: " not in data)  # by this line a stub is known
    place = tmp_path / "pre-commit"
    place.write_bytes(data)
    place.chmod(mode)
    assert stubs.put("pre-commit", place) == ""
    assert stubs.whose(place) is stubs.Whose.ATLAS
    assert stubs.put("pre-commit", place) == ""
    assert stubs.take_out(place) == ""
    assert (place.read_bytes(), place.stat().st_mode & 0o777) == (data, mode)
    place.unlink()
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 500), byte=st.binary(min_size=1, max_size=3))
def test_no_change_of_a_stub_goes_unseen(tmp_path, at, byte):
    place = tmp_path / "pre-push"
    place.unlink(missing_ok=True)
    stubs.put("pre-push", place)
    data = place.read_bytes()
    place.write_bytes(data[:at] + byte + data[at:])
    assert stubs.whose(place) is not stubs.Whose.ATLAS


# -------------------------------------------------------------- core.hooksPath


def test_a_folder_outside_is_not_written_to_unasked(root, tmp_path, git):
    theirs = tmp_path / "theirs"
    script(tmp_path / "keep", "")
    theirs.mkdir()
    settings_ = tmp_path / "gitconfig"
    git(root, "config", "--file", str(settings_), "core.hooksPath", str(theirs))
    env = {"GIT_CONFIG_GLOBAL": str(settings_)}
    refused = install(root, **env)
    assert refused.code == 1
    reason = refused.json["inactive_reason"]
    assert 'atlas hook pre-commit "$@"' in reason
    assert "(global)" in reason
    assert reason in refused.err
    assert list(theirs.iterdir()) == []
    shown = spawn("status", "--json", cwd=root, **env).json
    assert shown["hooks"]["inactive_reason"] == reason
    assert commit(root, "a.md", BROKEN, **env).returncode == 0
    # the line, added by hand
    script(theirs / "pre-commit", f'exec "{sys.executable}" -P -m atlas hook pre-commit "$@"\n')
    found = spawn("hooks", "status", "--json", cwd=root, **env)
    assert (found.code, found.json["installed"], found.json["inactive_reason"]) == (0, ["pre-commit"], "")
    assert commit(root, "b.md", BROKEN, **env).returncode == 1
    # asked for
    asked = install(root, "--into-hooks-path", **env).json
    assert (asked["installed"], asked["chained"]) == (NAMES, ["pre-commit"])
    assert asked["folder"] == str(theirs)
    assert commit(root, "b.md", "# B\n", **env).returncode == 0
    spawn("hooks", "uninstall", cwd=root, **env)
    assert [p.name for p in theirs.iterdir()] == ["pre-commit"]


def test_stubs_in_a_shared_folder_keep_quiet_in_other_repositories(root, tmp_path, git, make_repo):
    theirs = tmp_path / "theirs"
    git(root, "config", "core.hooksPath", str(theirs))
    install(root, "--into-hooks-path")
    other = make_repo(tmp_path / "other")
    git(other, "config", "core.hooksPath", str(theirs))
    done = commit(other, "a.md", BROKEN)
    assert (done.returncode, done.stderr) == (0, "")


def test_huskys_own_folder_is_not_written_to(root, git):
    git(root, "config", "core.hooksPath", ".husky/_")
    write(root, ".husky/_/h", "")
    reason = install(root).json["inactive_reason"]
    assert f"{root}/.husky/pre-commit" in reason
    refused = spawn("hooks", "install", "--into-hooks-path", cwd=root)
    assert "husky writes" in refused.sentence
    assert [p.name for p in (root / ".husky" / "_").iterdir()] == ["h"]


def test_a_hooks_path_that_is_the_own_folder_is_no_obstacle(root, git):
    git(root, "config", "core.hooksPath", ".git/hooks")
    assert install(root).json["inactive_reason"] == ""


# ---------------------------------------------------------------- finding Atlas


def test_a_bare_path_is_enough(root):
    install(root)
    write(root, "a.md", BROKEN)
    words = ["env", "-i", "PATH=/usr/bin:/bin", "git", "-c", "user.name=x", "-c", "user.email=x@example.test"]
    subprocess.run(["git", "add", "a.md"], cwd=root, check=True)
    done = subprocess.run([*words, "commit", "-m", "x"], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "a.md:2: frontmatter" in done.stderr


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("'/nowhere/bin/python' -P -m atlas", "Atlas is neither"),
        ("'{python}' -P -m nothing_of_this_name", "code 1"),
        ("sh -c 'exit 126'", "code 126"),
        ("sh -c 'kill -9 $$'", "code 137"),
        ("no-such-program", "code 127"),
    ],
)
def test_what_cannot_be_run_says_one_line_and_lets_git_go(root, command, code):
    script(root / ".git" / "hooks" / "pre-commit", "[ ! -e STOP ]\n")
    install(root)
    run(root, "config", "atlas.command", command.format(python=sys.executable))
    (root / ".git" / "hooks" / "post-commit").unlink()
    env = {"PATH": "/usr/bin:/bin"}
    done = commit(root, "a.md", BROKEN, **env)
    said = [line for line in done.stderr.splitlines() if line.startswith("atlas: ")]
    assert (done.returncode, len(said)) == (0, 1)
    assert code in said[0]
    write(root, "STOP", "")
    assert commit(root, "b.md", "# B\n", **env).returncode == 1, "the hook that was there still blocks"


def test_what_is_gone_is_looked_for_on_path_and_repaired_by_installing(root, tmp_path):
    install(root)
    run(root, "config", "atlas.command", "'/nowhere/atlas'")
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin" / "atlas", f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -P -m atlas "$@"\n')
    path = f"{tmp_path}/bin:/usr/bin:/bin"
    assert commit(root, "a.md", BROKEN, PATH=path).returncode == 1
    found = spawn("hooks", "status", "--json", cwd=root, PATH="/usr/bin:/bin")
    assert "is gone ('/nowhere/atlas')" in found.json["inactive_reason"]
    assert install(root).json["inactive_reason"] == ""
    assert commit(root, "a.md", BROKEN, PATH="/usr/bin:/bin").returncode == 1


def test_the_command_that_is_recorded_is_the_one_that_ran(monkeypatch, tmp_path):
    program = script(tmp_path / "atlas", "")
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert hooks.command() == str(program)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "pytest")])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert hooks.command() == f"{sys.executable} -P -m atlas"


def test_a_moved_repository_goes_on(root, tmp_path):
    install(root)
    moved = root.rename(tmp_path / "moved")
    assert commit(moved, "a.md", BROKEN).returncode == 1
    assert install(moved).json["inactive_reason"] == ""


def test_a_vault_in_a_subfolder(tmp_path, make_repo):
    top = make_repo(tmp_path / "work")
    assert atlas("init", "notes", cwd=top).code == 0
    found = install(top / "notes").json
    assert (found["vaults"], found["inactive_reason"]) == (["notes"], "")
    refused = commit(top, "notes/a.md", BROKEN)
    assert "notes/a.md:2: frontmatter" in refused.stderr
    run(top, "reset", "--quiet")
    assert commit(top, "elsewhere.md", BROKEN).returncode == 0, "no note of a vault"
    (top / "notes").rename(top / "memory")
    lost = commit(top, "memory/a.md", BROKEN)
    assert lost.returncode == 0
    assert "no vault at notes/" in lost.stderr
    assert "not here" in spawn("hooks", "status", "--json", cwd=top / "memory").json["inactive_reason"]
    again = install(top / "memory")
    assert again.json["vaults"] == ["memory"]
    assert "notes holds no atlas.toml" in again.err
    assert commit(top, "memory/a.md", BROKEN + "\n").returncode == 1


def test_two_vaults_of_one_repository_are_both_judged(tmp_path, make_repo):
    top = make_repo(tmp_path / "work")
    for name in ("one", "two words"):
        assert atlas("init", name, cwd=top).code == 0
        found = install(top / name).json
    assert found["vaults"] == ["one", "two words"]
    for name in found["vaults"]:
        assert f"{name}/a.md:2: frontmatter" in commit(top, f"{name}/a.md", BROKEN).stderr
    assert found["merge_driver"]["inactive_reason"] == ""


def test_commits_without_notes_start_no_python(root, tmp_path):
    install(root)
    (root / ".git" / "hooks" / "post-commit").unlink()
    calls = recorded(root, tmp_path / "program", "exit 97")
    assert commit(root, "code.py", "x = 1\n").returncode == 0
    assert not calls.exists()
    assert commit(root, "A.MD", "# A\n").returncode == 1
    assert calls.read_text() == "hook --stub pre-commit\n"


def test_a_hook_started_by_a_hook_does_nothing(root, tmp_path):
    install(root)
    calls = recorded(root, tmp_path / "program", "exit 97")
    for name in ("ATLAS_HOOK", "ATLAS_SKIP"):
        assert commit(root, f"{name}.md", BROKEN, **{name: "1"}).returncode == 0
        assert hook.run("pre-commit", [], bytes) == hook.Said() or not os.environ.get(name)
    assert not calls.exists()


def test_another_repositorys_hook_judges_nothing_here(root, tmp_path, make_repo):
    other = make_repo(tmp_path / "other")
    said = spawn("hook", "pre-commit", cwd=root, GIT_DIR=str(other / ".git"))
    assert said.code == 0
    assert said.err.count("\n") == 1
    assert "belongs to another" in said.err
    assert spawn("hook", "pre-comit", cwd=root).err.startswith("atlas: pre-comit did nothing: ")


# ---------------------------------------------------------------- what they do


def test_the_index_is_fresh_a_moment_after_a_commit(root):
    install(root)
    assert commit(root, "a.md", "# Kettle\n").returncode == 0
    generation = root / ".atlas" / "generation"
    for _ in range(200):
        if generation.exists():
            break
        subprocess.run(["sleep", "0.05"], check=True)
    assert generation.exists()


def test_refreshing_is_left_alone_in_an_operation_and_for_single_files(root, tmp_path):
    install(root)
    commit(root, "a.md", "# A\n")
    commit(root, "b.md", "# B\n")
    (root / ".git" / "hooks" / "pre-commit").unlink()
    calls = recorded(root, tmp_path / "program", "exit 0")
    run(root, "checkout", "HEAD~1", "--", "a.md")
    run(root, "switch", "-c", "same")
    (root / ".git" / "BISECT_LOG").write_text("")
    commit(root, "c.md", "# C\n")
    time.sleep(0.3)  # what runs behind Git's back would have begun by now
    assert not calls.exists()
    (root / ".git" / "BISECT_LOG").unlink()
    run(root, "merge", "--ff-only", "main")
    run(root, "switch", "main")
    run(root, "merge", "same")
    assert "post-merge" in calls.read_text()


def test_a_locked_index_holds_nothing_up(root):
    write(root, "atlas.toml", "[hooks]\nseconds = 0.5\n")
    (root / ".atlas").mkdir(exist_ok=True)
    with FileLock(root / ".atlas" / "index.lock"):
        for name in ("post-merge", "post-commit"):
            assert spawn("hook", name, cwd=root).code == 0
            assert spawn("hook", "--stub", name, cwd=root).code == 0
    assert not (root / ".atlas" / "index.duckdb").exists()
    write(root, "atlas.toml", "[hooks]\nseconds = 60\n")
    assert spawn("hook", "--stub", "post-commit", cwd=root) == Said(0, "", "")
    assert (root / ".atlas" / "index.duckdb").exists()


def test_a_merge_is_over_when_its_hook_runs(root):
    """MERGE_HEAD is still there then; what upkeep commits must not be taken for a commit inside the merge."""
    commit(root, "a.md", "# A\n")
    run(root, "switch", "-qc", "other")
    commit(root, "b.md", "# B\n")
    run(root, "switch", "-q", "main")
    commit(root, "c.md", "# C\n")
    code = "from atlas import git; print(repr(git.find(__import__('pathlib').Path('.')).operation()))"
    for name in ("post-merge", "pre-merge-commit"):
        script(root / ".git" / "hooks" / name, f'ls .git/MERGE_HEAD\n"{sys.executable}" -P -c "{code}"\n')
    said = run(root, "merge", "--no-edit", "other").stderr.splitlines()
    assert said.count(".git/MERGE_HEAD") >= 1
    assert [line for line in said if line.startswith("'")][-1] == "''"
    run(root, "reset", "-q", "--keep", "HEAD~1")
    run(root, "merge", "--no-commit", "other")
    stopped = subprocess.run([sys.executable, "-c", code], cwd=root, env=environment(), capture_output=True, text=True,
                             check=True)  # fmt: skip
    assert stopped.stdout == "'a merge'\n"


def test_a_shared_line_is_silent_where_there_is_no_vault(tmp_path, make_repo):
    other = make_repo(tmp_path / "other")
    write(other, "private/a.md", BROKEN)
    run(other, "add", "-A")
    assert spawn("hook", "pre-commit", cwd=other) == Said(0, "", "")
    line = b"refs/heads/main " + b"1" * 40 + b" refs/heads/main " + b"0" * 40 + b"\n"
    assert spawn("hook", "pre-push", "origin", cwd=other, stdin=line) == Said(0, "", "")


def test_a_refresh_that_hangs_is_ended(root, tmp_path):
    """Whatever it waits for; here, a Git that does not answer."""
    write(root, "atlas.toml", "[hooks]\nseconds = 1\n")
    write(root, "a.md", "# A\n")
    (tmp_path / "bin").mkdir()
    slow = f'case "$*" in *ls-tree*) sleep 15 ;; esac\nexec "{shutil.which("git")}" "$@"\n'
    script(tmp_path / "bin" / "git", slow)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    assert spawn("hook", "--stub", "post-merge", cwd=root, PATH=path) == Said(0, "", "")
    assert not (root / ".atlas" / "generation").exists()


# --------------------------------------------------------------- merge driver

OURS, THEIRS = "# A\n\nours\n", "# A\n\ntheirs\n"


@pytest.fixture
def torn(root) -> Path:
    """A repository whose branches `main` and `other` disagree about one note, with the driver installed."""
    assert install(root).code == 0
    commit(root, "a.md", "# A\n\nbase\n")
    run(root, "switch", "--quiet", "-c", "other")
    commit(root, "a.md", THEIRS)
    run(root, "switch", "--quiet", "main")
    commit(root, "a.md", OURS)
    return root


@pytest.mark.parametrize(
    "ending",
    ["exit 2", "exit 127", "kill -9 $$", "exit 1", 'echo half > "$3"; kill -9 $$', 'echo half > "$3"; exit 2'],
)
def test_a_driver_that_dies_hides_neither_side(torn, tmp_path, ending):
    recorded(torn, tmp_path / "program", ending)
    done = run(torn, "merge", "other")
    assert done.returncode == 1
    text = (torn / "a.md").read_text()
    assert "<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n" in text
    assert "half" not in text
    assert "a.md is merged by lines" in done.stderr
    assert run(torn, "status", "--porcelain").stdout.split() == ["UU", "a.md"]


def test_what_the_driver_makes_is_taken(torn, tmp_path):
    calls = recorded(torn, tmp_path / "program", 'echo both > "$3"; exit 0')
    assert run(torn, "merge", "--no-edit", "other").returncode == 0
    assert (torn / "a.md").read_text() == "both\n"
    assert "merge-driver" in calls.read_text()
    run(torn, "reset", "--quiet", "--keep", "HEAD~1")
    recorded(torn, tmp_path / "program", 'echo marked > "$3"; exit 1')
    assert run(torn, "merge", "other").returncode == 1
    assert (torn / "a.md").read_text() == "marked\n"


def test_a_driver_whose_file_is_gone_hides_neither_side(torn):
    shutil.rmtree(torn / ".git" / "atlas")
    driver = spawn("hooks", "status", "--json", cwd=torn).json["merge_driver"]
    assert not driver["installed"]
    assert "this clone does not have it" in driver["inactive_reason"]
    assert run(torn, "merge", "other").returncode == 1
    assert (torn / "a.md").read_text().count("theirs") >= 1


def test_a_clone_without_the_driver_is_told_so(root, tmp_path, git):
    write(root, ".gitattributes", "*.md merge=atlas\n*.markdown merge=atlas\n")
    install(root)
    assert not (root / ".git" / "info" / "attributes").exists() or "atlas" not in (
        root / ".git" / "info" / "attributes").read_text()  # fmt: skip
    git(root, "add", "-A")
    git(root, "commit", "-qm", "attributes")
    git(tmp_path, "clone", "--quiet", str(root), "clone")
    driver = spawn("status", "--json", cwd=tmp_path / "clone").json["merge_driver"]
    assert not driver["installed"]
    assert "this clone does not have it" in driver["inactive_reason"]
    assert "atlas hooks install" in driver["inactive_reason"]
    write(tmp_path / "clone", ".gitattributes", "*.md merge=union\n")
    mixed = install(tmp_path / "clone").json["merge_driver"]
    assert mixed == {"installed": True, "inactive_reason": "notes have another merge attribute (union)"}


def test_attributes_of_a_folder_with_odd_letters(tmp_path, make_repo):
    top = make_repo(tmp_path / "work")
    name = 'my "notes" [1]'
    assert atlas("init", name, cwd=top).code == 0
    write(top / name, ".gitattributes", "")
    assert install(top / name).json["merge_driver"]["inactive_reason"] == ""
    shown = run(top, "check-attr", "merge", "--", f"{name}/deep/a.md", "a.md").stdout
    assert shown.splitlines()[0].endswith(": merge: atlas")
    assert shown.splitlines()[1].endswith(": merge: unspecified")
    spawn("hooks", "uninstall", cwd=top / name)
    assert "atlas" not in run(top, "check-attr", "merge", "--", f"{name}/deep/a.md").stdout.rpartition(": ")[2]


def test_the_state_of_a_folder_without_git(tmp_path):
    assert hooks.state(None).inactive_reason == "the vault is not under Git"
    write(tmp_path, "vault/atlas.toml", "")
    assert "git init" in spawn("hooks", "install", cwd=tmp_path / "vault").sentence
