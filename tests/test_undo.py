"""What undoing a commit would write."""

from __future__ import annotations

import os
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import LINES, NOON, open_repo, write

from atlas import git as atlas_git
from atlas import history
from atlas.commits import commit
from atlas.errors import GitRefused
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


# ------------------------------------------------------------------ undoing


def on_disk(vault: atlas_git.Repository):
    return lambda path: (vault.folder / path).read_bytes() if (vault.folder / path).is_file() else None


def test_undo_of_changes_nobody_touched_since(vault, remember):
    remember({"changed.md": b"one\n", "removed.md": b"gone\n", "odd\nname.md": b"x\n"})
    sha = remember({"changed.md": b"two\n", "removed.md": None, "added.md": b"new\n", "odd\nname.md": b"y\n"})
    remember({"unrelated.md": b"z\n"})
    expected = {"changed.md": b"one\n", "removed.md": b"gone\n", "added.md": None, "odd\nname.md": b"x\n"}
    assert history.revert_files(vault, sha) == expected
    assert history.revert_files(vault, sha, on_disk(vault)) == expected
    remember(expected, "undo")
    assert history.revert_files(vault, sha) == {}


def test_undo_of_the_very_first_commit(vault, remember):
    sha = remember({"a.md": b"one\n"})
    assert history.revert_files(vault, sha) == {"a.md": None}


def test_undo_keeps_later_edits_elsewhere_in_the_file(vault, remember):
    remember({"a.md": LINES})
    sha = remember({"a.md": LINES.replace(b"line 2", b"LINE 2")})
    remember({"a.md": LINES.replace(b"line 2", b"LINE 2").replace(b"line 9", b"LINE 9")})
    assert history.revert_files(vault, sha) == {"a.md": LINES.replace(b"line 9", b"LINE 9")}


def test_undo_sees_edits_that_are_not_committed(vault, remember):
    remember({"a.md": LINES})
    sha = remember({"a.md": LINES.replace(b"line 2", b"LINE 2")})
    write(vault.folder, "a.md", LINES.replace(b"line 2", b"LINE 2") + b"unsaved thought\n")
    assert history.revert_files(vault, sha, on_disk(vault)) == {"a.md": LINES + b"unsaved thought\n"}


def test_undo_with_crlf_in_the_working_tree(vault, remember, git):
    git(vault.folder, "config", "core.autocrlf", "true")
    remember({"a.md": LINES})
    sha = remember({"a.md": LINES.replace(b"line 2", b"LINE 2")})
    crlf = LINES.replace(b"\n", b"\r\n")
    write(vault.folder, "a.md", crlf.replace(b"line 2", b"LINE 2"))
    assert history.revert_files(vault, sha, on_disk(vault)) == {"a.md": crlf}
    write(vault.folder, "a.md", crlf.replace(b"line 2", b"LINE 2").replace(b"line 9", b"LINE 9"))
    assert history.revert_files(vault, sha, on_disk(vault)) == {"a.md": crlf.replace(b"line 9", b"LINE 9")}


@pytest.mark.parametrize(
    ("before", "made", "later"),
    [
        (LINES, LINES.replace(b"line 2", b"LINE 2"), LINES.replace(b"line 2", b"line two")),
        (None, b"added\n", b"added, then edited\n"),
        (b"to be removed\n", None, b"written anew\n"),
        (b"\0binary", b"\0changed", b"\0later"),
    ],
)
def test_undo_refuses_where_it_would_lose_a_later_edit(vault, remember, before, made, later):
    remember({"other.md": b"x\n", **({"a.md": before} if before else {})})
    sha = remember({"a.md": made})
    remember({"a.md": later})
    with pytest.raises(GitRefused, match=r"a\.md"):
        history.revert_files(vault, sha)


def test_undo_leaves_a_file_removed_since(vault, remember):
    remember({"a.md": LINES})
    sha = remember({"a.md": LINES + b"more\n"})
    remember({"a.md": None})
    assert history.revert_files(vault, sha) == {}


def test_undo_never_takes_back_the_ledger(vault, remember):
    sha = remember({"a.md": b"one\n", "ledger/2026-05/x.jsonl": b"{}\n"})
    assert history.revert_files(vault, sha) == {"a.md": None}


