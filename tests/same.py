"""The law of the index: kept up change by change, or built anew from the same folder, it holds the same and answers so.

`check(vault)` brings the index of a vault up to date, builds another one of a copy of the folder without `.atlas`, and
compares all that people can see of both through DuckDB: numbers given out on the way may differ, nothing else.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from atlas.memory import Hit
from atlas.reading import ReadingEngine

QUERIES = (
    "boiler pressure", "heron", "which valve was replaced", "réunion 备份", "sub note zebra", "alpha", "Boiler",
    "what of [[Valve]] in 2026",
)  # fmt: skip

_NOTES = """
    SELECT l.path, l.blob, l.ident, l.problem, l.path_key, n.* EXCLUDE (note)
    FROM listing l LEFT JOIN notes n USING (note)
"""
#: The passages of every path, the one made of its name (seq -1) included.
_PASSAGES = """
    SELECT l.path, c.seq, c.heading, c.line, c.text, c.words, c.vec, c.chunk
    FROM listing l JOIN chunks c ON c.note = l.note
    UNION ALL
    SELECT l.path, -1, c.heading, c.line, c.text, c.words, c.vec, c.chunk
    FROM listing l JOIN chunks c ON c.chunk = l.name_chunk
"""
_POSTINGS = f"SELECT p.path, p.seq, term, tf FROM ({_PASSAGES}) p JOIN postings USING (chunk)"
#: What every path answers to, by its content and by its place; and below, what it leads to.
_HANDLES = """
    SELECT l.path, 'content', h.handle FROM listing l JOIN handles h USING (note)
    UNION ALL SELECT l.path, 'place', p.handle FROM listing l JOIN places p USING (path_key) WHERE l.note IS NOT NULL
"""

#: How far apart two sums of the same numbers in another order may lie.
NOISE = 1e-4


def contents(vault: Path) -> dict[str, Any]:
    """What the index of a vault holds, without the numbers it gave out; to be compared by `differences`."""
    with duckdb.connect(str(vault / ".atlas" / "index.duckdb"), read_only=True) as con:
        meta = dict(con.execute("SELECT key, value FROM meta").fetchall())
        passages = con.execute(f"{_PASSAGES} ORDER BY path, seq").fetchall()
        rows = {
            "notes": con.execute(_NOTES).fetchall(),
            "postings": con.execute(_POSTINGS).fetchall(),
            "handles": con.execute(_HANDLES).fetchall(),
            "links": con.execute(
                "SELECT l.path, k.handle, k.replaced FROM listing l JOIN links k USING (note)"
            ).fetchall(),
        }
        models = con.execute("SELECT file, dim FROM models WHERE ready ORDER BY rowid DESC").fetchall()
    rows["passages"] = [row[:6] for row in passages]
    vectors = _vectors(vault, models, [row[6] for row in passages])
    by_path = {name: _by_path(found) for name, found in rows.items()}
    return {**by_path, "meta": {key: meta.get(key, "") for key in ("stamp", "head")}, "vectors": vectors}


def _by_path(rows: Sequence[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for path, *rest in rows:
        found.setdefault(path, []).append(tuple(rest))
    return {path: sorted(rest, key=repr) for path, rest in found.items()}


def _vectors(
    vault: Path, models: Sequence[tuple[str, int]], rows: Sequence[int]
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The vectors of these rows, in the order of the passages, by the model entered last that has them all."""
    assert -1 not in rows
    if not rows:
        return np.zeros((0, 0), dtype=np.float32)
    file, dim = models[0]
    return np.fromfile(vault / ".atlas" / file, dtype="<f4").reshape(-1, dim)[list(rows)]


def differences(kept: dict[str, Any], built: dict[str, Any]) -> list[str]:
    """Every place where two indexes hold something else, in words."""
    found = []
    for table in ("notes", "passages", "postings", "handles", "links", "meta"):
        for key in sorted({*kept[table], *built[table]}):
            one, two = kept[table].get(key), built[table].get(key)
            if one != two:
                found.append(f"{table} of {key}:\n  kept  {one}\n  built {two}")
    if not found and not np.allclose(kept["vectors"], built["vectors"], atol=1e-5):
        found.append("a vector is not that of the passage next to it")
    return found


@contextmanager
def rebuilt(vault: Path) -> Iterator[ReadingEngine]:
    """An engine on a copy of the folder whose index was built from nothing."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "vault"
        shutil.copytree(vault, copy, symlinks=True, ignore=shutil.ignore_patterns(".atlas"))
        with ReadingEngine(copy) as engine:
            engine.refresh()
            yield engine


def answers(engine: ReadingEngine, queries: Sequence[str]) -> list[list[tuple[Any, ...]]]:
    """What the engine finds, word for word and in order."""
    return [[_facts(hit) for hit in engine.search(query, k=20).hits] for query in queries]


def _facts(hit: Hit) -> tuple[Any, ...]:
    return hit.score, hit.id, hit.path, hit.text, hit.line, hit.heading, hit.label, hit.kind, hit.summary


def alike(got: list[tuple[Any, ...]], right: list[tuple[Any, ...]]) -> bool:
    """Whether two answers are the same but for rounding.

    The last digit of a cosine depends on where its row stands in the matrix, so notes of equal score may change places,
    and at the end of the list one of them may stand for another.
    """
    if len(got) != len(right):
        return False
    edge = min((score for score, *_ in right), default=0) + NOISE
    wanted = {tuple(facts) for _, *facts in right}
    return all(
        abs(score - right[place][0]) <= NOISE and (score <= edge or tuple(facts) in wanted)
        for place, (score, *facts) in enumerate(got)
    )


def check(vault: Path, *engines: ReadingEngine, queries: Sequence[str] = QUERIES) -> None:
    """Fail unless the index equals one built anew, and these engines and a fresh one answer as that one does."""
    with ReadingEngine(vault, resident=False) as fresh, rebuilt(vault) as other:
        fresh.refresh()
        found = differences(contents(vault), contents(other.config.root))
        assert not found, "\n".join(found)
        wanted = answers(other, queries)
        for engine in (fresh, *engines):
            for query, got, right in zip(queries, answers(engine, queries), wanted, strict=True):
                assert alike(got, right), f"{query!r}:\n  kept  {got}\n  built {right}"
