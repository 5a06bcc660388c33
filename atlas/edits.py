"""Changes to notes that exist: planned here against the bytes that were read, made by the hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from atlas import markdown
from atlas.errors import Conflict, NotText, Unparsable
from atlas.ingest import clean_tags
from atlas.memory import Applied, Change, Finding
from atlas.source import decode, encode
from atlas.survey import blob_id

T = TypeVar("T")

#: An editor that saves every few seconds loses this race rarely, one that saves in a loop a few times in a row.
_ATTEMPTS = 10


def changes(paths: Sequence[str], read: Callable[[str], bytes], edit: Callable[[str], str]) -> list[Change]:
    """Each file with its text edited, in its own encoding; files the edit leaves as they are drop out."""
    found = [_change(path, read(path), edit) for path in paths]
    return [change for change in found if change is not None]


def _change(path: str, data: bytes, edit: Callable[[str], str]) -> Change | None:
    source = decode(data)
    try:
        text = edit(source.text)
    except Unparsable as err:
        raise Unparsable(path, err.line, err.reason) from None
    if text == source.text:
        return None
    return Change(path, encode(source, text), blob_id(data))


def append(old: str, text: str) -> str:
    """The text with a paragraph added at its end; what was there is not touched."""
    end = "\r\n" if "\r\n" in old else "\n"
    gap = "" if not old else end if old.endswith(("\n\n", "\r\n\r\n")) else end * (1 if old.endswith("\n") else 2)
    paragraph = text.strip("\r\n").replace("\r\n", "\n").replace("\n", end)
    return f"{old}{gap}{paragraph}{end}"


def tagged(old: str, tags: Sequence[str]) -> str:
    """The text with these tags in its metadata; raises UsageError for what can be no tag."""
    return markdown.add_to_list(old, "tags", clean_tags(tags))


def add_tags(joins: Mapping[str, Sequence[str]], read: Callable[[str], bytes]) -> list[Change]:
    """Tags for many files. One that cannot be read is left alone: a cluster is no reason to refuse a new memory."""
    out = []
    for path, tags in joins.items():
        try:
            out += changes([path], read, lambda old, tags=tags: tagged(old, tags))  # type: ignore[misc]
        except (Unparsable, NotText):
            continue
    return out


def adopt(
    paths: Sequence[str], read: Callable[[str], bytes], new_id: Callable[[], str]
) -> tuple[list[Change], list[Finding]]:
    """An id for every one of these files; those that cannot be edited safely are named and left alone."""
    made: list[Change] = []
    refused: list[Finding] = []
    for path in paths:
        try:
            id = new_id()
            found = changes([path], read, _giving(id))
            made += [replace(change, memory=id) for change in found]
        except Unparsable as err:
            refused.append(Finding(path, err.line, "frontmatter", err.reason))
        except NotText as err:
            refused.append(Finding(path, 0, "binary", err.reason))
    return made, refused


def _giving(id: str) -> Callable[[str], str]:
    return lambda text: markdown.edit(text, {"id": id})


def retried(attempt: Callable[[], Applied]) -> Applied:
    """Plan and apply again on the newer file while somebody else keeps changing it; raises the last Conflict."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return attempt()
        except Conflict:
            continue
    return attempt()
