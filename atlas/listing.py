"""What the index last saw of the folder, and what a new look says has changed.

Loads no parser: most searches find nothing changed, and the parsers cost them 60 ms.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atlas.memory import Finding
from atlas.store import only_row
from atlas.survey import Fields, Stat, Survey

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class Report:
    """What one refresh did, in numbers of files; `skipped` names those not indexed in full, and why.

    `held` were left as they were for now. `settled`: the index says all of what the look saw.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    memories: int = 0
    derived: int = 0
    embedded: int = 0
    skipped: tuple[Finding, ...] = ()
    seconds: float = 0.0
    held: int = 0
    settled: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the listing."""

    path: str
    blob: str
    note: int | None
    stat: Stat
    name_chunk: int | None
    problem: str


@dataclass(frozen=True, slots=True)
class Diff:
    """What to read (path → stat), and what is gone; `held` is what keeps its rows although it seems to have changed."""

    to_read: Mapping[str, Fields]
    gone: tuple[str, ...]
    held: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything may have changed."""
        return bool(self.to_read or self.gone)


def listing(con: duckdb.DuckDBPyConnection) -> dict[str, Fields]:
    """What the index last saw, path → the fields of its stat."""
    rows = con.execute("SELECT path, size, mtime, ctime, inode FROM listing").fetchall()
    return {row[0]: row[1:] for row in rows}


def diff(look: Survey, known: Mapping[str, Fields], *, full: bool = False) -> Diff:
    """Compare a look at the folder with the listing. A file whose stat is unchanged is not read, unless `full`."""
    to_read = {path: stat for path, stat in look.files.items() if full or known.get(path) != stat}
    gone = tuple(path for path in known if look.missing(path))
    return Diff(to_read, gone)


#: Takes out of a diff what is not to be believed yet, given the look, what the index knew, the diff, and a function for
#: the notes whose metadata the index could not read.
Hold = Callable[[Survey, Mapping[str, Fields], Diff, Callable[[], frozenset[str]]], Diff]


def unreadable(con: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """The notes whose metadata could not be read."""
    rows = con.execute("SELECT l.path FROM listing l JOIN notes n USING (note) WHERE NOT n.readable").fetchall()
    return frozenset(path for (path,) in rows)


def report(con: duckdb.DuckDBPyConnection, look: Survey, **done: int) -> Report:
    """What a refresh did, with the state it left."""
    return Report(
        added=done.get("added", 0),
        changed=done.get("changed", 0),
        removed=done.get("removed", 0),
        derived=done.get("derived", 0),
        embedded=done.get("embedded", 0),
        held=done.get("held", 0),
        unchanged=len(look.sheet) - done.get("added", 0) - done.get("changed", 0),
        memories=_count(con),
        skipped=(*look.skipped, *problems(con)),
    )


def _count(con: duckdb.DuckDBPyConnection) -> int:
    (number,) = only_row(con, "SELECT count(*) FROM listing WHERE note IS NOT NULL")
    return int(number)


def problems(con: duckdb.DuckDBPyConnection) -> tuple[Finding, ...]:
    """Every file that is not indexed in full, with the reason: not read at all, or its metadata not understood."""
    rows = con.execute(
        "SELECT l.path, l.problem, coalesce(n.findings, '[]') FROM listing l LEFT JOIN notes n USING (note) "
        "WHERE l.problem <> '' OR NOT n.readable ORDER BY l.path"
    ).fetchall()
    out = []
    for path, problem, findings in rows:
        if problem:
            out.append(Finding(path, 0, *problem.split("\n", 1)))
        out += [Finding(path, *found) for found in json.loads(findings)]
    return tuple(out)
