"""The index in memory says by number what the database file says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from atlas import resident
from atlas.reading import ReadingEngine
from atlas.rows import SqlRows

WORDS = ("heron", "boiler", "valve", "réunion", "备份", "pressure", "gate", "slate")


@pytest.fixture
def vault(tmp_path) -> Path:
    (tmp_path / "atlas.toml").touch()
    for n, word in enumerate(WORDS):
        (tmp_path / f"{n}.md").write_text(f"# Note {n}\n\nThe {word} and the {WORDS[n - 1]}. " * (n + 1))
    (tmp_path / "long.md").write_text(
        "# Long\n\n" + "".join(f"## Part {n}\n\n{word} {n}. " * 90 for n, word in enumerate(WORDS))
    )
    return tmp_path


def _compare(engine: ReadingEngine) -> None:
    with engine._index.reader() as reader, engine._index._store.open() as con:
        kept, stored = reader.rows, SqlRows(con)
        terms = [term for (term,) in con.execute("SELECT DISTINCT term FROM postings").fetchall()]
        for term, one, two in zip(terms, kept.postings(terms), stored.postings(terms), strict=True):
            assert sorted(zip(*map(np.ndarray.tolist, one), strict=True)) == sorted(
                zip(*map(np.ndarray.tolist, two), strict=True)
            ), term
        assert kept.postings([1]) == [resident.NOTHING]
        chunks = [chunk for (chunk,) in con.execute("SELECT chunk FROM chunks").fetchall()]
        assert kept.passages(chunks) == stored.passages(chunks)
        notes = [note for (note,) in con.execute("SELECT note FROM notes").fetchall()]
        assert kept.texts(notes) == stored.texts(notes)
        keys = [key for (key,) in con.execute("SELECT path_key FROM listing WHERE note IS NOT NULL").fetchall()]
        assert kept.listed(keys, "") == stored.listed(keys, "")
        handles = con.execute("SELECT handle FROM handles UNION SELECT handle FROM places").fetchall()
        for (handle,) in [*handles, (7,)]:
            assert [sorted(side) for side in kept.answering([handle])] == [
                sorted(side) for side in stored.answering([handle])
            ]


@pytest.mark.parametrize("floor", [0, 10**9], ids=["merged at once", "never merged"])
def test_memory_holds_what_the_file_holds_after_every_change(vault, floor, monkeypatch):
    monkeypatch.setattr(resident, "_MERGE_FLOOR", floor)
    with ReadingEngine(vault) as engine:
        _compare(engine)
        for n, word in enumerate(WORDS):
            (vault / f"{n}.md").write_text(f"# Changed {word}\n\nNow about the {WORDS[n - 2]} and number {n}.\n")
            (vault / f"new-{n}.md").write_text(f"A new {word}, beside the old one.\n")
            _compare(engine)
        (vault / "0.md").unlink()
        (vault / "1.md").rename(vault / "moved.md")
        _compare(engine)


def test_a_text_that_stands_in_two_files_is_found_in_both(vault):
    (vault / "twin.md").write_bytes((vault / "3.md").read_bytes())
    with ReadingEngine(vault) as engine:
        hit = engine.retrieve("réunion valve", k=1)[0]
        assert {hit.path, *hit.copies} == {"3.md", "twin.md"}
        for path in ("3.md", "twin.md"):
            (vault / path).rename(vault / f"other-{path}")
            hit = engine.retrieve("réunion valve", k=1)[0]
            assert f"other-{path}" in (hit.path, *hit.copies)
            assert len(hit.copies) == 1
