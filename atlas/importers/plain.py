"""What `atlas export --format json` writes: an array of memories, each with its path, metadata and text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from atlas import markdown
from atlas.errors import AtlasError
from atlas.importers import File, Found, Skipped
from atlas.importers.given import Given
from atlas.importers.jsons import first, objects

NAME = "json"

_KEYS = frozenset({"id", "path", "label", "summary", "detail", "meta"})


def detect(given: Given) -> bool:
    """Whether the first record has what every memory of Atlas has."""
    return given.is_file and first(given, given.name).keys() >= _KEYS


def read(given: Given) -> Iterator[Found | Skipped]:
    """Every memory as the file it was."""
    for name in given.files:
        for number, record in enumerate(objects(given, name), 1):
            yield record if isinstance(record, Skipped) else _file(record, f"{name}, record {number}")


def _file(record: Mapping[str, Any], what: str) -> Found | Skipped:
    """The file a memory was: its metadata as it was typed, unless somebody has changed what it says since."""
    path, detail, meta, head = (record.get(key) for key in ("path", "detail", "meta", "frontmatter"))
    if not isinstance(path, str) or not path:
        return Skipped(what, "it has no path")
    if record.get("unreadable"):
        return Skipped(path, "it was not text")
    if not isinstance(detail, str) or not isinstance(meta, dict):
        return Skipped(path, "it has no text (`detail`) or no metadata (`meta`)")
    try:
        typed = isinstance(head, str) and dict(markdown.parse(head + detail, path).meta) == meta
        text = f"{head}{detail}" if typed else markdown.joined(meta, detail)
    except AtlasError as err:
        return Skipped(path, str(err))
    return File(path, text.encode("utf-8", "replace"), placed=True)
