"""A graph of Logseq: `pages/` and `journals/`, outlines with `key:: value` properties.

What Atlas can use of the properties of a page (`title`, `alias`, `tags`, `type`, `created-at`) and the day of a journal
go into metadata above it; below that every byte is as it was. A page without any of these comes byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from atlas import markdown, note
from atlas.errors import NotText
from atlas.importers import File, Found, Skipped
from atlas.importers.given import Given
from atlas.importers.jsons import moment
from atlas.importers.notes import files, keyed, names
from atlas.importers.records import tags

NAME = "logseq"

_PROPERTY = re.compile(r"(?:-[ \t]+|[ \t]+)?([A-Za-z][\w./-]*)::[ \t]*(.*)")
_DAY = re.compile(r"(\d{4})[-_.](\d\d)[-_.](\d\d)")
_LINKED = re.compile(r"\[\[([^\[\]]+)\]\]|#\[\[([^\[\]]+)\]\]|([^,\[\]]+)")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def detect(given: Given) -> bool:
    """Whether there are pages or journals beside the settings of Logseq, or both without them."""
    if given.is_file:
        return False
    tops = {name.partition("/")[0] for name in names(given)}
    settings = "logseq/config.edn" in given.files
    return {"pages", "journals"} <= tops or (settings and bool(tops & {"pages", "journals"}))


def read(given: Given) -> Iterator[Found | Skipped]:
    """Every page and journal; Logseq's own settings are left out."""
    for found in files(given):
        if isinstance(found, File) and found.path.startswith(("pages/", "journals/")):
            yield from _page(found)
        elif isinstance(found, Skipped) or not found.path.startswith("logseq/"):
            yield found


def _page(file: File) -> Iterator[File | Skipped]:
    try:
        text = markdown.decode(file.data).text
    except NotText:
        yield file
        return
    known = markdown.parse(text, file.path).meta
    changes = {key: value for key, value in _meta(file.path, text).items() if value and key not in known}
    if changes:
        yield from keyed(file, changes, own=True)
    else:
        yield file


def _meta(path: str, text: str) -> dict[str, Any]:
    """The metadata that a page's place and properties stand for."""
    said = properties(text)
    stem = PurePosixPath(path).stem
    meta: dict[str, Any] = {}
    day = _day(stem) if path.startswith("journals/") else None
    named = unquote(stem.replace("___", "/"))
    if said.get("title"):
        meta["title"] = said["title"]
    elif day is None and named != stem:
        meta["title"] = named
    aliases = _items(said.get("alias") or said.get("aliases", ""))
    if day:
        meta["created"] = day.isoformat()
        aliases = [*aliases, f"{_MONTHS[day.month - 1]} {_ordinal(day.day)}, {day.year}"]
    else:
        created = moment(said.get("created-at", ""))
        meta["created"] = created.date().isoformat() if created else ""
        meta["kind"] = re.sub(r"[^\w-]+", "-", "".join(_items(said.get("type", ""))).casefold()).strip("-")
    meta["aliases"] = aliases
    meta["tags"] = list(tags([item.lstrip("#") for item in _items(said.get("tags", ""))]))
    return meta


def properties(text: str) -> Mapping[str, str]:
    r"""The properties of a page: the lines `key:: value` it begins with, as its first block too.

    >>> dict(properties("title:: Boiler\nalias:: heater, [[Old one]]\n\n- text\n  id:: 1"))
    {'title': 'Boiler', 'alias': 'heater, [[Old one]]'}
    """
    found: dict[str, str] = {}
    for line in note.split(text).body.removeprefix("\ufeff").split("\n"):
        match = _PROPERTY.fullmatch(line.rstrip("\r"))
        if match:
            found.setdefault(match[1].casefold(), match[2].strip())
        elif line.strip() or found:
            break
    return found


def _items(value: str) -> list[str]:
    """The parts of a property: `a, [[b, c]], #d`."""
    parts = (one or two or three for one, two, three in _LINKED.findall(value))
    return [part.strip().lstrip("#").strip() for part in parts if part.strip(" #")]


def _day(stem: str) -> date | None:
    match = _DAY.fullmatch(stem)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def _ordinal(day: int) -> str:
    ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"
