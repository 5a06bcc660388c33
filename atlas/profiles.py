"""What upkeep has to know of a memory to judge it: its age, weight, links and level, from the index alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from atlas.keys import parted
from atlas.live import Filters
from atlas.memory import CLUSTER_PREFIX, HUB, Rung, Scope

if TYPE_CHECKING:
    import duckdb

#: The tier of a memory that names none, by its kind.
TIERS = {"episode": "working", "preference": "user"}
DEFAULT_TIER = "long_term"

_QUERY = f"""
    SELECT l.path, l.ident, l.blob, n.label, n.kind, n.tags, n.entities, n.created, n.importance, n.pinned, n.trust,
      n.source, n.valid_from, n.valid_to, n.meta, n.readable, coalesce(w.words, 0), k.note IS NOT NULL,
      n.summary, n.stale
    FROM listing l JOIN notes n USING (note)
    LEFT JOIN (SELECT note, sum(words)::INTEGER AS words FROM chunks GROUP BY note) w USING (note)
    LEFT JOIN (
      SELECT DISTINCT t.note FROM listing t
      JOIN (SELECT note, handle FROM handles
            UNION SELECT o.note, p.handle FROM places p JOIN listing o USING (path_key)) h ON h.note = t.note
      JOIN (SELECT note, handle FROM links SEMI JOIN listing USING (note) WHERE NOT replaced) s ON s.handle = h.handle
      JOIN notes f ON f.note = s.note
      WHERE s.note <> t.note AND f.kind <> '{HUB}' AND (f.meta->'derived_from') IS NULL
    ) k USING (note)
    WHERE """  # noqa: S608 - no text from outside is in it

#: Both ends of every link whose name only one note answers to; the pages of clusters link to all they list.
_LINKS = f"""
    WITH answering AS (
      SELECT h.handle, t.path FROM handles h JOIN listing t USING (note)
      UNION SELECT p.handle, t.path FROM places p JOIN listing t USING (path_key) WHERE t.note IS NOT NULL
    ), clear AS (SELECT handle, any_value(path) AS path FROM answering GROUP BY handle HAVING count(*) = 1)
    SELECT DISTINCT l.path, c.path FROM listing l JOIN notes n USING (note) JOIN links s USING (note)
    JOIN clear c USING (handle) WHERE l.path <> c.path AND n.kind <> '{HUB}' ORDER BY 1, 2"""  # noqa: S608 - the same


@dataclass(frozen=True, slots=True)
class Profile:
    """One memory as upkeep sees it. Times are microseconds since 1970, None where nobody says.

    `tier` is the one written in it, else that of its kind. `linked`: another note links to it; pages of clusters and
    summaries that were drawn from it do not count, nor what it says has taken its place. `words` counts its terms.
    `stale`: its summary was made of an older text.
    """

    path: str
    id: str
    blob: str
    label: str
    kind: str
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    created: int | None
    importance: float
    pinned: bool
    trust: str
    source: str
    valid_from: int | None
    valid_to: int | None
    meta: Mapping[str, Any]
    readable: bool
    words: int
    linked: bool
    summary: str = ""
    stale: bool = False

    @property
    def clusters(self) -> tuple[str, ...]:
        """The slugs of its clusters."""
        return tuple(t.removeprefix(CLUSTER_PREFIX) for t in self.tags if t.startswith(CLUSTER_PREFIX))

    @property
    def tier(self) -> str:
        """`working`, `long_term`, `user`, or what a person wrote."""
        return tier_of(self.kind, self.meta)

    @property
    def rung(self) -> Rung:
        """How much of it is left."""
        return rung_of(self.meta)


def tier_of(kind: str, meta: Mapping[str, Any]) -> str:
    """The tier written in a memory, else that of its kind.

    >>> tier_of("episode", {}), tier_of("episode", {"tier": "long_term"}), tier_of("fact", {})
    ('working', 'long_term', 'long_term')
    """
    written = meta.get("tier")
    return written.strip() if isinstance(written, str) and written.strip() else TIERS.get(kind, DEFAULT_TIER)


def rung_of(meta: Mapping[str, Any]) -> Rung:
    """The rung that its metadata says a memory stands on; everything is there where it says nothing."""
    written = meta.get("rung")
    return Rung(written) if written in (Rung.L1, Rung.L0) else Rung.L2


def profiles(con: duckdb.DuckDBPyConnection, scope: Scope) -> tuple[Profile, ...]:
    """Every memory of the scope, by path."""
    where, values = Filters(scope).sql()
    rows = con.execute(f"{_QUERY}{where} ORDER BY l.path", values).fetchall()
    return tuple(map(_profile, rows))


def links(con: duckdb.DuckDBPyConnection) -> tuple[tuple[str, str], ...]:
    """Which notes of the vault link to which, by path; links that lead to no one note, and those of hubs, left out."""
    return tuple(con.execute(_LINKS).fetchall())


def _profile(row: tuple[Any, ...]) -> Profile:
    path, id, blob, label, kind, tags, entities, created, weight, pinned, trust, source, start, end, meta, *rest = row
    return Profile(
        path, id, blob, label or PurePosixPath(path).stem, kind, parted(tags), parted(entities), created, float(weight),
        pinned, trust, source, start, end, json.loads(meta), *rest,
    )  # fmt: skip
