"""CrewAI: tools for a crew's agents, and a storage for its own memory.

    agent = Agent(role="Researcher", …, tools=memory_tools("./memory"))

    storage = MemoryAtlasStorage("./memory")
    memory = Memory(storage=storage, embedder=storage.embedder, llm=llm)
    crew = Crew(…, memory=memory)

A record is a memory of the vault: its scope is the folder, its categories are the tags. Every memory of the vault is
found as a record; CrewAI changes and deletes those alone that it saved itself, and Git keeps what it deletes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from atlas.companion import Companion, use
from atlas.crewrecords import Embedded, Records, Row
from atlas.integrations import needing
from atlas.toolspec import Kind, Tool

with needing("CrewAI", "crewai"):
    from crewai.memory.types import MemoryRecord, ScopeInfo
    from crewai.tools import BaseTool
    from pydantic import BaseModel, Field, create_model

_TYPES = {
    Kind.TEXT: str,
    Kind.NUMBER: int,
    Kind.SWITCH: bool,
    Kind.TEXTS: list[str],
    Kind.OBJECTS: list[dict[str, Any]],
}


class MemoryAtlasTool(BaseTool):
    """One tool of a vault for a crew's agents: `MemoryAtlasTool.of("./memory", "search")`."""

    name: str = "memory_search"
    description: str = ""
    args_schema: type[BaseModel]
    tool: Any = Field(exclude=True)

    @classmethod
    def of(cls, vault: Any, name: str = "search", **options: Any) -> MemoryAtlasTool:
        """The tool of this name (`toolbox`); `options` are those of `Companion`."""
        return cls.bound(Companion(vault, **options).tools([name])[0])

    @classmethod
    def bound(cls, tool: Tool) -> MemoryAtlasTool:
        """The tool as CrewAI knows one."""
        return cls(name=tool.name, description=tool.about, args_schema=_schema(tool), tool=tool)

    def _run(self, **given: Any) -> str:
        return use(self.tool, {name: value for name, value in given.items() if value is not None})


def memory_tools(vault: Any, wanted: bool | Sequence[str] = True, **options: Any) -> list[MemoryAtlasTool]:
    """Tools to search and to remember, or those of these names, on one vault."""
    return [MemoryAtlasTool.bound(tool) for tool in Companion(vault, **options).tools(wanted)]


def _schema(tool: Tool) -> type[BaseModel]:
    fields: dict[str, Any] = {
        one.name: (_TYPES[one.kind], Field(description=one.about or one.name))
        if one.required
        else (_TYPES[one.kind] | None, Field(default=None, description=one.about or one.name))
        for one in tool.parameters
    }
    return create_model(f"{tool.name}_arguments", **fields)


class MemoryAtlasStorage:
    """A storage for `crewai.memory.Memory`, with the embedder that belongs to it. `options` are those of `Companion`.

    CrewAI asks by a vector alone; the text of a question is known by the vector that `embedder` made of it, so that
    words, names and dates count as in every search of the vault. Scores are cosines, as CrewAI's thresholds expect.
    """

    def __init__(self, vault: Any, **options: Any) -> None:
        self.companion = Companion(vault, **options)
        self._embedded = Embedded(self.companion.engine.config)
        self._records = Records(self.companion.engine, self._embedded)

    @property
    def embedder(self) -> Callable[[list[str]], list[list[float]]]:
        """What `Memory(embedder=…)` must be given beside this storage."""
        return self._embedded.vectors

    # --------------------------------------------------------------------- writing

    def save(self, records: list[MemoryRecord]) -> None:
        """Store records in one commit. Each takes the id of its memory; one whose text is there already, that one's."""
        rows = [_row(record) for record in records]
        for record, id in zip(records, self._records.save(rows), strict=True):
            record.id = id

    def update(self, record: MemoryRecord) -> None:
        """Change a record that CrewAI saved."""
        self._records.update(_row(record))

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records that CrewAI saved and that fit, in one commit; how many."""
        rows = self._records.fitting(scope_prefix, categories, metadata_filter, ids=record_ids)
        return self._records.delete([row for row in rows if older_than is None or row.created < older_than])

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete all that CrewAI saved in a scope."""
        self.delete(scope_prefix)

    # --------------------------------------------------------------------- reading

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """The records that fit what this is the vector of, nearest first."""
        found = self._records.search(query_embedding, scope_prefix, categories, metadata_filter, limit)
        return [(_record(row), score) for row, score in found if score >= min_score]

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """One record, or None."""
        found = self._records.named([record_id])
        return _record(found[0]) if found else None

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """The records of a scope, newest first."""
        rows = sorted(self._records.fitting(scope_prefix), key=lambda row: row.created, reverse=True)
        return [_record(row) for row in rows[offset : offset + limit]]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """What is in a scope."""
        made = sorted(row.created for row in self._records.fitting(scope))
        return ScopeInfo(
            path=scope,
            record_count=len(made),
            categories=sorted(self._records.categories(scope)),
            oldest_record=made[0] if made else None,
            newest_record=made[-1] if made else None,
            child_scopes=self._records.scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """The scopes right below one."""
        return self._records.scopes(parent)

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """How many records each category has."""
        return self._records.categories(scope_prefix)

    def count(self, scope_prefix: str | None = None) -> int:
        """How many records a scope has."""
        return self._records.count(scope_prefix)

    # ---------------------------------------------------------- beside the event loop

    async def asave(self, records: list[MemoryRecord]) -> None:
        """`save`."""
        await asyncio.to_thread(self.save, records)

    async def asearch(self, query_embedding: list[float], *args: Any, **given: Any) -> list[tuple[MemoryRecord, float]]:
        """`search`."""
        return await asyncio.to_thread(self.search, query_embedding, *args, **given)

    async def adelete(self, *args: Any, **given: Any) -> int:
        """`delete`."""
        return await asyncio.to_thread(self.delete, *args, **given)

    def close(self) -> None:
        """Close the vault, if it was opened here."""
        self.companion.close()


def _row(record: MemoryRecord) -> Row:
    return Row(
        id=record.id,
        text=record.content,
        scope=record.scope,
        categories=tuple(record.categories),
        metadata=record.metadata,
        importance=record.importance,
        created=record.created_at,
        source=record.source or "",
        private=record.private,
    )


def _record(row: Row) -> MemoryRecord:
    return MemoryRecord(
        id=row.id,
        content=row.text,
        scope=row.scope,
        categories=list(row.categories),
        metadata=dict(row.metadata),
        importance=row.importance,
        created_at=row.created,
        last_accessed=row.created,
        source=row.source or None,
        private=row.private,
    )
