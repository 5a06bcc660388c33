"""Any list of records in JSON: one on each line, or an array, or an object that holds one.

Fields are found by their usual names (`records.FIELDS`), or as `--map FIELD=COLUMN` says. A record that is a text is
that text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from atlas.errors import UsageError
from atlas.importers import Found, Skipped
from atlas.importers.given import HEAD, Given
from atlas.importers.jsons import MOST, TOO_LONG, first, objects, parsed
from atlas.importers.records import check_columns, is_record, requests

NAME = "jsonl"

_LISTS = ("memories", "records", "items", "results", "data", "entries", "notes", "facts")
#: A list of texts and nothing else.
_TEXTS = re.compile(r'\s*\[\s*"(?:[^"\\]|\\.)*"\s*[,\]]')
_ENDINGS = (".json", ".jsonl", ".ndjson")


def detect(given: Given) -> bool:
    """Whether a file that is given has records whose text is in a known column, or the one that was named."""
    if not given.is_file:
        return False
    if given.name.lower().endswith((".jsonl", ".ndjson")):
        return True
    record = first(given, given.name, *_LISTS)
    return is_record(record, given) if record else bool(_TEXTS.match(given.head(given.name)))


def read(given: Given) -> Iterator[Found | Skipped]:
    """Every record as a memory; raises UsageError for a conversation, which is read in another way."""
    check_columns(given)
    for name in given.files:
        if not name.lower().endswith(_ENDINGS) and not given.is_file:
            continue
        _refuse_messages(given, name)
        if _has_lines(given, name):
            yield from _lines(given, name)
        else:
            for number, row in enumerate(objects(given, name, *_LISTS, bare="text"), 1):
                yield from _record(row, given, f"{name}, record {number}")


def _record(row: dict[str, Any] | Skipped, given: Given, what: str) -> Iterator[Found | Skipped]:
    if isinstance(row, Skipped):
        yield row
    else:
        yield from requests(row, given, what)


def _refuse_messages(given: Given, name: str) -> None:
    record = first(given, name, *_LISTS)
    if "role" in record and "content" in record and not given.columns:
        raise UsageError(
            f"{given.name} holds the messages of a conversation: `atlas ingest --file {given.name}` reads it."
        )


def _has_lines(given: Given, name: str) -> bool:
    """Whether the first line is a record of its own."""
    head = given.head(name).lstrip()
    if name.lower().endswith((".jsonl", ".ndjson")):
        return not head.startswith("[")
    line, newline, rest = head.partition("\n")
    return line.startswith("{") and bool(newline) and rest.lstrip().startswith("{") and len(line) < HEAD


def _lines(given: Given, name: str) -> Iterator[Found | Skipped]:
    """The records of a file with one on each line."""
    with given.text(name) as stream:
        number = 0
        while line := stream.readline(MOST + 1):
            number += 1
            what = f"{name}, line {number}"
            if len(line) > MOST:
                yield Skipped(what, TOO_LONG)
                break
            if line.strip():
                yield from _record(parsed(line, what, bare="text"), given, what)
    if name in given.broken:
        yield Skipped(name, given.broken.pop(name))
