"""A table in CSV or TSV: the first row has the names of the columns, every other is a memory.

The columns are found by their usual names (`records.FIELDS`), or as `--map FIELD=COLUMN` says.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import islice

from atlas.errors import UsageError
from atlas.importers import Found, Skipped
from atlas.importers.given import Given
from atlas.importers.records import check_columns, is_record, requests

NAME = "csv"

#: Characters of the largest cell; the module's own limit, 131,072, is less than a long document.
MOST = 20_000_000
_ENDINGS = (".csv", ".tsv", ".tab")
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def detect(given: Given) -> bool:
    """Whether the file is called a table, or its first line names a column that is known or was asked for."""
    if not given.is_file:
        return False
    if given.name.lower().endswith(_ENDINGS):
        return True
    head = given.head(given.name)
    if head.lstrip()[:1] in ("", "{", "["):
        return False
    lines = head.splitlines()[:2]
    columns = next(csv.reader(lines, delimiter=_delimiter(given, given.name)), [])
    return len(lines) == 2 and len(columns) > 1 and is_record(dict.fromkeys(columns, "x"), given)


def read(given: Given) -> Iterator[Found | Skipped]:
    """Every row as a memory; raises UsageError when no column has the text."""
    check_columns(given)
    csv.field_size_limit(MOST)
    for name in given.files:
        if given.is_file or name.lower().endswith(_ENDINGS):
            yield from _rows(given, name)


def _rows(given: Given, name: str) -> Iterator[Found | Skipped]:
    with given.text(name) as stream:
        lines = csv.reader(stream, delimiter=_delimiter(given, name))
        columns = [column.strip().removeprefix("\ufeff") for column in next(lines, [])]
        _check_header(columns, given, name)
        while True:
            try:
                batch = list(islice(lines, 1))
            except csv.Error as err:
                yield Skipped(f"{name}, line {lines.line_num}", f"the row cannot be read ({err})")
                continue
            if not batch:
                break
            yield from _row(batch[0], columns, given, f"{name}, line {lines.line_num}")
    if name in given.broken:
        yield Skipped(name, given.broken.pop(name))


def _row(row: list[str], columns: list[str], given: Given, what: str) -> Iterator[Found | Skipped]:
    if not any(cell.strip() for cell in row):
        return
    if len(row) > len(columns):
        yield Skipped(what, "it has more cells than the table has columns")
    elif any(_NOT_UTF8.search(cell) for cell in row):
        yield Skipped(what, "it is not valid UTF-8")
    else:
        yield from requests(dict(zip(columns, row, strict=False)), given, what)


def _check_header(columns: list[str], given: Given, name: str) -> None:
    missing = [column for column in given.columns.values() if column not in columns]
    shown = ", ".join(filter(None, columns[:10])) or "none"
    if missing:
        raise UsageError(f"{name} has no column {missing[0]!r}: its columns are {shown}.")
    if not is_record(dict.fromkeys(columns, "x"), given):
        raise UsageError(
            f"No column of {name} is known to hold the text ({shown}): say which with `--map text=COLUMN`."
        )


def _delimiter(given: Given, name: str) -> str:
    """What parts the cells: by the ending, else the sign that is most often in the first line."""
    line = given.head(name).split("\n", 1)[0]
    if name.lower().endswith((".tsv", ".tab")):
        return "\t"
    return max(",;\t|", key=lambda sign: (line.count(sign), sign == ","))
