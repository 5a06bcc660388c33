"""The folder: what is seen in it, and writing without losing anybody's text."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas import survey, vault
from atlas.config import load
from atlas.errors import Conflict, NotAVault, NotFound, OutsideVault
from atlas.survey import blob_id, text_id


@pytest.fixture
def config(tmp_path):
    (tmp_path / "atlas.toml").write_text("")
    return load(tmp_path)


def leftovers(root: Path) -> list[str]:
    return [p.name for p in root.rglob(".atlas-tmp-*")]


@given(st.binary())
def test_a_blob_id_is_what_git_says(data):
    said = subprocess.run(["git", "hash-object", "--stdin"], input=data, capture_output=True, check=True).stdout
    assert blob_id(data) == said.decode().strip()


@given(st.binary())
def test_line_ends_are_not_content(data):
    lf = data.replace(b"\r\n", b"\n")
    assert text_id(lf) == text_id(data) == blob_id(lf)
    assert text_id(lf.replace(b"\n", b"\r\n")) == text_id(lf) or b"\r" in lf


def test_the_survey_sees_notes_and_nothing_else(config):
    for name in ("a.md", "B.MD", "c.markdown", "d/e.md", "日本 café.md", "-rf.md", 'q"uote.md', "two\nlines.md"):
        (config.root / name).parent.mkdir(exist_ok=True)
        (config.root / name).write_text("x")
    for name in (
        "a.txt", "a.md~", ".n.md.tmp1", "#n.md#", "n.md___jb_tmp___", ".obsidian/x.md", ".trash/x.md", ".git/x.md",
        ".smart-env/x.md", "node_modules/x.md", "logseq/bak/x.md",
    ):  # fmt: skip
        (config.root / name).parent.mkdir(parents=True, exist_ok=True)
        (config.root / name).write_text("x")
    found = survey.survey(config)
    wanted = {"a.md", "B.MD", "c.markdown", "d/e.md", "日本 café.md", "-rf.md", 'q"uote.md', "two\nlines.md"}
    assert set(found.files) == wanted
    assert found.skipped == found.unknown == ()


def test_links_are_listed_not_followed(config, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.md").write_text("x")
    (config.root / "out").symlink_to(outside)
    (config.root / "up").symlink_to("..")
    (config.root / "one.md").symlink_to(outside / "secret.md")
    (config.root / ".#n.md").symlink_to("u@h.1:2")
    found = survey.survey(config)
    assert found.files == {}
    assert {f.path for f in found.skipped} == {"out", "up", "one.md"}


def test_ignore_patterns_of_the_user(tmp_path):
    (tmp_path / "atlas.toml").write_text('[vault]\nignore = ["private/", "*.draft.md"]\n')
    for name in ("a.md", "private/b.md", "c.draft.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert set(survey.survey(load(tmp_path)).files) == {"a.md"}


@pytest.mark.skipif(os.name == "nt", reason="names are bytes only on POSIX")
def test_a_name_that_is_not_utf8_is_named_not_fatal(config):
    Path(os.fsdecode(os.fsencode(str(config.root)) + b"/caf\xe9.md")).write_text("x")
    found = survey.survey(config)
    assert found.files == {}
    assert [f.kind for f in found.skipped] == ["name"]


def test_a_folder_without_its_marker_is_not_an_empty_vault(config):
    (config.root / "a.md").write_text("x")
    (config.root / "atlas.toml").unlink()
    with pytest.raises(NotAVault):
        survey.survey(config)


def test_create_read_replace_remove(config):
    vault.write(config, "d/a.md", b"one", None)
    assert vault.read(config, "d/a.md") == b"one"
    vault.write(config, "d/a.md", b"two", blob_id(b"one"))
    assert (config.root / "d/a.md").read_bytes() == b"two"
    vault.remove(config, "d/a.md", blob_id(b"two"))
    with pytest.raises(NotFound):
        vault.read(config, "d/a.md")
    assert leftovers(config.root) == []


def test_many_files_leave_it_to_their_writer_to_settle_each_folder_once(config):
    folders: set[Path] = set()
    for name in ("a", "b"):
        vault.write(config, f"d/{name}.md", b"one", None, folders)
        vault.remove(config, f"d/{name}.md", blob_id(b"one"), folders)
    assert folders == {config.root / "d"}
    vault.settle(folders)


def test_nothing_is_overwritten_by_a_new_file(config):
    (config.root / "a.md").write_bytes(b"theirs")
    with pytest.raises(Conflict) as caught:
        vault.write(config, "a.md", b"ours", None)
    assert (caught.value.ours, caught.value.theirs) == (b"ours", b"theirs")
    assert (config.root / "a.md").read_bytes() == b"theirs"
    assert leftovers(config.root) == []


@pytest.mark.parametrize("now", [b"edited", None])
def test_a_file_that_is_not_what_was_read_is_left_alone(config, now):
    place = config.root / "a.md"
    if now is not None:
        place.write_bytes(now)
    with pytest.raises(Conflict):
        vault.write(config, "a.md", b"ours", blob_id(b"read"))
    with pytest.raises(Conflict):
        vault.remove(config, "a.md", blob_id(b"read"))
    assert (place.read_bytes() if place.exists() else None) == now
    assert leftovers(config.root) == []


def test_permissions_survive(config):
    place = config.root / "a.md"
    place.write_bytes(b"one")
    place.chmod(0o640)
    vault.write(config, "a.md", b"two", blob_id(b"one"))
    assert place.stat().st_mode & 0o777 == 0o640


def test_no_save_of_an_editor_is_overwritten_unread(config):
    """A thread saves by rename as an editor does, and before each save finds its last one, perhaps added to by us."""
    place = config.root / "a.md"
    place.write_bytes(b"0:")
    lost = []

    def editor():
        for n in range(1, 400):
            mine = f"{n - 1}:".encode()
            if not any(place.read_bytes().startswith(mine) or time.sleep(0.001) for _ in range(50)):
                lost.append(n - 1)
            temp = config.root / f".save{n}"
            temp.write_bytes(f"{n}:".encode())
            temp.replace(place)
            time.sleep(0.003)

    thread = threading.Thread(target=editor)
    thread.start()
    written = conflicts = 0
    while thread.is_alive():
        read = place.read_bytes()
        try:
            vault.write(config, "a.md", read + b".", blob_id(read))
            written += 1
        except Conflict:
            conflicts += 1
    thread.join()
    assert lost == []
    assert written


@pytest.mark.parametrize("path", ["../a.md", "/etc/a.md", ".git/hooks/a.md", "a/../../b.md", "C:evil.md", "~/a.md"])
def test_paths_that_leave_are_refused(config, path):
    with pytest.raises(OutsideVault):
        vault.write(config, path, b"x", None)


def test_a_link_on_the_way_out_is_refused(config, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (config.root / "out").symlink_to(outside)
    with pytest.raises(OutsideVault):
        vault.write(config, "out/a.md", b"x", None)
    assert list(outside.iterdir()) == []


def test_what_a_killed_writer_left_is_swept(config):
    (config.root / "d").mkdir()
    (config.root / "d" / ".atlas-tmp-0123").write_bytes(b"half")
    assert vault.sweep(config) == [".atlas-tmp-0123"]
    assert leftovers(config.root) == []


def test_names_are_distinct_where_case_does_not_count(config):
    vault.write(config, "a.md", b"x", None)
    taken = vault.names_taken(config)
    assert taken("A.md")
    assert not taken("b/A.md")
