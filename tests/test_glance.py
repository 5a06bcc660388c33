"""A command that looks once tells an unchanged folder by one digest: it must not miss any change."""

from __future__ import annotations

import os
import time
from pathlib import Path

import duckdb
import pytest

from atlas.reading import ReadingEngine
from atlas.store import get_meta

#: Longer than a file counts as written just now, so that a look may settle.
SETTLING = 0.07


def settled(vault: Path) -> str:
    """What the index says of the folder it last saw, once nothing in it is new."""
    time.sleep(SETTLING)
    for _ in range(2):  # the first reads again what was new
        with ReadingEngine(vault, resident=False) as engine:
            engine.refresh()
    return look(vault)


def look(vault: Path) -> str:
    with duckdb.connect(str(vault / ".atlas" / "index.duckdb"), read_only=True) as con:
        return get_meta(con)["look"]


def found(vault: Path, query: str) -> list[str]:
    with ReadingEngine(vault, resident=False) as engine:
        return [hit.path for hit in engine.retrieve(query) if query in hit.text]


@pytest.fixture
def vault(tmp_path) -> Path:
    root = tmp_path / "vault"
    (root / "sub").mkdir(parents=True)
    (root / "atlas.toml").touch()
    (root / "a.md").write_text("The heron stands.\n")
    (root / "sub" / "b.md").write_text("The boiler leaks.\n")
    return root


def test_a_folder_seen_before_is_told_by_its_digest(vault):
    before = settled(vault)
    assert before
    assert found(vault, "heron") == ["a.md"]
    assert look(vault) == before


def test_an_edit_of_the_same_length_and_time_is_found(vault):
    assert settled(vault)
    stat = (vault / "a.md").stat()
    (vault / "a.md").write_text("The egret stands.\n")
    os.utime(vault / "a.md", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert found(vault, "egret") == ["a.md"]
    assert found(vault, "heron") == []


@pytest.mark.parametrize("settle", [True, False])
def test_every_change_is_found(vault, settle):
    assert settled(vault)
    (vault / "new.md").write_text("A quokka.\n")
    assert found(vault, "quokka") == ["new.md"]
    assert not settle or settled(vault)
    (vault / "new.md").rename(vault / "sub" / "moved.md")
    assert found(vault, "quokka") == ["sub/moved.md"]
    assert not settle or settled(vault)
    (vault / "a.md").replace(vault / "sub" / "b.md")
    assert (found(vault, "boiler"), found(vault, "heron")) == ([], ["sub/b.md"])
    assert not settle or settled(vault)
    (vault / "sub" / "moved.md").unlink()
    assert found(vault, "quokka") == []


def test_what_was_written_just_now_is_read_again(vault):
    """Two saves fit into one tick of the clock: until it has passed, the same numbers need not be the same text."""
    assert settled(vault)
    (vault / "a.md").write_text("The quokka stands.\n")
    assert found(vault, "quokka") == ["a.md"]
    assert look(vault) == ""
    assert settled(vault)
