"""What is wrong with a note's bytes, and what a change to them forgot. Pure; loads neither DuckDB nor NumPy.

The commit hook stands on this, so it must be quick to import: a commit waits for it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from atlas.credentials import find_secrets
from atlas.errors import NotText
from atlas.memory import Finding
from atlas.note import Note, parse
from atlas.sections import find
from atlas.source import decode

#: Findings of a note's text that make a commit hook refuse; the others are said by `status` only.
BLOCKING = frozenset({"frontmatter", "stacked-frontmatter", "conflict-markers", "conflict-value"})
#: Findings that are said and stop nothing.
WARNINGS = frozenset({"summary-drift", "stale-summary"})

#: A ULID, in Crockford's alphabet (no I, L, O, U), whose first letter holds three bits; or the identity a note had
#: before it had an id, which moving it writes down.
_ID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}|n[a-z2-7]{15}", re.IGNORECASE)
#: What looks like a ULID that lost or gained a letter, or is no word at all.
_DAMAGED = re.compile(r"^[0-9A-Za-z]{22,30}$|\s")
#: An id of another scheme: many people number their notes, and a vault that does so may go on.
FOREIGN = "foreign-id"
#: Scripts without spaces count letter by letter.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
#: A text has drifted from its summary when so many words, and this share of the longer version, came or went.
_DRIFT_WORDS, _DRIFT_SHARE = 20, 0.3


@dataclass(frozen=True, slots=True)
class Checked:
    """A note's findings, and the id it says it has ("" for none)."""

    findings: tuple[Finding, ...]
    id: str = ""


def check(path: str, data: bytes, most: int, before: bytes | None = None) -> Checked:
    """What is wrong with a note of at most `most` bytes. `before` is the version it replaces, as far as there is one.

    An id that is no ULID is named unless the note had it before.
    """
    if len(data) > most:
        size = f"{len(data) / 1e6:.1f} MB, over the limit of {most / 1e6:g} MB"
        return Checked((Finding(path, 0, "oversized", size),))
    try:
        note = parse(decode(data).text, path)
    except NotText as err:
        return Checked((Finding(path, 0, "binary", err.reason),))
    old = _readable(before, most)
    found = [Finding(path, f.line, f.kind, f.message) for f in note.findings if f.kind in BLOCKING]
    found += [Finding(path, n, "secret", f"looks like a credential ({kind})") for n, kind in find_secrets(note.text)]
    found += [*_broken_id(path, note, old), *(_drift(path, old, note) if old else ())]
    id = note.meta.get("id", "")
    return Checked(tuple(found), id if isinstance(id, str) else "")


def _readable(data: bytes | None, most: int) -> Note | None:
    if data is None or len(data) > most:
        return None
    try:
        return parse(decode(data).text, "")
    except NotText:
        return None


def _broken_id(path: str, note: Note, old: Note | None) -> list[Finding]:
    """The finding for an `id:` that is none, or a damaged one, or of a scheme other than Atlas's, if it is new."""
    id = note.meta.get("id", "")
    if not note.readable or id == "" or (isinstance(id, str) and is_id(id)):
        return []
    if old is not None and old.meta.get("id") == id:
        return []
    line = next((n for n, text in enumerate(note.raw_head.splitlines(), 2) if text.startswith("id")), 1)
    if isinstance(id, str) and not _DAMAGED.search(id):
        said = "the id is no ULID, and no other note has such ids; remove the line, and `atlas adopt` gives it one"
        return [Finding(path, line, FOREIGN, said)]
    return [Finding(path, line, "id", "the id is no ULID; remove the line, and `atlas adopt` gives the note an id")]


def is_id(text: str) -> bool:
    """Whether this is an id of Atlas's own.

    >>> is_id("01JDXK3Q8ZV5T9W2M4N6P8R0S1"), is_id("202601151030")
    (True, False)
    """
    return bool(_ID.fullmatch(text))


def _drift(path: str, old: Note, new: Note) -> list[Finding]:
    """The finding for a text that became another while the summary above it stayed."""
    if not new.summary or new.summary != old.summary:
        return []
    was, now = (Counter(_WORD.findall(_told(note))) for note in (old, new))
    changed = max(((now - was).total(), (was - now).total()))
    if changed < max(_DRIFT_WORDS, _DRIFT_SHARE * max(was.total(), now.total())):
        return []
    place = find(new.headings, "summary", len(new.body))
    said = f"the text changed ({changed} words), its summary did not; see whether it still holds"
    return [Finding(path, place[0].line if place else 1, "summary-drift", said)]


def _told(note: Note) -> str:
    """The text that a summary sums up."""
    place = find(note.headings, "summary", len(note.body))
    if place is None or find(note.headings, "detail", len(note.body)):
        return note.detail
    return note.body[: place[0].start] + note.body[place[1] :]
