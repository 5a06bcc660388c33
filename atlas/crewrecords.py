"""Memories as the records of a program that keeps its own here: scope is the folder, categories are the tags.

What a memory has no place for (metadata, who may see it) stands as JSON under `crewai` in its frontmatter, which also
says that the program saved it: nothing else is changed or removed in its name.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter, OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from atlas import markdown, models
from atlas.config import Config, now
from atlas.dates import when
from atlas.engine import MemoryEngine
from atlas.errors import NotFound, UsageError
from atlas.ingest import Request
from atlas.memory import CLUSTER_PREFIX, HUB, Memory
from atlas.models import offline
from atlas.paths import RESERVED

log = logging.getLogger(__name__)

#: The key that says a memory was saved by the program.
KEY = "crewai"
#: The folder below a scope that new memories lie in.
_MEMORIES = "memories"
#: So many texts are known by their vectors, those asked for last.
_KNOWN = 4096
#: So many more candidates are looked at where a filter may drop some.
_WIDER = 5
_UNFIT = re.compile(r"[^\w-]+")
_DEFAULT_IMPORTANCE = 0.5


@dataclass(frozen=True, slots=True)
class Row:
    """One record. `created` is in UTC and without a zone, as the program counts; `own`: it was saved by the program."""

    id: str
    text: str
    scope: str = "/"
    categories: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    importance: float = _DEFAULT_IMPORTANCE
    created: datetime = field(default_factory=lambda: naive(now()))
    source: str = ""
    private: bool = False
    own: bool = True


class Embedded:
    """The vault's embedder as a function, and the texts it was given by their vectors."""

    def __init__(self, config: Config) -> None:
        self._choice = models.choice(config)
        self._texts: OrderedDict[bytes, str] = OrderedDict()

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of texts."""
        found = self._made(texts)
        for text, vector in zip(texts, found, strict=True):
            self._texts[vector.tobytes()] = text
            self._texts.move_to_end(vector.tobytes())
        while len(self._texts) > _KNOWN:
            self._texts.popitem(last=False)
        return [[float(x) for x in vector] for vector in found]

    def text(self, vector: Sequence[float]) -> str:
        """The text this is the vector of; raises UsageError for a vector of another embedder."""
        text = self._texts.get(np.asarray(vector, dtype=np.float32).tobytes())
        if text is None:
            raise UsageError("A vault is asked by words: give the memory the embedder of its storage, embedder=….")
        return text

    def cosines(self, vector: Sequence[float], texts: Sequence[str]) -> list[float]:
        """How near each text is to a vector, from 0 to 1."""
        query = np.asarray(vector, dtype=np.float32)
        return [min(1.0, max(0.0, float(one @ query))) for one in self._made(texts)]

    def _made(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        embedder = models.load(self._choice)
        if embedder is None:
            raise UsageError('Records are found by vectors: choose another `embedding` than "none".')
        return embedder.embed(list(texts))


class Records:
    """The memories of an engine's scope as records."""

    def __init__(self, engine: MemoryEngine, embedded: Embedded) -> None:
        self.engine, self._embedded = engine, embedded

    # -------------------------------------------------------------------- reading

    def search(
        self,
        vector: Sequence[float],
        scope: str | None,
        categories: Sequence[str] | None,
        metadata: Mapping[str, Any] | None,
        limit: int,
    ) -> list[tuple[Row, float]]:
        """The records that fit what this is the vector of, each with its cosine, nearest first."""
        wide = limit * _WIDER if categories or metadata else limit
        text = self._embedded.text(vector)
        hits = self.engine.search(text, k=max(1, wide), scope=self._folder(scope), abstain=False).hits
        rows = [row for row in self.named([hit.id for hit in hits]) if _fits(row, categories, metadata)]
        near = self._embedded.cosines(vector, [row.text for row in rows]) if rows else []
        ranked = sorted(zip(rows, near, strict=True), key=lambda pair: -pair[1])
        return ranked[:limit]

    def named(self, ids: Sequence[str]) -> list[Row]:
        """The records of these ids that are there."""
        found = []
        for id in ids:
            try:
                found += [self._row(one) for one in self.engine.memories([id])]
            except NotFound:
                continue
        return found

    def fitting(
        self,
        scope: str | None = None,
        categories: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        ids: Sequence[str] | None = None,
    ) -> list[Row]:
        """The records of a scope, or of these ids in it, that fit."""
        if ids is None:
            memories = self.engine.memories(scope=self._folder(scope))
            rows = [self._row(one) for one in memories if one.meta.get("kind") != HUB]
        else:
            inside = _clean(scope)
            rows = [row for row in self.named(ids) if _within(row.scope, inside)]
        return [row for row in rows if _fits(row, categories, metadata)]

    def scopes(self, parent: str) -> list[str]:
        """The scopes right below one."""
        above = _clean(parent).rstrip("/") + "/"
        found = {self._scope(card.path) for card in self.engine.listed(scope=self._folder(parent))}
        return sorted(
            {above + one[len(above) :].split("/")[0] for one in found if one.startswith(above) and one != above}
        )

    def categories(self, scope: str | None) -> dict[str, int]:
        """How many records each category has."""
        cards = [card for card in self.engine.listed(scope=self._folder(scope)) if card.kind != HUB]
        return dict(Counter(tag for card in cards for tag in _categories(card.tags)))

    def count(self, scope: str | None) -> int:
        """How many records a scope has."""
        return sum(card.kind != HUB for card in self.engine.listed(scope=self._folder(scope)))

    # -------------------------------------------------------------------- writing

    def save(self, rows: Sequence[Row]) -> list[str]:
        """Store records in one commit for each scope; the ids of the memories that hold them."""
        requests = [
            Request(
                row.text,
                tags=_tags(row.categories),
                importance=row.importance,
                scope=self._folder(row.scope),
                source=row.source or None,
                created=row.created,
                whole=True,
                meta={KEY: _kept(row)},
            )
            for row in rows
        ]
        return list(self.engine.ingest_many(requests).per_text)

    def update(self, row: Row) -> None:
        """Change a record that the program saved; one that it did not is left alone, and a warning says so."""
        (before,) = self.engine.memories([row.id])
        if KEY not in before.meta:
            log.warning("%s was not saved by CrewAI, so it is not changed.", before.path)
            return
        self.engine.edit(row.id, lambda old: _rewritten(old, row), op="update")
        if self._scope(before.path) != _clean(row.scope):
            month = f"/{before.path}".partition(f"/{_MEMORIES}/")[2].rpartition("/")[0]
            place = f"{self._folder(row.scope) or self._root()}{_MEMORIES}/{month}"
            self.engine.move(row.id, place.rstrip("/") + "/")

    def delete(self, rows: Sequence[Row]) -> int:
        """Remove those that the program saved, in one commit; how many."""
        own = [row.id for row in rows if row.own]
        if len(own) < len(rows):
            log.warning("%d memories were not saved by CrewAI, so they stay.", len(rows) - len(own))
        if own:
            self.engine.remove(own, reason="deleted by CrewAI")
        return len(own)

    # --------------------------------------------------------------------- scopes

    def _root(self) -> str:
        return self.engine.config.scope.prefix

    def _folder(self, scope: str | None) -> str | None:
        """The folder of a scope; None for all there is."""
        below = _clean(scope).strip("/")
        return f"{self._root()}{below}/" if below else None

    def _scope(self, path: str) -> str:
        """The scope of a path: its folder, without that for memories by month."""
        head, found, _ = f"/{path.removeprefix(self._root())}".partition(f"/{_MEMORIES}/")
        return (head if found else head.rpartition("/")[0]) or "/"

    def _row(self, memory: Memory) -> Row:
        kept = _read(memory.meta.get(KEY))
        created = when(str(memory.meta.get("created") or "")) or now()
        return Row(
            id=memory.id,
            text=_text(memory),
            scope=self._scope(memory.path),
            categories=_categories(memory.tags),
            metadata=kept.get("metadata") or {},
            importance=_number(memory.meta.get("importance")),
            created=naive(created),
            source=str(memory.meta.get("source") or ""),
            private=bool(kept.get("private")),
            own=KEY in memory.meta,
        )


