"""Look-ups in the index: who answers to a name, what a memory's row says, what is there in numbers."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from atlas.errors import Ambiguous, NotFound
from atlas.keys import SEP, handle, parted
from atlas.live import Filters
from atlas.memory import CLUSTER_PREFIX, HUB, Finding, Lod, Scope
from atlas.profiles import DEFAULT_TIER, TIERS, Profile, profiles
from atlas.resolver import Known
from atlas.store import only_row

if TYPE_CHECKING:
    import duckdb

_FEWEST_ID_LETTERS, _FEWEST_LAST_LETTERS = 4, 5


@dataclass(frozen=True, slots=True)
class Card:
    """What the index knows of one memory without opening its file. `stale`: its summary was made of an older text."""

    path: str
    id: str
    blob: str
    label: str
    kind: str
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    aliases: tuple[str, ...]
    text_key: str
    written_id: str
    stale: bool = False

    @property
    def clusters(self) -> tuple[str, ...]:
        """The slugs of its clusters."""
        return tuple(t.removeprefix(CLUSTER_PREFIX) for t in self.tags if t.startswith(CLUSTER_PREFIX))


class Catalog:
    """Look-ups of one scope through one connection."""

    def __init__(self, con: duckdb.DuckDBPyConnection, scope: Scope) -> None:
        self._con, self._scope = con, scope

    def cards(self, extra: str = "true", values: Sequence[Any] = ()) -> list[Card]:
        """All memories of the scope, by path; `extra` is a condition in SQL from this module only."""
        where, bound = Filters(self._scope).sql()
        rows = self._con.execute(
            "SELECT l.path, l.ident, l.blob, n.label, n.kind, n.tags, n.entities, n.aliases, n.text_key, n.id, n.stale "
            f"FROM listing l JOIN notes n USING (note) WHERE {where} AND ({extra}) ORDER BY l.path",
            [*bound, *values],
        ).fetchall()
        return [
            Card(p, i, b, label or PurePosixPath(p).stem, kind, parted(t), parted(e), parted(a), key, written, stale)
            for p, i, b, label, kind, t, e, a, key, written, stale in rows
        ]

    def recent(self, limit: int, kinds: Sequence[str] = ()) -> list[Card]:
        """The memories that were stored last, newest first; pages of clusters and what was replaced left out."""
        where, bound = Filters(self._scope, tuple(kinds)).sql()
        rows = self._con.execute(
            f"SELECT l.path FROM listing l JOIN notes n USING (note) WHERE {where} AND n.kind <> '{HUB}' "
            "AND coalesce(n.meta->>'superseded_by', '') = '' ORDER BY n.created DESC NULLS LAST, l.path LIMIT ?",
            [*bound, limit],
        ).fetchall()
        order = {path: place for place, (path,) in enumerate(rows)}
        marks = ", ".join("?" * len(order)) or "NULL"
        return sorted(self.cards(f"l.path IN ({marks})", list(order)), key=lambda card: order[card.path])

    def profiles(self) -> tuple[Profile, ...]:
        """What upkeep has to know of every memory, by path."""
        return profiles(self._con, self._scope)

    def find(self, name: str) -> Card:
        """The memory a person means by an id (or its first or last letters), a path, a file name, a title or an alias.

        The most exact reading wins; nothing but an id is matched by a part. Raises NotFound, Ambiguous.
        """
        wanted = unicodedata.normalize("NFC", name.strip())
        as_spelled: list[tuple[str, list[Any]]] = [("l.path = ?", [name])]
        for extra, values in as_spelled + _readings(wanted):
            found = self.cards(extra, values)
            if len(found) == 1:
                return found[0]
            if found:
                raise Ambiguous(name, [card.path for card in found])
        raise NotFound("memory", name, "`atlas search` finds memories by their words.")

    def owner(self, id: str) -> str:
        """The path that has this id anywhere in the vault, or ""."""
        query = "SELECT min(l.path) FROM listing l JOIN notes n USING (note) WHERE n.id = ? OR l.ident = ?"
        (path,) = only_row(self._con, query, [id, id])
        return path or ""

    def owners(self, ids: Collection[str]) -> dict[str, str]:
        """The paths that have these ids anywhere in the vault, by id."""
        self._con.register("wanted", {"id": np.array(sorted(ids), dtype=object)})
        query = (
            "SELECT id, min(path) FROM ("
            "SELECT w.id, l.path FROM listing l JOIN notes n USING (note) JOIN wanted w ON w.id = n.id "
            "UNION ALL SELECT w.id, l.path FROM listing l JOIN wanted w ON w.id = l.ident) GROUP BY id"
        )
        try:
            return dict(self._con.execute(query).fetchall()) if ids else {}
        finally:
            self._con.unregister("wanted")

    def with_source(self, sources: Sequence[str]) -> dict[str, list[Card]]:
        """The memories that name one of these as where they come from, by it."""
        if not sources:
            return {}
        self._con.register("wanted", {"source": np.array(sorted(set(sources)), dtype=object)})
        try:
            cards = self.cards("n.source IN (SELECT source FROM wanted)")
            named = dict(self._con.execute(
                "SELECT l.path, n.source FROM listing l JOIN notes n USING (note) SEMI JOIN wanted USING (source)"
            ).fetchall())  # fmt: skip
        finally:
            self._con.unregister("wanted")
        found: dict[str, list[Card]] = {}
        for card in cards:
            found.setdefault(named[card.path], []).append(card)
        return found

    def threads(self, names: Sequence[str]) -> dict[str, int]:
        """How many memories come from each of these conversations: those whose source is its name, up to a `#`."""
        if not names:
            return {}
        where, bound = Filters(self._scope).sql()
        self._con.register("wanted", {"thread": np.array(sorted(set(names)), dtype=object)})
        query = (
            "SELECT thread, count(*) FROM (SELECT split_part(n.source, '#', 1) AS thread "
            f"FROM listing l JOIN notes n USING (note) WHERE {where}) SEMI JOIN wanted USING (thread) GROUP BY 1"
        )
        try:
            return dict(self._con.execute(query, bound).fetchall())
        finally:
            self._con.unregister("wanted")

    def with_blob(self, blobs: Sequence[str]) -> dict[str, list[str]]:
        """Where these contents lie, by blob id."""
        if not blobs:
            return {}
        self._con.register("wanted", {"blob": np.array(sorted(set(blobs)), dtype=object)})
        try:
            cards = self.cards("l.blob IN (SELECT blob FROM wanted)")
        finally:
            self._con.unregister("wanted")
        found: dict[str, list[str]] = {}
        for card in cards:
            found.setdefault(card.blob, []).append(card.path)
        return found

    def known(self) -> list[Known]:
        """What every note answers to."""
        where, bound = Filters(self._scope).sql()
        rows = self._con.execute(
            f"SELECT l.path, n.label, n.aliases, l.ident FROM listing l JOIN notes n USING (note) WHERE {where}", bound
        ).fetchall()
        return [Known(path, title, parted(aliases), id) for path, title, aliases, id in rows]

    def linking(self, handles: Collection[int]) -> list[str]:
        """The notes that link to any of these names, in their text or metadata, by path."""
        where, bound = Filters(self._scope).sql()
        self._con.register("wanted", {"handle": np.array(sorted(handles), dtype=np.int64)})
        query = (
            "SELECT DISTINCT l.path FROM listing l JOIN notes n USING (note) JOIN links k USING (note) "
            f"SEMI JOIN wanted w ON k.handle = w.handle WHERE {where}"
        )
        found = {path for (path,) in self._con.execute(query, bound).fetchall()}
        self._con.unregister("wanted")
        # Where a memory comes from is no link of the graph, but a name in it is one all the same.
        query = (
            "SELECT l.path, n.meta->'supersedes', n.meta->'derived_from' FROM listing l JOIN notes n USING (note) "
            f"WHERE {where} AND ((n.meta->'supersedes') IS NOT NULL OR (n.meta->'derived_from') IS NOT NULL)"
        )
        for path, *values in self._con.execute(query, bound).fetchall():
            named = [json.loads(value) for value in values if value]
            texts = [text for value in named for text in (value if isinstance(value, list) else [value])]
            if any(isinstance(text, str) and handle(text) in handles for text in texts):
                found.add(path)
        return sorted(found)

    def leading_to_no_file(self) -> dict[str, set[int]]:
        """The handles of links that are the name of no file, by the notes they stand in."""
        where, bound = Filters(self._scope).sql()
        rows = self._con.execute(
            "SELECT DISTINCT l.path, k.handle FROM listing l JOIN notes n USING (note) JOIN links k USING (note) "
            f"WHERE {where} AND k.handle NOT IN "
            "(SELECT p.handle FROM places p SEMI JOIN listing ON p.path_key = listing.path_key)",
            bound,
        ).fetchall()
        found: dict[str, set[int]] = {}
        for path, number in rows:
            found.setdefault(path, set()).add(number)
        return found

    def with_text(self, keys: Sequence[str]) -> dict[str, str]:
        """Which of these texts are stored already: text key → id. What no longer holds can be told again."""
        marks = ", ".join("?" * len(keys)) or "NULL"
        holds = "n.valid_to IS NULL AND coalesce(n.meta->>'superseded_by', '') = ''"
        return {card.text_key: card.id for card in self.cards(f"n.text_key IN ({marks}) AND {holds}", keys)}

    def sources(self, conversation: str) -> list[str]:
        """The sources of all memories of the scope that come from a conversation: its name, `#`, and its turns."""
        where, bound = Filters(self._scope).sql()
        query = f"SELECT n.source FROM listing l JOIN notes n USING (note) WHERE {where} AND starts_with(n.source, ?)"
        return [source for (source,) in self._con.execute(query, [*bound, f"{conversation}#"]).fetchall()]

    def passages(self) -> dict[int, int]:
        """The passages of the scope, by number: the note each is of."""
        where, bound = Filters(self._scope).sql()
        query = (
            "SELECT c.chunk, c.note FROM chunks c "
            f"SEMI JOIN (SELECT l.note FROM listing l JOIN notes n USING (note) WHERE {where}) here USING (note)"
        )
        return dict(self._con.execute(query, bound).fetchall())

    def with_entities(self, entities: Sequence[str]) -> list[Card]:
        """Memories Atlas wrote that share any of these entities, in whatever case."""
        if not entities:
            return []
        self._con.register("wanted", {"entity": np.array(entities, dtype=object)})
        try:
            return self.cards(
                "n.id <> '' AND len(list_intersect(string_split(lower(n.entities), ?), "
                "(SELECT list(DISTINCT lower(entity)) FROM wanted))) > 0", [SEP]
            )  # fmt: skip
        finally:
            self._con.unregister("wanted")

    def count(self) -> int:
        """Number of memories in the scope."""
        where, bound = Filters(self._scope).sql()
        query = f"SELECT count(*) FROM listing l JOIN notes n USING (note) WHERE {where}"
        return int(only_row(self._con, query, bound)[0])

    def numbers(self) -> dict[str, Any]:
        """How many memories: all, per kind, tier, cluster, and fullest level of detail."""
        cards = self.cards()
        return {
            "memories": len(cards),
            "kinds": dict(Counter(card.kind for card in cards).most_common()),
            "tiers": self.tiers(),
            "clusters": dict(Counter(slug for card in cards for slug in card.clusters).most_common()),
            "lods": self.lods(),
        }

    def tiers(self) -> dict[str, int]:
        """Number of memories per `tier` written in them, or that their kinds have."""
        cases = " ".join(f"WHEN '{kind}' THEN '{tier}'" for kind, tier in TIERS.items())
        tier = f"coalesce(nullif(trim(n.meta->>'tier'), ''), CASE n.kind {cases} ELSE '{DEFAULT_TIER}' END)"
        return self._counted(tier)

    def lods(self) -> dict[str, int]:
        """Number of memories by the fullest level they have: all of it, a summary, or nothing beside a label."""
        told = "EXISTS (SELECT 1 FROM chunks c WHERE c.note = n.note AND c.seq >= 1)"
        rung = "CASE n.meta->>'rung' WHEN 'L1' THEN 'L1' WHEN 'L0' THEN 'L0' ELSE 'L2' END"
        found = self._counted(f"CASE WHEN {told} THEN {rung} ELSE 'L0' END")
        return {lod.value: found.get(lod.value, 0) for lod in reversed(Lod)}

    def _counted(self, column: str) -> dict[str, int]:
        """How many memories have each value of an expression, the most frequent first."""
        where, bound = Filters(self._scope).sql()
        return dict(
            self._con.execute(
                f"SELECT {column}, count(*) FROM listing l JOIN notes n USING (note) WHERE {where} "
                "GROUP BY 1 ORDER BY 2 DESC, 1",
                bound,
            ).fetchall()
        )

    def findings(self) -> list[Finding]:
        """Every file not indexed in full, and everything found in the others, by path and line."""
        out = []
        rows = self._con.execute(
            "SELECT l.path, l.problem, coalesce(n.findings, '[]') FROM listing l LEFT JOIN notes n USING (note) "
            "WHERE (l.problem <> '' OR n.findings <> '[]') AND starts_with(l.path, ?)", [self._scope.prefix]
        ).fetchall()  # fmt: skip
        for path, problem, findings in rows:
            if problem:
                out.append(Finding(path, 0, *problem.split("\n", 1)))
            out += [Finding(path, line, kind, message) for line, kind, message in json.loads(findings)]
        return sorted(out, key=lambda f: (f.path, f.line, f.kind))


def _readings(name: str) -> list[tuple[str, list[Any]]]:
    """Ways to read a name, the most exact first."""
    plain = name.removesuffix(".md").replace("\\", "/")
    readings: list[tuple[str, list[Any]]] = [
        ("l.ident = ? OR n.id = ?", [name, name]),
        ("l.ident = upper(?) OR l.ident = lower(?)", [name, name]),
        ("nfc_normalize(l.path) IN (?, ?, ?)", [name, plain, plain + ".md"]),
    ]
    if len(name) >= _FEWEST_ID_LETTERS and name.isascii() and name.isalnum():
        readings.append(("starts_with(l.ident, ?) OR starts_with(l.ident, ?)", [name.upper(), name.lower()]))
    readings += [
        ("ends_with(nfc_normalize('/' || l.path), ?)", [f"/{plain}.md"]),
        ("lower(n.label) = lower(?)", [name]),
        ("contains(lower(n.aliases), lower(?))", [f"{SEP}{name}{SEP}"]),
    ]
    # A view names memories so: ids made in the same minute begin alike.
    if len(name) >= _FEWEST_LAST_LETTERS and name.isascii() and name.isalnum():
        readings.append(("ends_with(l.ident, ?) OR ends_with(l.ident, ?)", [name.upper(), name.lower()]))
    return readings
