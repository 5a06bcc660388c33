"""Others at work at the same time, and a kill at any point."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import IMPORTS, QUICK, RECORD, SIGN, open_repo, script, write

from atlas.commits import commit
from atlas.errors import NotCommitted
from atlas.memory import Record

# ------------------------------------------------------------------ races


def test_a_branch_that_moves_meanwhile(first, git, tmp_path):
    """The signer makes a commit of its own: ours must land on top of it."""
    race = (
        f"if [ ! -e '{tmp_path}/raced' ]; then touch '{tmp_path}/raced'; cd '{first}'; echo theirs > b.md;"
        " git -c commit.gpgsign=false commit -qam theirs </dev/null >/dev/null; fi\n"
    )
    git(first, "config", "commit.gpgsign", "true")
    git(first, "config", "gpg.program", str(script(tmp_path / "signer", race + SIGN)))
    commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    write(first, "n.md", "hello\n")
    assert git(first, "log", "--format=%s").splitlines() == ["Remember the boiler", "theirs", "first"]
    assert git(first, "show", "HEAD:b.md") == "theirs\n"
    assert git(first, "status", "--porcelain") == ""


def test_an_index_that_changes_meanwhile(first, git, tmp_path):
    """The signer stages something: it must neither be committed nor lost."""
    stage = f"cd '{first}'; echo staged > new.md; git add new.md; git rm -q --cached c.md\n"
    git(first, "config", "commit.gpgsign", "true")
    git(first, "config", "gpg.program", str(script(tmp_path / "signer", stage + SIGN)))
    sha = commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    assert git(first, "show", "--format=", "--name-only", sha).split() == ["n.md"]
    assert git(first, "diff", "--cached", "--name-status").split() == ["D", "c.md", "A", "new.md"]


def test_a_rebase_that_begins_meanwhile(first, git, tmp_path, sound):
    begin = f"mkdir '{first}/.git/rebase-merge'\n"
    git(first, "config", "commit.gpgsign", "true")
    git(first, "config", "gpg.program", str(script(tmp_path / "signer", begin + SIGN)))
    index = git(first, "ls-files", "-s")
    with pytest.raises(NotCommitted, match="rebase"):
        commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    assert git(first, "ls-files", "-s") == index
    assert git(first, "rev-list", "--count", "main").strip() == "1"
    sound(first)


def test_a_branch_that_moves_into_a_rebase_meanwhile(first, git, sound):
    """The branch moves when ours should, and a rebase is under way by the second try: nothing of ours stays staged."""
    script(
        first / ".git" / "hooks" / "reference-transaction",
        f"""[ "$1" = prepared ] || exit 0
rm '{first}/.git/hooks/reference-transaction'
mkdir '{first}/.git/rebase-merge'
theirs=$(git commit-tree -p HEAD -m theirs 'HEAD^{{tree}}')
echo "$theirs" > '{first}/.git/refs/heads/main'
exit 1
""",
    )
    index = git(first, "ls-files", "-s")
    with pytest.raises(NotCommitted, match="rebase"):
        commit(open_repo(first), {"n.md": b"hello\n", "a.md": None}, RECORD)
    assert git(first, "ls-files", "-s") == index
    assert git(first, "log", "--format=%s", "main").splitlines() == ["theirs", "first"]
    sound(first)


def test_a_user_who_never_stops_staging(first, git, sound):
    stop = threading.Event()

    def stage() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            write(first, "theirs.md", f"{turn}\n")
            for words in (("add", "theirs.md"), ("status",)):
                subprocess.run(["git", *words], cwd=first, capture_output=True, check=False)

    repository = open_repo(first)
    user = threading.Thread(target=stage)
    user.start()
    try:
        for n in range(20):
            write(first, f"n{n}.md", "hello\n")
            commit(repository, {f"n{n}.md": b"hello\n"}, RECORD)
    finally:
        stop.set()
        user.join()
    assert git(first, "rev-list", "--count", "HEAD").strip() == "21"
    git(first, "add", "theirs.md")
    assert git(first, "status", "--porcelain").splitlines() == ["A  theirs.md"]
    sound(first)


def test_eight_threads(first, git, sound):
    repository = open_repo(first)
    names = [f"t{n}.md" for n in range(32)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda name: commit(repository, {name: name.encode()}, RECORD), names))
    check_linear(first, git, made, names)
    sound(first)


WORKER = """
import sys
from pathlib import Path
from atlas import git
from atlas.commits import commit
from atlas.memory import Record
repo, who, count = git.find(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
for n in range(count):
    name = f"p{who}-{n}.md"
    (repo.folder / name).write_bytes(name.encode())
    print(commit(repo, {name: name.encode()}, Record("ingest", name)), flush=True)
"""


def worker(repo: Path, who: int, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(repo), str(who), str(count)],
        env={**os.environ, "PYTHONPATH": IMPORTS},
        stdout=subprocess.PIPE,
        text=True,
    )


def check_linear(repo: Path, git, made: list[str], names: list[str]) -> None:
    listed = git(repo, "rev-list", "--parents", "HEAD").splitlines()
    assert all(len(line.split()) <= 2 for line in listed)
    assert {line.split()[0] for line in listed} >= set(made)
    assert len(listed) == len(set(made)) + 1 == len(made) + 1
    assert set(open_repo(repo).tree()) == {"a.md", "b.md", "c.md", *names}


def test_eight_processes(first, git, sound):
    workers = [worker(first, who, 3) for who in range(8)]
    made = [line for each in workers for line in each.communicate()[0].split()[1:]]
    assert [each.returncode for each in workers] == [0] * 8
    check_linear(first, git, made, [f"p{who}-{n}.md" for who in range(8) for n in range(3)])
    assert git(first, "status", "--porcelain") == ""
    sound(first)


def test_a_lock_left_by_a_killed_writer_of_ours_is_known_as_ours(first, git, sound):
    """Killed between taking the lock and letting it go: some microseconds, yet it was seen."""
    room = first / ".git" / "atlas"
    room.mkdir()
    (room / "index-dead").write_bytes(b"half")
    (first / ".git" / "index.lock").hardlink_to(room / "index-dead")
    commit(open_repo(first), {"n.md": b"hello\n"}, RECORD, limits=QUICK)
    sound(first)


def test_a_lock_beside_what_a_killed_writer_left_is_not_ours(first):
    room = first / ".git" / "atlas"
    room.mkdir()
    (room / "index-dead").write_bytes(b"half")
    lock = first / ".git" / "index.lock"
    lock.write_bytes(b"half")
    with pytest.raises(NotCommitted, match=r"index\.lock"):
        commit(open_repo(first), {"n.md": b"hello\n"}, RECORD, limits=QUICK)
    assert lock.read_bytes() == b"half"


def test_killed_at_any_point(first, git, sound):
    """No damage, no lock for long, and never an index that would take a committed memory out again."""
    chance = random.Random(7)
    for turn in range(8):
        child = worker(first, turn, 1000)
        for _ in range(2):
            assert child.stdout.readline()
        time.sleep(chance.uniform(0, 0.06))
        child.kill()
        child.communicate()
        time.sleep(0.2)  # what Git itself had begun comes to its end
        staged = git(first, "diff", "--cached", "--name-status", "--no-renames").splitlines()
        assert all(line.startswith("A\t") for line in staged)
        late = {path: (first / path).read_bytes() for path in open_repo(first).uncommitted()}
        commit(open_repo(first), late, Record("ingest", "picked up"))
        assert git(first, "status", "--porcelain") == ""
        sound(first)
