"""D: a look at a part is no look at the whole, and no search answers with old text."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import children
import pytest

from atlas import template
from atlas.config import load
from atlas.engine import MemoryEngine
from atlas.errors import NotAVault
from atlas.survey import survey

PROJECT = Path(__file__).parents[2]
NOBODY = 65534


# ------------------------------------------------------------------ D4: a look at a part


def test_d4_run_from_a_subfolder(vault):
    before = vault.engine.refresh().memories
    for words in (("search", "vinegar"), ("index", "--full")):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "atlas", *words],
            cwd=vault.root / "trips",
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert vault.engine.stats()["memories"] == before
    vault.holds()


def test_d4_a_word_about_two_files_says_nothing_of_the_others(vault):
    vault.engine.validate(["garden.md", "kettle.md"])
    vault.cli("validate", "trips/harbour.md")
    vault.engine.adopt(["garden.md"])
    vault.accept("garden.md")
    assert vault.engine.stats()["memories"] == 3
    vault.holds()


def found(engine: MemoryEngine) -> list[str]:
    """The hand-written notes about rain."""
    return sorted(hit.path for hit in engine.retrieve("rain in the hills") if not hit.path.startswith("memories/"))


def look_without_rights(root: str) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """As somebody who may not read one folder: what is found before and after, and what status says."""
    with MemoryEngine(root, create=False) as engine:
        before = found(engine)
        (Path(root) / "hills").chmod(0)
        engine.ingest("Something new, so that there is a change: rain is expected.")
        (Path(root) / "open.md").write_text("The rain changed.\n")
        after = found(engine)
        said = [(f.path, f.kind) for f in engine.status()["findings"]]
        engine.refresh(full=True)
        assert found(engine) == after
    return before, after, said


def without_root(root: str) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """Root may read everything, so root becomes nobody; whoever is not root already may not."""
    if os.geteuid():
        return look_without_rights(root)
    with MemoryEngine(root, create=False) as engine:
        engine.ingest("Rain was here before, so that all is loaded that root's own folders hold.")
        engine.status()
    for place in (Path(root).parent, Path(root), *Path(root).rglob("*")):
        os.chown(place, NOBODY, NOBODY, follow_symlinks=False)
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    return look_without_rights(root)


def test_d4_a_folder_that_cannot_be_read_is_unknown_not_empty(make_repo, git):
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        root = make_repo(Path(folder) / "vault")
        template.create(root)
        (root / "hills").mkdir()
        (root / "hills" / "a.md").write_text("Rain in the hills.\n")
        (root / "open.md").write_text("Rain in the valley.\n")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "notes")
        before, after, said = children.start(without_root, str(root)).result()
        (root / "hills").chmod(0o755)
        for place in (root, *root.rglob("*")):
            os.chown(place, os.geteuid(), os.getegid(), follow_symlinks=False)
        assert before == after == ["hills/a.md", "open.md"]
        assert ("hills/", "unreadable") in said
        assert git(root, "log", "--diff-filter=D", "--format=%H") == ""
        with MemoryEngine(root, create=False) as engine:
            assert engine.refresh().removed == 0
            assert [f for f in engine.status()["findings"] if f.kind == "unreadable"] == []


def test_d4_a_disk_that_is_not_there_for_a_moment(vault):
    """An unmounted disk leaves an empty folder behind: that is not a vault without notes."""
    vault.first("beans")
    gone = vault.root.with_name("unmounted")
    vault.root.rename(gone)
    vault.root.mkdir()
    for ask_it in (lambda: vault.first("beans"), vault.engine.refresh, vault.engine.status):
        with pytest.raises(NotAVault):
            ask_it()
    with pytest.raises(NotAVault):
        vault.engine.ingest("This must not make a vault of the mount point.")
    ran = vault.cli("search", "beans")
    assert ran.code == 1
    assert not list(vault.root.glob("*.md"))
    shutil.rmtree(vault.root)
    gone.rename(vault.root)
    assert vault.engine.refresh().removed == 0
    vault.holds()


def test_d4_without_its_marker_nothing_is_taken_for_deleted(vault):
    vault.first("beans")
    (vault.root / "atlas.toml").rename(vault.root / "elsewhere.toml")
    with pytest.raises(NotAVault):
        vault.engine.refresh()
    (vault.root / "elsewhere.toml").rename(vault.root / "atlas.toml")
    assert vault.engine.refresh().removed == 0
    vault.holds()


def test_d4_an_empty_mount_inside_the_vault_is_said_and_forgets_nothing(vault):
    """Only the whole disk can be told from deletion; a part that is empty is named, and never committed."""
    before = vault.engine.expand("trips/harbour.md").id
    (vault.root / "trips").rename(vault.root.with_name("unmounted"))
    (vault.root / "trips").mkdir()
    vault.engine.ingest("Something else is remembered meanwhile.")
    assert ("trips/harbour.md", 0, "missing") in vault.named()
    assert vault.git("log", "--diff-filter=D", "--format=%H") == ""
    assert vault.git("ls-files", "trips") == "trips/harbour.md\n"
    (vault.root / "trips").rmdir()
    vault.root.with_name("unmounted").rename(vault.root / "trips")
    assert vault.engine.expand("trips/harbour.md").id == before
    vault.holds()


def test_d4_a_survey_says_what_it_could_not_see(vault, monkeypatch):
    """The same through the one function that looks, for those who cannot take rights away from themselves."""
    config = load(vault.root)
    real = os.scandir

    def refusing(place):
        if Path(place).name == "trips":
            raise PermissionError(13, "Permission denied", str(place))
        return real(place)

    vault.first("lighthouse")
    monkeypatch.setattr(os, "scandir", refusing)
    look = survey(config)
    assert look.unknown == ("trips/",)
    assert "trips/harbour.md" not in look.files
    report = vault.engine.refresh(full=True)
    assert report.removed == 0
    assert vault.first("lighthouse") == "trips/harbour.md"
    monkeypatch.undo()
    vault.holds()


# ------------------------------------------------------------------ D5: old text still answers


def test_d5_no_search_answers_with_old_text(vault):
    """No watcher runs: every search, of every kind of engine, sees the folder as it is now."""
    with MemoryEngine(vault.root, create=False, resident=False) as fresh:

        def found(query: str) -> set[str]:
            texts = [{(h.path, h.text) for h in engine.retrieve(query)} for engine in (vault.engine, fresh)]
            assert texts[0] == texts[1]
            return {path for path, text in texts[0] if query in text}

        for name in ("edited", "deleted", "emptied", "blanked", "renamed"):
            vault.put(f"{name}.md", f"# {name.title()}\n\nHere {name}quagga grazes.\n")
        assert {name: found(f"{name}quagga") for name in ("edited", "renamed")} == {
            "edited": {"edited.md"},
            "renamed": {"renamed.md"},
        }
        vault.put("edited.md", "# Edited\n\nHere editednarwhal swims.\n")
        vault.drop("deleted.md")
        vault.put("emptied.md", "")
        vault.put("blanked.md", "---\nkind: fact\n---\n\n***\n")
        (vault.root / "renamed.md").rename(vault.root / "other.md")
        vault.left["other.md"] = vault.left.pop("renamed.md")
        for name in ("edited", "deleted", "emptied", "blanked"):
            assert found(f"{name}quagga") == set()
        assert found("editednarwhal") == {"edited.md"}
        assert found("renamedquagga") == {"other.md"}
        gone = {hit.path for hit in fresh.retrieve("deletedquagga grazes", k=50)}
        assert gone.isdisjoint({"deleted.md", "renamed.md"})
    vault.holds(queries=["quagga", "narwhal"])


def test_d5_an_edit_that_keeps_size_and_time_is_seen_by_a_full_check(vault):
    """Content decides; size and time only hint, and are fooled by a tool that sets both back."""
    place = vault.put("clock.md", "The clock says one.\n")
    then = place.stat().st_mtime_ns
    vault.first("clock")
    vault.put("clock.md", "The clock says two.\n")
    os.utime(place, ns=(then, then))
    vault.engine.refresh(full=True)
    assert vault.hits("clock says")[0].text.strip() == "The clock says two."
    vault.holds()
