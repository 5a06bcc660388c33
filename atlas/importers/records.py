"""Records of named fields as memories: which name means which field, in tables and in lists of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from atlas.errors import UsageError
from atlas.importers import Skipped
from atlas.importers.given import Given
from atlas.importers.jsons import moment, text_of
from atlas.ingest import Request
from atlas.markdown import text_key
from atlas.memory import HUB

#: The names a field goes by, the surest first, as `_plain` writes them. The first that has a value counts.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "content", "memory", "body", "note", "fact", "statement", "pagecontent", "value", "document"),
    "label": ("label", "title", "heading", "subject", "name"),
    "kind": ("kind", "type", "memorytype"),
    "tags": ("tags", "tag", "categories", "labels", "keywords", "category"),
    "created": ("created", "createdat", "createtime", "timestamp", "datetime", "date", "time", "addedat"),
    "id": ("id", "uuid", "key", "memoryid", "recordid"),
    "source": ("source", "origin", "url", "uri", "link"),
    "importance": ("importance", "salience"),
    "valid_from": ("validfrom", "validat"),
}
#: Where exports keep what else they know of a record.
_NESTED = ("metadata", "meta", "payload", "properties")
_TAG = re.compile(r"[\s,#\[\]]+")
_KIND = re.compile(r"[\w-]{1,40}")


def requests(record: Mapping[str, Any], given: Given, what: str) -> Iterator[Request | Skipped]:
    """The memory a record is; `what` names it in the report. A field that cannot be used is named and left out."""
    columns = _columns(record, given)
    values = {name: _value(record, names) for name, names in columns.items()}
    text = text_of(values["text"])
    if not text:
        yield Skipped(what, "it has no text")
        return
    created = moment(values["created"])
    if created is None and values["created"] not in (None, ""):
        yield Skipped(what, "its date was not understood, so it counts as of today", kept=True)
    kind = text_of(values["kind"]).casefold()
    valid = moment(values["valid_from"])
    yield Request(
        text,
        kind=kind if _KIND.fullmatch(kind) and kind != HUB else None,
        label=text_of(values["label"]) or None,
        tags=tags(values["tags"]),
        importance=_importance(values["importance"]),
        created=created,
        source=_source(values, text, given),
        valid_from=valid.isoformat().replace("+00:00", "Z") if valid else None,
        whole=True,
    )


def tags(value: Any) -> tuple[str, ...]:
    """The tags of a field: a list, or text with commas or semicolons between; spaces within one become hyphens."""
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            value = value.strip("[] ")
    words = value if isinstance(value, list) else re.split(r"[,;]", value) if isinstance(value, str) else []
    found = (_TAG.sub("-", text_of(word)).strip("-") for word in words)
    return tuple(dict.fromkeys(filter(None, found)))


def check_columns(given: Given) -> None:
    """Raise UsageError for a field that `--map` names and that is none."""
    for name in given.columns:
        if name not in FIELDS:
            raise UsageError(f"{name!r} is no field of a memory: `--map` takes {', '.join(FIELDS)}.")


def is_record(record: Mapping[str, Any], given: Given) -> bool:
    """Whether a record has a text in a column that is known."""
    return bool(text_of(_value(record, _columns(record, given)["text"])))


def _columns(record: Mapping[str, Any], given: Given) -> dict[str, tuple[str, ...]]:
    """For each field the keys of this record to look at, in order: the one that was named, else those known."""
    by_plain: dict[str, list[str]] = {}
    for key in record:
        by_plain.setdefault(_plain(key), []).append(key)
    taken = {*given.columns.values()}
    found = {}
    for name, known in FIELDS.items():
        keys = [key for plain in known for key in by_plain.get(plain, ()) if key not in taken]
        found[name] = (given.columns[name],) if name in given.columns else tuple(keys) or tuple(known)
    return found


def _value(record: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    """The first value of the record that is not empty, else of what it holds of itself below `metadata`."""
    nested = [value for name in _NESTED if isinstance(value := record.get(name), dict)]
    for holder in (record, *nested):
        for key in keys:
            value = _at(holder, key)
            if value not in (None, "", [], {}):
                return value
    return None


def _at(record: Mapping[str, Any], key: str) -> Any:
    """The value of a key, or of `a.b` below another."""
    if key in record:
        return record[key]
    head, dot, rest = key.partition(".")
    below = record.get(head)
    return _at(below, rest) if dot and isinstance(below, dict) else None


def _source(values: Mapping[str, Any], text: str, given: Given) -> str:
    """Where a record comes from, and which it is there: its own id, else what stands for its words."""
    where = " ".join(text_of(values["source"]).split()) or given.name
    id = text_of(values["id"]) or text_key(text)[:12]
    return f"{where}#{id}"


def _importance(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if 0 <= number <= 1 else None


def _plain(name: Any) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).casefold())
