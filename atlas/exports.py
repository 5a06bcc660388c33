"""Memories for programs and people that know nothing of Atlas: plain records in JSON, plain Markdown files."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from atlas import markdown
from atlas.bundle import Item
from atlas.errors import NotText, UsageError

#: Keys of the metadata that stand beside it too, under their own name, where they are there.
_SHOWN = ("created", "updated", "importance", "source", "trust", "valid_from", "valid_to", "entities", "aliases")
_LONE = re.compile("[\ud800-\udfff]")
#: The oldest time a zip archive can give its files: the same for all, so that the same memories are the same bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_json(items: Iterable[Item], stream: BinaryIO) -> None:
    """Write an array with one record on each line, each as soon as it is read."""
    before = b"[\n"
    for item in items:
        text = json.dumps(record(item), ensure_ascii=False, allow_nan=False)
        stream.write(before + _LONE.sub(lambda m: f"\\u{ord(m.group()):04x}", text).encode("utf-8"))
        before = b",\n"
    stream.write(b"\n]\n" if before == b",\n" else b"[]\n")


def record(item: Item) -> dict[str, Any]:
    """One memory as plain values. `detail` is its whole body, `links` the names it leads to.

    `frontmatter` is its metadata as it was typed, which `meta` has as values: with `detail` it is the file again.
    """
    try:
        text = markdown.decode(item.data).text
    except NotText:
        return {"id": item.id, "path": item.path, "label": "", "summary": "", "detail": "", "kind": "note", "tags": [],
                "links": [], "meta": {}, "frontmatter": "", "unreadable": "it is not text"}  # fmt: skip
    note = markdown.parse(text, item.path)
    meta = dict(note.meta)
    return {
        "id": item.id,
        "path": item.path,
        "label": note.title,
        "summary": note.summary,
        "detail": note.body,
        "kind": _word(meta.get("kind")) or "note",
        "tags": list(note.tags),
        **{key: meta[key] for key in _SHOWN if meta.get(key) not in (None, "", [])},
        "links": list(dict.fromkeys(markdown.targets(note))),
        "meta": meta,
        "frontmatter": note.head,
    }


def write_zip(items: Iterable[Item], stream: BinaryIO) -> None:
    """Write the files, byte for byte under their own paths, as a zip archive."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for item in items:
            info = zipfile.ZipInfo(item.path, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o100644 << 16
            archive.writestr(info, item.data)


def check_folder(place: Path, root: Path) -> None:
    """Raise UsageError unless a folder can be made there without touching a file that is there, outside the vault."""
    if place.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{place} lies in the vault, where the files would be memories again: name a folder outside.")
    if place.is_file() or (place.is_dir() and any(place.iterdir())):
        raise UsageError(
            f"{place} is there and not empty: name a folder that is new or empty, or a file ending in .zip."
        )


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
