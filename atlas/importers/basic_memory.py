"""A project of basic-memory: Markdown with `title`, `type`, `permalink` and `tags` in its metadata.

Observations (`- [category] text #tag (context)`) and relations (`- relation [[Target]]`) stay as they stand: their tags
and links count in Atlas too. `type` becomes the kind, the permalink the source; every other byte is as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from atlas.importers import File, Found, Skipped
from atlas.importers.given import Given
from atlas.importers.notes import files, keyed, meta_of, metas, word
from atlas.markdown import when

NAME = "basic-memory"

_KIND = re.compile(r"[^\w-]+")


def detect(given: Given) -> bool:
    """Whether most notes that have metadata have a permalink and a type or title; a publisher has only permalinks."""
    if given.is_file or given.hidden & {".obsidian", ".logseq"}:
        return False
    found = [meta for _, meta in metas(given) if meta]
    known = [meta for meta in found if word(meta.get("permalink")) and {"type", "title"} & meta.keys()]
    return bool(known) and len(known) * 2 >= len(found)


def read(given: Given) -> Iterator[Found | Skipped]:
    """Every note, with what Atlas reads of it in the metadata."""
    for found in files(given):
        if isinstance(found, Skipped):
            yield found
        else:
            yield from _note(found)


def _note(file: File) -> Iterator[File | Skipped]:
    meta = meta_of(file)
    kind = _KIND.sub("-", word(meta.get("type")).casefold()).strip("-")
    changes = {"source": f"{NAME}:{word(meta.get('permalink')) or file.path.removesuffix('.md')}"}
    if word(meta.get("source")):
        changes["original_source"] = word(meta["source"])
    if kind and not word(meta.get("kind")):
        changes["kind"] = kind
    created = next((v for key in ("created_at", "date") if when(v := word(meta.get(key)))), "")
    if created and not word(meta.get("created")):
        changes["created"] = created
    yield from keyed(file, changes)
