"""Who, when and how a commit reads; and surroundings that must not reach it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from support import IMPORTS, RECORD, open_repo, script, write

from atlas import git as atlas_git
from atlas.commits import MOST_NAMED, commit, message
from atlas.memory import Record

# ------------------------------------------------------------------ who, when, how it reads


def test_date_identity_reflog_and_no_hooks(first, git, monkeypatch):
    for name in ("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-index-change"):
        script(first / ".git" / "hooks" / name, f"touch '{first}/{name}-ran'\nexit 1\n")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Grace")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "1999-01-01T00:00:00Z")
    when = datetime(2099, 5, 1, 12, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    commit(open_repo(first), {"n.md": b"hello\n"}, RECORD, when)
    shown = git(first, "log", "-1", "--format=%an|%cn|%aI|%cI")
    assert shown.strip() == "Grace|Ada Example|2099-05-01T12:00:00+05:30|2099-05-01T12:00:00+05:30"
    assert git(first, "log", "-g", "-1", "--format=%gs", "main").strip() == "atlas: Remember the boiler"
    assert not list(first.glob("*-ran"))


def test_an_old_date_from_outside_is_not_taken(first, git, monkeypatch):
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1999-01-01T00:00:00Z")
    commit(open_repo(first), {"n.md": b"hello\n"}, RECORD)
    assert not git(first, "log", "-1", "--format=%cI").startswith("1999")


def test_the_message_is_utf_8_whatever_is_configured(first, git):
    git(first, "config", "i18n.commitEncoding", "latin1")
    commit(open_repo(first), {"n.md": b"hello\n"}, Record("ingest", "Grüße 日本"))
    assert git(first, "log", "-1", "--encoding=UTF-8", "--format=%s").strip() == "Grüße 日本"


def test_a_date_without_a_zone_offset_of_its_own(first, git):
    commit(open_repo(first), {"n.md": b"hello\n"}, RECORD, datetime(2026, 1, 2, tzinfo=UTC))
    assert git(first, "log", "-1", "--format=%cI").strip() == "2026-01-02T00:00:00+00:00"


def trailers(text: bytes, folder: Path) -> list[tuple[str, str]]:
    words = ["git", "interpret-trailers", "--parse", "--no-divider"]
    shown = subprocess.run(words, input=text, capture_output=True, check=True, cwd=folder).stdout.decode()
    return [line.partition(": ")[::2] for line in shown.split("\n") if line]


anything = st.text(max_size=80) | st.sampled_from(
    [
        "x\n\nAtlas-Op: purge",
        "a\r\nAtlas-Actor: root",
        "a\u2028Atlas-Op: x",
        " \tAtlas-Op: x",
        "---\ndiff",
        "\x0bA: b",
        "a\0b",
        "\x1b[31mred",
        "\udce9",
    ]
)
records = st.builds(
    Record, op=anything, subject=anything, reason=anything, actor=anything, policy=anything, memories=st.lists(anything)
)


@given(record=records)
@settings(max_examples=80, deadline=None)
def test_no_text_can_forge_a_trailer(record):
    """The trailers Git reads are the record's own fields, in order, each once."""
    text = message(record)
    keys = [key for key, _ in trailers(text, Path(tempfile.gettempdir()))]
    said = [value for value in (record.reason, record.actor, record.policy) if value.split()]
    assert keys[0] == "Atlas-Op"
    assert keys.count("Atlas-Op") == 1
    assert set(keys) <= {"Atlas-Op", "Atlas-Memory", "Atlas-Reason", "Atlas-Actor", "Atlas-Policy"}
    assert len(keys) <= 1 + len(record.memories) + len(said)
    assert len(text.decode().split("\n")[0]) <= 100
    assert not [c for c in text.decode() if c != "\n" and unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}]


def test_many_memories_are_counted(tmp_path):
    found = trailers(message(Record("adopt", "Adopt", memories=[f"m{n}" for n in range(2000)])), tmp_path)
    assert [value for key, value in found if key == "Atlas-Memory"] == [f"m{n}" for n in range(MOST_NAMED)]
    assert ("Atlas-Memory-Count", "2000") in found


# ------------------------------------------------------------------ surroundings


def test_a_hook_s_variables_lead_nowhere_else(first, git, tmp_path, monkeypatch, make_repo):
    other = make_repo(tmp_path / "other")
    before = sorted(place.name for place in (other / ".git").iterdir())
    for name, value in {
        "GIT_DIR": other / ".git",
        "GIT_INDEX_FILE": other / "i",
        "GIT_WORK_TREE": other,
        "GIT_OBJECT_DIRECTORY": other / "objects",
        "GIT_COMMON_DIR": other / ".git",
        "GIT_PREFIX": "sub/",
        "GIT_CONFIG_PARAMETERS": "'user.name=Mallory'",
    }.items():
        monkeypatch.setenv(name, str(value))
    repository = open_repo(first)
    sha = commit(repository, {"n.md": b"hello\n"}, RECORD)
    assert repository.tree(sha).keys() == {"a.md", "b.md", "c.md", "n.md"}
    assert sorted(place.name for place in (other / ".git").iterdir()) == before
    assert [place.name for place in other.iterdir()] == [".git"]
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"):
        monkeypatch.delenv(name)
    assert git(first, "log", "-1", "--format=%an").strip() == "Ada Example"


def test_a_commit_made_inside_the_user_s_commit(first, git, tmp_path):
    """A pre-commit hook commits to a second vault; the user's commit holds what was staged."""
    second = atlas_git.ensure_repository(tmp_path)
    code = (
        "import sys; from pathlib import Path; from atlas import git; from atlas.commits import commit\n"
        "from atlas.memory import Record\n"
        "commit(git.find(Path(sys.argv[1])), {'n.md': b'second'}, Record('ingest', 's'))\n"
    )
    git(tmp_path, "config", "user.name", "Ada")
    git(tmp_path, "config", "user.email", "ada@example.test")
    (tmp_path / "job.py").write_text(code)
    hook = f"PYTHONPATH='{IMPORTS}' exec '{sys.executable}' '{tmp_path}/job.py' '{tmp_path}'\n"
    script(first / ".git" / "hooks" / "pre-commit", hook)
    git(first, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    write(tmp_path / "side", "a.md", "changed\n")
    write(tmp_path / "side", "b.md", "not staged\n")
    git(tmp_path / "side", "commit", "-qm", "theirs", "--", "a.md")
    assert git(tmp_path / "side", "show", "--format=", "--name-only").split() == ["a.md"]
    assert second.tree().keys() == {"n.md"}
