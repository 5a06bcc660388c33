"""Bundles: what goes out comes in again byte for byte, and what is there is never lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import Said, atlas, new_vault
from support import write

from atlas import bundle
from atlas.errors import AtlasError, UsageError

ID = "01JDXK3Q8ZV5T9W2M4N6P8R0S1"
NOTES = {
    "plain.md": b"# Plain\n\nText.\n",
    "crlf.md": b"---\r\ntitle: CRLF\r\n---\r\nText\r\n\r\nmore",
    "bom.md": b"\xef\xbb\xbf# With a BOM\n",
    "latin.md": b"# Caf\xe9 in latin-1\n",
    "utf16.md": "# Breite Zeichen\n".encode("utf-16"),
    "empty.md": b"",
    "broken.md": b"---\ntags: [a\ntitle: open\n---\ntext\n",
    "conflict.md": b"<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n",
    "deep/folder with space/日本 📥.markdown": '# 日本\n\n\u2028 \u0000 \\ " \ud7ff\n'.encode(),
    "with id.md": f"---\nid: {ID}\ncustom: [1.10, no, 12:30] # mine\n---\n# Mine\n".encode(),
}


def filled(folder: Path, notes: dict[str, bytes]) -> Path:
    vault = new_vault(folder)
    for path, data in notes.items():
        write(vault, path, data)
    return vault


def contents(vault: Path) -> dict[str, bytes]:
    found = (p for p in vault.rglob("*") if p.suffix in {".md", ".markdown"} and ".git" not in p.parts)
    return {p.relative_to(vault).as_posix(): p.read_bytes() for p in found}


def bring(vault: Path, file: Path, *words: str) -> Said:
    return atlas("import", str(file), *words, "--json", cwd=vault)


@pytest.fixture
def source(tmp_path) -> tuple[Path, Path]:
    """A vault of odd notes, and the bundle of it."""
    vault = filled(tmp_path / "source", NOTES)
    file = tmp_path / "bundle.json"
    assert atlas("export", str(file), "--json", cwd=vault).json["exported"] == len(NOTES)
    return vault, file


def test_a_round_trip_loses_no_byte(source, tmp_path, git):
    _, file = source
    target = new_vault(tmp_path / "target")
    said = bring(target, file)
    assert said.json["skipped"] == []
    assert said.json["imported"] == len(NOTES)
    assert contents(target) == NOTES
    assert git(target, "show", "--name-only", "--format=", "-z", said.json["commit"]).count(".m") == len(NOTES)
    assert git(target, "status", "--porcelain") == ""
    again = tmp_path / "again.json"
    atlas("export", str(again), cwd=target)
    assert json.loads(again.read_bytes())["memories"] == json.loads(file.read_bytes())["memories"]


def test_importing_twice_changes_nothing(source, tmp_path, git):
    vault, file = source
    target = filled(tmp_path / "target", {"plain.md": b"# Another plain note\n"})
    assert bring(target, file).json["imported"] == len(NOTES)
    first = contents(target)
    assert first["plain.md"] == b"# Another plain note\n"
    assert first["plain-2.md"] == NOTES["plain.md"]
    head = git(target, "rev-parse", "HEAD")
    for place in (target, vault):
        for mode in ("merge", "overwrite") if place is vault else ("merge",):
            said = bring(place, file, "--mode", mode)
            assert (said.code, said.json["imported"], len(said.json["skipped"])) == (0, 0, len(NOTES))
    assert contents(target) == first
    assert contents(vault) == NOTES
    assert git(target, "rev-parse", "HEAD") == head
    loud = atlas("import", str(file), cwd=target)
    assert loud.err == f"{len(NOTES)} memories here already.\n"
    assert loud.out == f"0 memories imported, {len(NOTES)} skipped\n"


def test_merge_leaves_mine_and_overwrite_takes_theirs_in_one_commit(source, tmp_path, git):
    _, file = source
    mine = {
        "elsewhere/moved.md": NOTES["with id.md"] + b"Edited here.\n",  # the same memory, moved and edited
        "plain.md": b"# Mine\n",
        "only here.md": b"# Only here\n",
    }
    target = filled(tmp_path / "target", mine)
    git(target, "add", "-A")
    git(target, "commit", "-qm", "mine")
    merged = bring(target, file).json
    assert [(s["path"], "overwrite" in s["reason"]) for s in merged["skipped"]] == [("with id.md", True)]
    assert {path: contents(target)[path] for path in mine} == mine
    assert contents(target)["plain-2.md"] == NOTES["plain.md"]
    replaced = bring(target, file, "--mode", "overwrite").json
    now = contents(target)
    assert replaced["imported"] == 2
    assert now["elsewhere/moved.md"] == NOTES["with id.md"]
    assert now["plain.md"] == NOTES["plain.md"]
    assert now["only here.md"] == mine["only here.md"]
    assert "with id.md" not in now
    assert atlas("undo", cwd=target).code == 0
    assert {path: contents(target)[path] for path in mine} == mine
    assert git(target, "log", "--format=%s", "-1").startswith("Undo: Import 2")


def test_overwrite_never_replaces_another_memory_of_that_path(tmp_path):
    other = f"---\nid: {ID[:-1]}2\n---\n# Other\n".encode()
    target = filled(tmp_path / "target", {"with id.md": other})
    file = bundled(tmp_path, [("with id.md", ID, NOTES["with id.md"])])
    assert bring(target, file, "--mode", "overwrite").json["imported"] == 1
    assert contents(target) == {"with id.md": other, "with id-2.md": NOTES["with id.md"]}


def test_two_files_with_one_id_do_not_stop_the_others(tmp_path):
    notes = {"a.md": NOTES["with id.md"], "copy.md": NOTES["with id.md"] + b"copied\n", "c.md": b"# C\n"}
    vault = filled(tmp_path / "source", notes)
    file = tmp_path / "bundle.json"
    atlas("export", str(file), cwd=vault)
    target = new_vault(tmp_path / "target")
    said = bring(target, file).json
    assert contents(target) == {path: notes[path] for path in ("a.md", "c.md")}
    assert [(s["path"], "a.md has its id" in s["reason"]) for s in said["skipped"]] == [("copy.md", True)]


def test_a_note_with_a_secret_is_refused_and_named(tmp_path):
    file = bundled(tmp_path, [("bad.md", "", b"key AKIAIOSFODNN7EXAMPLQ\n"), ("good.md", "", b"# Good\n")])
    target = new_vault(tmp_path / "target")
    said = bring(target, file)
    assert said.json["imported"] == 1
    assert [s["path"] for s in said.json["skipped"]] == ["bad.md"]
    assert "AKIA" not in said.out
    assert contents(target) == {"good.md": b"# Good\n"}


@pytest.mark.parametrize(
    "path", ["../out.md", "/etc/x.md", ".git/hooks/x.md", ".atlas/x.md", "x.txt", "", "a/../../b.md"]
)
def test_a_bundle_writes_only_memories_inside_the_vault(path, tmp_path):
    target = new_vault(tmp_path / "inner" / "target")
    said = bring(target, bundled(tmp_path, [(path, "", b"# Evil\n")]))
    assert (said.code, said.json["imported"]) == (0, 0)
    assert [s["path"] for s in said.json["skipped"]] == [path]
    assert list(tmp_path.rglob("*Evil*")) == []
    assert contents(target) == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        "[" * 100_000,
        '{"format": "atlas-bundle"}',
        '{"format": "atlas-bundle", "version": 99}',
        '{"format": "atlas-bundle", "version": 1, "memories": 3}',
        '{"format": "atlas-bundle", "version": 1, "memories": [{}]}',
        '{"format": "atlas-bundle", "version": 1, "memories": [{"path": "a.md", "base64": "?"}]}',
    ],
    ids=range(10),
)
def test_what_is_no_bundle_is_said_in_one_sentence(text, tmp_path):
    vault = new_vault(tmp_path / "vault")
    write(tmp_path, "file.json", text)
    said = atlas("import", "../file.json", cwd=vault)
    assert said.code == 2
    assert said.sentence
    with pytest.raises(UsageError):
        bundle.load(text)


def test_a_bundle_from_a_windows_editor_is_read(tmp_path):
    items = [bundle.Item("a.md", "", b"# A\r\n")]
    text = bundle.dump(items, "")
    for data in (text.encode("utf-8-sig"), text.encode("utf-16"), "\ufeff" + text):
        assert bundle.load(data) == items


def test_a_file_that_is_not_text_is_no_bundle(tmp_path):
    vault = new_vault(tmp_path / "vault")
    write(tmp_path, "file", b"\xff\xfe\x00caf\xe9\x00")
    said = atlas("import", "../file", cwd=vault)
    assert said.code in {1, 2}
    assert said.sentence


def test_a_part_of_the_vault_goes_out_alone(source, tmp_path):
    vault, _ = source
    file = tmp_path / "part.json"
    assert atlas("export", str(file), "--scope", "deep", "--json", cwd=vault).json["exported"] == 1
    assert atlas("export", str(file), cwd=vault).out == f"{len(NOTES)} memories written to {file}\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bundle.json", "part.json", "source"]


def test_a_bundle_is_of_use_to_other_programs(source):
    _, file = source
    memories = {m["path"]: m for m in json.loads(file.read_text("utf-8"))["memories"]}
    mine = memories["with id.md"]
    assert (mine["id"], mine["label"]) == (ID, "Mine")
    assert mine["meta"]["custom"] == ["1.10", "no", "12:30"]
    assert memories["crlf.md"]["text"].encode() == NOTES["crlf.md"]


@given(st.lists(st.tuples(st.text(), st.text(), st.binary()), max_size=5))
def test_any_bytes_under_any_name_survive_a_bundle(rows):
    items = [bundle.Item(*row) for row in rows]
    try:
        text = bundle.dump(items, "2026-01-01T00:00:00+00:00")
    except AtlasError:
        raise AssertionError("a bundle must take any bytes") from None
    assert bundle.load(text) == bundle.load(text.encode("utf-8")) == items


def bundled(folder: Path, rows: list[tuple[str, str, bytes]]) -> Path:
    file = folder / "made.json"
    file.write_text(bundle.dump([bundle.Item(*row) for row in rows], ""), encoding="utf-8")
    return file
