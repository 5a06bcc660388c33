"""The JSON bundle: every memory byte for byte in one file, to carry between vaults."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from atlas import markdown
from atlas.errors import AtlasError, UsageError
from atlas.memory import Change, Finding
from atlas.paths import check_path
from atlas.survey import blob_id

FORMAT, VERSION = "atlas-bundle", 1
#: Why most memories of a bundle imported twice are skipped.
HERE = "it is here already"
_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Item:
    """One memory of a bundle: where it lay, its id, its bytes."""

    path: str
    id: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """What an import would write, and what it leaves out, with the reason."""

    changes: tuple[Change, ...]
    skipped: tuple[Finding, ...]


def dump(items: Iterable[Item], exported: str) -> str:
    """The bundle as JSON text. Content is kept as text where that is lossless, else in base64."""
    memories = [{"id": i.id, "path": i.path, **_content(i.data), **_readable(i)} for i in items]
    bundle = {"format": FORMAT, "version": VERSION, "exported": exported, "memories": memories}
    text = json.dumps(bundle, ensure_ascii=False, indent=1) + "\n"
    # Half a surrogate pair, from a file name that is not UTF-8, cannot stand in a UTF-8 file; its escape can.
    return _LONE.sub(lambda m: f"\\u{ord(m.group()):04x}", text)


def load(data: str | bytes) -> list[Item]:
    """The memories of a bundle; raises UsageError if it is not one. Bytes may be UTF-8, -16 or -32, and have a BOM."""
    try:
        bundle = json.loads(data.removeprefix("\ufeff") if isinstance(data, str) else data)
    except (ValueError, RecursionError) as err:
        raise UsageError(f"The file is not JSON ({err}): name a bundle that `atlas export` wrote.") from None
    if not isinstance(bundle, dict) or bundle.get("format") != FORMAT:
        raise UsageError(
            'The file is not an Atlas bundle (no `"format": "atlas-bundle"`): name one `atlas export` wrote.'
        )
    if bundle.get("version") != VERSION:
        raise UsageError(f"The bundle has version {bundle.get('version')}, this Atlas reads {VERSION}: update Atlas.")
    try:
        return [Item(str(m["path"]), str(m.get("id", "")), _data(m)) for m in bundle["memories"]]
    except (KeyError, TypeError, ValueError) as err:
        raise UsageError(f"The bundle is damaged ({type(err).__name__}: {err}): export it again.") from None


def plan(
    items: Iterable[Item],
    *,
    overwrite: bool,
    by_id: Callable[[str], str],
    read: Callable[[str], bytes | None],
    taken: Callable[[str], bool],
) -> Plan:
    """What to write. `by_id` gives the path of an id or "", `read` a path's bytes, `taken` whether a name is in use."""
    changes: dict[str, Change] = {}
    claimed: dict[str, str] = {}
    skipped = []
    for item in items:
        try:
            change, reason = _plan_one(item, overwrite, by_id, read, lambda p: p in changes or taken(p))
            id = markdown.written_id(item.data) if change else ""
        except AtlasError as err:
            change, reason, id = None, str(err), ""
        if change and change.path in changes:
            change, reason = None, "the bundle names it twice"
        if change and id in claimed:
            change, reason = None, f"{claimed[id]} has its id: remove the `id:` line from one of them and export again"
        if change is None:
            skipped.append(Finding(item.path, 0, "skipped", reason))
            continue
        changes[change.path] = change
        if id:
            claimed[id] = item.path
    return Plan(tuple(changes.values()), tuple(skipped))


def _plan_one(
    item: Item,
    overwrite: bool,
    by_id: Callable[[str], str],
    read: Callable[[str], bytes | None],
    taken: Callable[[str], bool],
) -> tuple[Change | None, str]:
    """The change for one memory, or None and why not."""
    check_path(item.path, existing=True)
    written = markdown.written_id(item.data)
    path = (by_id(written) if written else "") or item.path
    there = read(path)
    if there == item.data:
        return None, HERE
    if there is None and not taken(path):
        return Change(path, item.data, None, item.id), ""
    same = there is not None and bool(written) and markdown.written_id(there) == written
    if there is not None and overwrite and (same or not written):
        return Change(path, item.data, blob_id(there), item.id), ""
    if same:
        return None, "a different version is here; `--mode overwrite` replaces it"
    free = _beside(path, item.data, taken, read)
    return (Change(free, item.data, None, item.id), "") if free else (None, HERE)


def _beside(path: str, data: bytes, taken: Callable[[str], bool], read: Callable[[str], bytes | None]) -> str:
    """The path with the first number behind its name that nobody has; "" if one of those before holds these bytes.

    Without that, each time the same bundle was imported a note without an id came once more.
    """
    place = PurePosixPath(path)
    number = 2
    while taken(candidate := str(place.with_name(f"{place.stem}-{number}{place.suffix}"))):
        if read(candidate) == data:
            return ""
        number += 1
    return candidate


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _data(memory: Mapping[str, Any]) -> bytes:
    if "text" in memory:
        return str(memory["text"]).encode("utf-8", "surrogatepass")
    return base64.b64decode(memory["base64"], validate=True)


def _readable(item: Item) -> dict[str, Any]:
    """What other programs want of a memory without parsing Markdown."""
    try:
        note = markdown.parse(markdown.decode(item.data).text, item.path)
    except AtlasError:
        return {}
    return {"label": note.title, "summary": note.summary, "tags": list(note.tags), "meta": dict(note.meta)}
