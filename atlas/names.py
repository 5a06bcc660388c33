"""What a query names: notes by their title, alias, file name, path or id, exactly; never by the beginning of one.

The whole query may be a name, in quotes or as `[[Name]]`; within a longer query only `[[Name]]` is one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from atlas.keys import handle
from atlas.rank import Voice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import duckdb
    from numpy.typing import NDArray

    from atlas.live import Filters
    from atlas.rows import Answering, Rows

#: No name is longer, in characters.
_LONGEST = 300
#: What a note is worth that a longer query mentions, beside one that the whole query names.
_MENTION = 0.125
#: And one of that name in other case, accents or spacing, beside one that is spelled so: `Rose` asked for as `Rosé`.
_FOLDED = 0.95
_LINK = r"!?\[\[([^\[\]\n|#]+)(?:#[^\[\]\n|]*)?(?:\|[^\[\]\n]*)?\]\]"
_QUOTES = "\"'`“”„‘’«»‹›「」"


@dataclass(frozen=True, slots=True)
class Named:
    """The notes a query names: what that says of them, and the paths of those that share a name."""

    voice: Voice
    ambiguous: tuple[str, ...]


def read(text: str) -> dict[str, float]:
    """The names in a query, and what each is worth: 1 for the whole of it.

    >>> read("“Boiler”"), read("[[Boiler#Valve|it]]"), read("who made [[Boiler]]?")
    ({'Boiler': 1.0}, {'Boiler': 1.0}, {'who made [[Boiler]]?': 1.0, 'Boiler': 0.125})
    """
    whole = text.strip()
    if not whole:
        return {}
    found: dict[str, float] = {}
    link = re.fullmatch(_LINK, whole) if "[[" in whole else None
    if link:
        return {link.group(1).strip(): 1.0}
    if len(whole) <= _LONGEST:
        found[whole] = 1.0
        if whole[0] in _QUOTES and whole.strip(_QUOTES + " "):
            found = {whole.strip(_QUOTES + " "): 1.0}
    if "[[" in whole:
        found |= {name.strip(): _MENTION for name in re.findall(_LINK, whole) if name.strip()}
    return found


def named(
    con: duckdb.DuckDBPyConnection, rows: Rows, text: str, filters: Filters, paths: NDArray[np.int64]
) -> Named | None:
    """The live notes that a query names; `paths` are their path keys. None if it names none of them."""
    asked = read(text)
    worth = {handle(name): value for name, value in sorted(asked.items(), key=lambda item: item[1])}
    known = rows.answering(list(worth))
    found = _answering(con, known, {name.lower(): handle(name) for name in asked if _is_id(name)}, filters)
    value_of, sharing = dict[int, float](), dict[int, set[str]]()
    for number, path_key, path, title in found:
        spelled = any(name in {title, path, PurePosixPath(path).stem} for name in asked)
        value_of[path_key] = max(worth[number] * (1 if spelled else _FOLDED), value_of.get(path_key, 0))
        sharing.setdefault(number, set()).add(path)
    places = np.flatnonzero(np.isin(paths, list(value_of))) if value_of else ()
    if not len(places):
        return None
    said = np.array([value_of[int(paths[place])] for place in places], np.float32)
    clashes = {path for sharers in sharing.values() if len(sharers) > 1 for path in sharers}
    return Named(Voice("names", np.asarray(places, np.int32), said), tuple(sorted(clashes)))


def _answering(
    con: duckdb.DuckDBPyConnection, known: Answering, ids: Mapping[str, int], filters: Filters
) -> list[tuple[int, int, str, str]]:
    """(handle, path key, path, title) of every live note with one of these handles or ids."""
    if not any(known) and not ids:
        return []
    where, values = filters.sql()
    notes, keys = ({number for _, number in side} for side in known)
    rows = con.execute(
        f"SELECT l.note, l.path_key, l.path, n.label, lower(l.ident) FROM {filters.table} l JOIN notes n USING (note) "
        f"WHERE {where} AND (l.note IN ({_listed(notes)}) OR l.path_key IN ({_listed(keys)}) "
        f"OR lower(l.ident) IN ({', '.join('?' * len(ids)) or 'NULL'}))",
        [*values, *ids],
    ).fetchall()
    by_note, by_key = dict[int, list[int]](), dict[int, list[int]]()
    for side, answers in zip(known, (by_note, by_key), strict=True):
        for name, number in side:
            answers.setdefault(number, []).append(name)
    found = []
    for note, path_key, path, title, ident in rows:
        names = {*by_note.get(note, []), *by_key.get(path_key, []), *([ids[ident]] if ident in ids else [])}
        found += [(name, path_key, path, title) for name in names]
    return found


def _is_id(name: str) -> bool:
    """Whether a text can be an id: a ULID, or one that was derived (see `identity`)."""
    return len(name) in {16, 26} and name.isascii() and name.isalnum()


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers))) or "NULL"
