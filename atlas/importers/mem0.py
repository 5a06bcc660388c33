"""The export of mem0: a list of memories, or an object with them under `results` or `memories`.

Each has `id`, `memory` (the text), `user_id`, `agent_id`, `run_id`, `app_id`, `metadata`, `categories`, `created_at`
and `updated_at`; what is `null` may be missing. Relations of its graph, where they are there, have no text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from atlas.importers import Found, Skipped
from atlas.importers.given import Given
from atlas.importers.jsons import first, moment, objects, text_of
from atlas.importers.records import tags
from atlas.ingest import Request
from atlas.memory import KINDS

NAME = "mem0"

_LISTS = ("results", "memories")
#: Keys beside the text by which a memory of mem0 is known from any other record that has a `memory`.
_MARKS = frozenset({"user_id", "agent_id", "run_id", "app_id", "hash", "categories", "updated_at"})
_WHOSE = {"user_id": "user", "agent_id": "agent", "app_id": "app", "run_id": "run"}


def detect(given: Given) -> bool:
    """Whether a record has an id, a `memory`, and something only mem0 says of one."""
    for name in _files(given):
        record = first(given, name, *_LISTS)
        if "memory" in record and "id" in record and record.keys() & _MARKS:
            return True
    return False


def read(given: Given) -> Iterator[Found | Skipped]:
    """Every memory as one, with whose it is as a tag."""
    for name in _files(given):
        for number, record in enumerate(objects(given, name, *_LISTS), 1):
            if isinstance(record, Skipped):
                yield record
            elif "memory" in record or not {"source", "relationship"} <= record.keys():
                yield _memory(record, f"{name}, record {number}")


def _files(given: Given) -> list[str]:
    return [name for name in given.files if given.is_file or name.lower().endswith(".json")]


def _memory(record: Mapping[str, Any], what: str) -> Request | Skipped:
    id, text = text_of(record.get("id")), text_of(record.get("memory"))
    if not text or not id:
        return Skipped(text_of(record.get("id")) or what, "it has no text" if id else "it has no id")
    more = record.get("metadata")
    metadata = more if isinstance(more, dict) else {}
    topics = tags(record.get("categories")) + tags(metadata.get("categories") or metadata.get("category"))
    whose = tuple(f"{name}/{tag}" for key, name in _WHOSE.items() for tag in tags([record.get(key)]) if name != "run")
    kind = next((k for k in (text_of(metadata.get(key)).casefold() for key in ("kind", "type")) if k in KINDS), None)
    return Request(
        text,
        kind=kind,
        tags=tuple(dict.fromkeys((*topics, *whose, *tags(metadata.get("tags"))))),
        created=moment(record.get("created_at")) or moment(record.get("updated_at")),
        source=f"{NAME}:{id}",
        whole=True,
    )