def test_undo_of_a_merge_is_refused(vault, remember, git):
    remember({"a.md": b"one\n"})
    git(vault.folder, "switch", "-qc", "side")
    remember({"side.md": b"x\n"})
    git(vault.folder, "switch", "-q", "main")
    remember({"b.md": b"x\n"})
    git(vault.folder, "merge", "-q", "--no-edit", "side")
    with pytest.raises(GitRefused, match="merge"):
        history.revert_files(vault, "HEAD")


def test_undo_at_the_edge_of_a_shallow_clone_is_refused(vault, remember, git, tmp_path):
    """Git shows that commit as the first one: undoing it would remove every file."""
    for n in range(3):
        remember({f"{n}.md": b"x\n"})
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{vault.folder}", "shallow")
    shallow = open_repo(tmp_path / "shallow")
    with pytest.raises(GitRefused):
        history.revert_files(shallow, "HEAD")


def test_undo_follows_names_in_any_bytes(vault, remember):
    name = os.fsdecode(b"caf\xe9.md")
    remember({name: b"one\n"}, subject="one")
    sha = remember({name: b"two\n"}, subject="two")
    assert history.revert_files(vault, sha) == {name: b"one\n"}


edits = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 3)), min_size=1, max_size=4)


@given(history_=st.lists(edits, min_size=2, max_size=4))
@settings(max_examples=12, deadline=None)
def test_undoing_the_last_commit_gives_back_the_tree_before_it(history_):
    with tempfile.TemporaryDirectory() as folder:
        vault = atlas_git.ensure_repository(Path(folder))
        for key in ("name", "email"):
            vault.run("config", f"user.{key}", "ada@example.test")
        trees, shas = [{}], [""]
        for step in history_:
            files = {f"{name}.md": None if body is None else b"%d\n" % body for name, body in step}
            shas.append(commit(vault, files, Record("ingest", "step"), NOON))
            trees.append(vault.tree() if vault.head() else {})
        if shas[-1] != shas[-2]:
            commit(vault, history.revert_files(vault, shas[-1]), Record("undo", "back"), NOON)
            assert vault.tree() == trees[-2]


def test_a_key_written_beside_the_one_to_be_undone_stays(repo, vault, remember):
    whole = b"---\nid: 01J\nkind: fact\n---\n# A\n\nText.\n"
    forgotten = whole.replace(b"fact\n", b"fact\nrung: L1\nforgotten: 2026-05-01\n")
    remember({"a.md": whole})
    sha = remember({"a.md": forgotten})
    remember({"a.md": forgotten.replace(b"-05-01\n", b"-05-01\ntags: [boiler]\n")})
    assert history.revert_files(vault, sha) == {"a.md": whole.replace(b"fact\n", b"fact\ntags: [boiler]\n")}
    remember({"a.md": forgotten.replace(b"L1", b"L0")})
    with pytest.raises(GitRefused, match=r"a\.md was edited later in the same lines"):
        history.revert_files(vault, sha)


def test_what_was_made_goes_though_it_was_drawn_into_a_cluster_since(repo, vault, remember):
    made = b"---\nid: 01J\nkind: fact\n---\n# A\n\nText.\n"
    sha = remember({"a.md": made})
    remember({"a.md": made.replace(b"fact\n", b"fact\ntags: [cluster/x]\n")})
    assert history.revert_files(vault, sha) == {"a.md": None}
    for edited in (made.replace(b"Text", b"My text"), made.replace(b"fact", b"decision"), b"\xff\xfe\x00"):
        remember({"a.md": edited})
        with pytest.raises(GitRefused, match="undo the later change first"):
            history.revert_files(vault, sha)


def test_a_note_that_was_moved_goes_back_with_what_was_edited_since(repo, vault, remember):
    kept = b"---\nid: 01J\ntags: [a]\nrung: L0\n---\n# A\n"
    whole = b"---\nid: 01J\ntags: [a]\n---\n# A\n\nText.\n"
    remember({"archive/a.md": kept, "other.md": b"---\nid: 01K\n---\n# B\n"})
    sha = remember({"archive/a.md": None, "memories/a.md": whole, "other.md": None, "new.md": b"# C\n"})
    assert history.revert_files(vault, sha)["archive/a.md"] == kept
    remember({"memories/a.md": whole.replace(b"[a]", b"[a, b]")})
    wanted = {"archive/a.md": kept.replace(b"[a]", b"[a, b]"), "memories/a.md": None}
    assert wanted.items() <= history.revert_files(vault, sha).items()
    remember({"memories/a.md": whole.replace(b"Text", b"More text")})
    with pytest.raises(GitRefused, match="edited later in the same lines"):
        history.revert_files(vault, sha)
