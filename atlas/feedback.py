"""What a person or an agent says of a memory: of use, or wrong, perhaps with what is right. Plans only.

| said | the memory | beside it |
| --- | --- | --- |
| good | more important: importance += (1 - importance) / 5 | a read, in the usage |
| wrong | half as important, `trust: contested` | a correction, in the usage |
| wrong, and what is right | `valid_to` now, `superseded_by` the new one | the new memory, `supersedes` the old one |
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from atlas import markdown
from atlas.catalog import Card
from atlas.errors import UsageError
from atlas.ingest import Draft
from atlas.memory import Change, Trust
from atlas.source import decode, encode
from atlas.survey import blob_id

#: The share of what is missing to 1 that praise adds, and what a complaint leaves. Never under the least.
_RAISED, _LEFT, _LEAST = 0.2, 0.5, 0.05


def praised(card: Card, data: bytes) -> Change:
    """The memory, more important. Raises NotText, Unparsable."""
    weight = _importance(data)
    return _edited(card, data, {"importance": round(weight + (1 - weight) * _RAISED, 2)})


def contested(card: Card, data: bytes) -> Change:
    """The memory, less important and in doubt; what a person rejected or found outdated stays so."""
    said = _meta(data).get("trust")
    trust = {} if said in (Trust.REJECTED, Trust.STALE) else {"trust": Trust.CONTESTED.value}
    return _edited(card, data, {"importance": max(_LEAST, round(_importance(data) * _LEFT, 2)), **trust})


def corrected(card: Card, data: bytes, draft: Draft, now: datetime) -> tuple[Change, Change]:
    """The old memory, closed, and the new one that takes its place; raises UsageError if one has already."""
    taken = _meta(data).get("superseded_by")
    if taken:
        raise UsageError(f"{card.path} was corrected before, by {taken}: say what is right of that one.")
    old = _edited(card, data, {"valid_to": f"{now:%Y-%m-%dT%H:%M:%SZ}", "superseded_by": draft.id})
    text = markdown.edit(draft.data.decode("utf-8"), {"supersedes": [card.id]}, path=draft.path)
    return old, Change(draft.path, text.encode("utf-8"), memory=draft.id, label=draft.label)


def _edited(card: Card, data: bytes, changes: Mapping[str, Any]) -> Change:
    source = decode(data)
    text = markdown.edit(source.text, changes, path=card.path)
    return Change(card.path, encode(source, text), blob_id(data), card.id, card.label)


def _importance(data: bytes) -> float:
    return markdown.importance(_meta(data))


def _meta(data: bytes) -> Mapping[str, Any]:
    return markdown.parse(decode(data).text, "").meta