def naive(moment: datetime) -> datetime:
    """A moment in UTC without its zone."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def _text(memory: Memory) -> str:
    return markdown.original(markdown.parse(memory.detail, memory.path))


def _number(value: Any) -> float:
    try:
        return min(1.0, max(0.0, float(value)))
    except (TypeError, ValueError):
        return _DEFAULT_IMPORTANCE


def _read(value: Any) -> dict[str, Any]:
    try:
        found = json.loads(value)
    except (TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _kept(row: Row) -> str:
    said: dict[str, Any] = {"metadata": dict(row.metadata)} if row.metadata else {}
    return json.dumps({**said, **({"private": True} if row.private else {})}, ensure_ascii=False, default=str)


def _rewritten(old: str, row: Row) -> str:
    """The note with what the record says now; its text only where that is another."""
    meta = {KEY: _kept(row), "importance": f"{row.importance:g}", "tags": [*_clusters(old), *_tags(row.categories)]}
    edited = markdown.edit(old, meta)
    note = markdown.parse(edited, row.id)
    if row.text.strip() == markdown.original(note).strip():
        return edited
    summary = offline.summary(row.text)
    detail = "" if summary == row.text.strip() else row.text
    return note.head + markdown.compose(meta={}, label=offline.label(row.text), summary=summary, detail=detail)


def _clusters(text: str) -> list[str]:
    return [tag for tag in markdown.parse(text, "").tags if tag.startswith(CLUSTER_PREFIX)]


def _categories(tags: Collection[str]) -> tuple[str, ...]:
    return tuple(tag for tag in tags if not tag.startswith(CLUSTER_PREFIX))


def _tags(categories: Sequence[str]) -> list[str]:
    """Categories as tags: without spaces, commas and what else cannot stand in one."""
    found = (_UNFIT.sub("-", one.replace("/", "-")).strip("-") for one in categories)
    return list(dict.fromkeys(filter(None, found)))


def _fits(row: Row, categories: Sequence[str] | None, metadata: Mapping[str, Any] | None) -> bool:
    wanted = set(_tags(categories or ()))
    alike = all(row.metadata.get(name) == value for name, value in (metadata or {}).items())
    return alike and (not wanted or bool(wanted & set(row.categories)))


def _clean(scope: str | None) -> str:
    """A scope as a path that every system can have: "/a/b"."""
    parts = [_UNFIT.sub("-", part).strip("-") for part in (scope or "").split("/")]
    named = [f"{part}-" if part.casefold() in RESERVED | {_MEMORIES} else part for part in parts if part]
    return "/" + "/".join(named)


def _within(scope: str, other: str) -> bool:
    return other == "/" or f"{scope}/".startswith(f"{other}/")
