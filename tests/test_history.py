"""Reading the past back: entries, renames, revisions."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import LINES, NOON, SIGN, open_repo, script, write

from atlas import git as atlas_git
from atlas import history
from atlas.commits import commit, one_line
from atlas.errors import NotFound
from atlas.memory import Record


@pytest.fixture
def vault(repo) -> atlas_git.Repository:
    return open_repo(repo)


@pytest.fixture
def remember(vault):
    """`remember(files, op, …)`: write the files and commit them, a day later each time."""
    day = iter(range(1000))

    def make(files: dict[str, bytes | None], op: str = "ingest", **facts) -> str:
        for path, data in files.items():
            if data is None:
                (vault.folder / path).unlink()
            else:
                write(vault.folder, path, data)
        record = Record(op, facts.pop("subject", f"{op} {', '.join(files)}"[:60]), **facts)
        return commit(vault, files, record, NOON + timedelta(days=next(day)))

    return make


# ------------------------------------------------------------------ the log


def test_an_empty_repository_has_no_past(vault):
    assert history.log(vault) == []
    assert history.renames(vault) == []
    assert history.last_atlas_commit(vault) == ""
    with pytest.raises(NotFound):
        history.resolve(vault, "HEAD")
    with pytest.raises(NotFound):
        history.resolve(vault, "2026-05-01")


def test_an_entry_says_who_what_and_why(vault, remember):
    facts = {"subject": "Remember", "reason": "asked", "actor": "ada", "policy": "p1", "memories": ["01J", "01K"]}
    sha = remember({"a.md": b"one\n", "b.md": b"two\n"}, **facts)
    (entry,) = history.log(vault)
    assert (entry.commit, entry.time, entry.op, entry.subject) == (
        sha,
        "2026-05-01T12:00:00+00:00",
        "ingest",
        "Remember",
    )
    assert (entry.memories, entry.paths) == (("01J", "01K"), ("a.md", "b.md"))
    assert (entry.reason, entry.actor, entry.policy) == ("asked", "ada", "p1")


def test_a_person_s_commits_appear_as_edits(vault, remember, git):
    remember({"a.md": b"one\n"})
    write(vault.folder, "a.md", "by hand\n")
    git(vault.folder, "commit", "-qam", "Reword it\n\nAnd a body.\n\nSigned-off-by: Ada")
    write(vault.folder, "Makefile", "all:\n")
    git(vault.folder, "add", "-A")
    git(vault.folder, "commit", "-qm", "Not about memories")
    edit, ingest = history.log(vault)
    assert (edit.op, edit.subject, edit.actor, edit.paths) == ("edit", "Reword it", "Ada Example", ("a.md",))
    assert ingest.op == "ingest"


def test_the_limit_counts_entries_not_commits(vault, remember, git):
    remember({"a.md": b"one\n"})
    remember({"b.md": b"two\n"})
    for n in range(9):
        write(vault.folder, "x.txt", f"{n}\n")
        git(vault.folder, "add", "-A")
        git(vault.folder, "commit", "-qm", f"other {n}")
    assert [entry.paths for entry in history.log(vault, limit=2)] == [("b.md",), ("a.md",)]
    assert [entry.paths for entry in history.log(vault, limit=1)] == [("b.md",)]


def test_atlas_s_own_commits_count_whatever_they_touch(vault, remember):
    remember({"ledger/2026-05/x.jsonl": b"{}\n"}, "fold")
    assert [entry.op for entry in history.log(vault)] == ["fold"]


def test_a_path_is_followed_over_a_rename(vault, remember, git):
    remember({"old.md": LINES})
    remember({"other.md": b"x\n"})
    remember({"old.md": LINES + b"more\n"})
    git(vault.folder, "mv", "old.md", "two\nlines.md")
    git(vault.folder, "commit", "-qm", "mv")
    entries = history.log(vault, path="two\nlines.md")
    assert [entry.paths for entry in entries] == [("two\nlines.md",), ("old.md",), ("old.md",)]
    assert history.log(vault, path="two\nlines.md", limit=2) == entries[:2]


def test_a_memory_is_found_by_its_trailer_or_its_path(vault, remember):
    first = remember({"a.md": b"one\n"}, memories=["01J"])
    second = remember({"a.md": b"two\n"})
    third = remember({"index.md": b"x\n"}, memories=["01JX", "01J"])
    remember({"b.md": b"other\n"}, memories=["01JX"])
    assert [entry.commit for entry in history.log(vault, memory="01J")] == [third, first]
    assert [entry.commit for entry in history.log(vault, path="a.md")] == [second, first]
    assert [entry.commit for entry in history.log(vault, path="a.md", memory="01J")] == [third, second, first]


def test_since_leaves_out_what_came_before(vault, remember):
    first = remember({"a.md": b"one\n"}, memories=["01J"])
    second = remember({"a.md": b"two\n"}, memories=["01J"])
    for words in ({}, {"path": "a.md"}, {"memory": "01J"}):
        assert [entry.commit for entry in history.log(vault, since=first, **words)] == [second]
        assert history.log(vault, since=second, **words) == []


def test_a_subfolder_has_its_own_history(repo, git):
    (repo / "sub").mkdir()
    vault = open_repo(repo / "sub")
    sha = commit(vault, {"a.md": b"one\n"}, Record("ingest", "one"))
    write(repo, "outside.md", "x\n")
    write(repo, "sub/a.md", "one\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "outside")
    assert [(entry.commit, entry.paths) for entry in history.log(vault)] == [(sha, ("a.md",))]
    assert history.changed_paths(vault, "HEAD") == ()
    assert history.last_atlas_commit(vault) == sha


def test_settings_of_the_user_change_nothing(repo, tmp_path, git):
    (repo / "sub").mkdir()
    vault = open_repo(repo / "sub")
    git(repo, "config", "gpg.program", str(script(tmp_path / "signer", SIGN)))
    git(repo, "config", "commit.gpgsign", "true")
    write(repo, "moved.md", LINES)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "outside")
    git(repo, "mv", "moved.md", "sub/a.md")
    git(repo, "commit", "-qm", "into the vault")
    git(repo, "mv", "sub/a.md", "sub/b.md")
    git(repo, "commit", "-qm", "mv")
    plain = history.log(vault), history.log(vault, path="b.md"), history.renames(vault)
    assert [len(part) for part in plain] == [2, 3, 1]
    for setting in (
        "log.showSignature=true",
        "log.follow=true",
        "log.date=relative",
        "diff.renames=false",
        "diff.mnemonicPrefix=true",
        "color.ui=always",
        "format.pretty=oneline",
        "grep.patternType=perl",
    ):
        git(repo, "config", *setting.split("="))
    assert (history.log(vault), history.log(vault, path="b.md"), history.renames(vault)) == plain


def test_a_subject_that_is_no_utf_8_can_be_shown(vault, git):
    write(vault.folder, "a.md", "one\n")
    git(vault.folder, "add", "-A")
    (vault.folder / "message").write_bytes(b"caf\xe9\n")
    git(vault.folder, "commit", "-qF", "message")
    (entry,) = history.log(vault)
    assert entry.subject.encode("utf-8").startswith(b"caf")


words = st.text(max_size=60)


@given(facts=st.lists(st.tuples(words, words, words, words), min_size=1, max_size=3))
@settings(max_examples=12, deadline=None)
def test_what_a_record_says_is_read_back(facts):
    with tempfile.TemporaryDirectory() as folder:
        vault = atlas_git.ensure_repository(Path(folder))
        for key in ("name", "email"):
            vault.run("config", f"user.{key}", "ada@example.test")
        for number, (subject, reason, actor, memory) in enumerate(facts):
            record = Record("ingest", subject, reason, actor, "", [memory])
            commit(vault, {"a.md": b"%d" % number}, record, NOON + timedelta(days=number))
        read = [(entry.subject, entry.reason, entry.actor, entry.memories) for entry in reversed(history.log(vault))]
        assert read == [
            (one_line(s) or "ingest", one_line(r), one_line(a), tuple(filter(None, [one_line(m)])))
            for s, r, a, m in facts
        ]


def test_the_last_commit_of_atlas(vault, remember, git):
    sha = remember({"a.md": b"one\n"})
    write(vault.folder, "a.md", "by hand\n")
    git(vault.folder, "commit", "-qam", "About trailers\n\nAtlas-Op: is one of them, it says here.\n\nEnd of text.")
    assert history.last_atlas_commit(vault) == sha


# ------------------------------------------------------------------ renames and paths


def test_renames_newest_first_and_only_exact(vault, remember, git):
    remember({"a.md": LINES, "b.md": b"other text\n" * 9})
    git(vault.folder, "mv", "a.md", "new\nname.md")
    git(vault.folder, "commit", "-qm", "one")
    one = vault.head()
    git(vault.folder, "mv", "b.md", "c.md")
    write(vault.folder, "c.md", b"other text\n" * 8 + b"edited\n")
    git(vault.folder, "commit", "-qam", "similar, not equal")
    git(vault.folder, "mv", "new\nname.md", "sub.md")
    git(vault.folder, "commit", "-qm", "two")
    two = vault.head()
    assert history.renames(vault) == [(two, "new\nname.md", "sub.md"), (one, "a.md", "new\nname.md")]
    assert history.renames_since(vault, one) == ([(two, "new\nname.md", "sub.md")], True)
    assert history.renames_since(vault, two) == ([], True)


def test_renames_from_a_commit_that_is_no_longer_there(vault, remember, git):
    remember({"a.md": LINES})
    git(vault.folder, "mv", "a.md", "b.md")
    git(vault.folder, "commit", "-qm", "mv")
    everything = [(vault.head(), "a.md", "b.md")]
    git(vault.folder, "switch", "-q", "--orphan", "other")
    git(vault.folder, "commit", "-q", "--allow-empty", "-m", "unrelated")
    unrelated = vault.head()
    git(vault.folder, "switch", "-q", "main")
    assert history.renames_since(vault, "0" * 40) == history.renames_since(vault, unrelated) == (everything, False)


def test_changed_paths_of_the_first_and_of_a_merge(vault, remember, git):
    first = remember({"a.md": b"one\n", "two\nlines.md": b"x\n"})
    assert set(history.changed_paths(vault, first)) == {"a.md", "two\nlines.md"}
    git(vault.folder, "switch", "-qc", "side")
    remember({"side.md": b"x\n"})
    git(vault.folder, "switch", "-q", "main")
    remember({"b.md": b"x\n"})
    git(vault.folder, "merge", "-q", "--no-edit", "side")
    assert history.changed_paths(vault, "HEAD") == ("side.md",)


# ------------------------------------------------------------------ finding a revision


def test_revisions_and_moments(vault, remember, git):
    first, second, third = (remember({"a.md": b"%d\n" % n}) for n in range(3))  # noon of 1, 2 and 3 May 2026
    git(vault.folder, "tag", "v1", first)
    now = NOON + timedelta(days=10)
    resolved = {
        first[:8]: first,
        "v1": first,
        "HEAD~1": second,
        "2026-05-02": second,
        "2026-05-02T11:59:59Z": first,
        "2026-05-02T13:00:00+02:00": first,
        "2026-05-02 12:00": second,
        "9 days ago": second,
        "10 days ago": first,
        "a week ago": third,
        "yesterday": third,
        "now": third,
    }
    assert {name: history.resolve(vault, name, now) for name in resolved} == resolved
    assert history.resolve(vault, "2026-05-02", now, day_ends=False) == first
    assert history.resolve(vault, "today", NOON, day_ends=True) == first


@pytest.mark.parametrize(
    "name", ["", "last Tuesday", "nonsense", "--all", "2026-02-30", "99999999999 years ago", "a\0"]
)
def test_words_that_name_nothing(vault, remember, name):
    remember({"a.md": b"one\n"})
    with pytest.raises(NotFound, match="revision or moment"):
        history.resolve(vault, name, NOON)


def test_a_moment_before_everything(vault, remember):
    remember({"a.md": b"one\n"})
    with pytest.raises(NotFound, match="commit made by then"):
        history.resolve(vault, "2026-04-30", NOON)


@given(st.text(max_size=30))
def test_any_words_are_a_moment_or_none(text):
    found = history.moment(text, NOON)
    assert found is None or found.tzinfo is not None
