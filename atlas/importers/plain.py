"""What `atlas export --format json` writes: an array of memories, each with its path, metadata and text in plain JSON.

`file` has the whole file where metadata and text alone would not give it back.
"""

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
    path, text = record.get("path"), record.get("file")
    if not isinstance(path, str) or not path:
        return Skipped(what, "it has no path")
    if not isinstance(text, str):
        meta, detail = record.get("meta"), record.get("detail")
        if not isinstance(meta, dict) or not isinstance(detail, str):
            return Skipped(path, "it has no text (`detail`) or no metadata (`meta`)")
        try:
            text = markdown.joined(meta, detail)
        except AtlasError as err:
            return Skipped(path, str(err))
    return File(path, text.encode("utf-8", "replace"), placed=True)
