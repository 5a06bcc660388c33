"""Summary drift: whether a label and a summary still tell of the text they were made from. Pure.

Beside them stands what they were made from, in one key of the metadata:

    digest: 1f0c9a7e-52d0b3aa        of the detail, and of the label with the summary

The second half says whose words they are. While it fits, the summary is as Atlas wrote it and may be written anew; once
a person has changed a word of it, it is theirs for good. A note without the key is nobody's business here.
"""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum

from atlas import markdown
from atlas.sections import find

#: The key of the metadata.
KEY = "digest"
#: The kind of the finding; it stops nothing.
FINDING = "stale-summary"

_FORM = re.compile(r"([0-9a-f]{8})-([0-9a-f]{8})")


class State(StrEnum):
    """How a summary stands to its detail: of no record or no detail, as made, behind it, in a person's own words."""

    NONE = "none"
    FRESH = "fresh"
    STALE = "stale"
    REWRITTEN = "rewritten"


def digest(label: str, summary: str, detail: str) -> str:
    r"""The value of the key for these texts. Spacing does not count: an editor that trims lines says nothing new.

    >>> digest("Valve", "It leaks.", "It leaks.  Daily.") == digest("Valve", "It leaks.", "It leaks.\nDaily.")
    True
    """
    return f"{_hash(detail)}-{_hash(label, summary)}"


def state(note: markdown.Note) -> State:
    """How the note's summary stands to its detail now."""
    value = note.meta.get(KEY)
    made = _FORM.fullmatch(value) if isinstance(value, str) else None
    if made is None or not find(note.headings, "detail", len(note.body)):
        return State.NONE
    now = _FORM.fullmatch(_of(note))
    if now is None or now[2] != made[2]:
        return State.REWRITTEN
    return State.FRESH if now[1] == made[1] else State.STALE


def findings(note: markdown.Note, path: str) -> tuple[markdown.Finding, ...]:
    """What is to be said of it: that the summary is behind its text."""
    if state(note) is not State.STALE:
        return ()
    place = find(note.headings, "summary", len(note.body))
    line = place[0].line if place else 1
    return (markdown.Finding(path, line, FINDING, "the text changed since; `atlas maintain` sums it up again"),)


def stamped(text: str, *, path: str = "note") -> str:
    """The text with the key set to what its label and summary are now; unchanged where there is no detail.

    For whoever has just written the summary from the detail. Raises Unparsable when the metadata cannot be read.
    """
    note = markdown.parse(text, path)
    if not find(note.headings, "detail", len(note.body)):
        return text
    return markdown.edit(text, {KEY: _of(note)}, path=path)


def _of(note: markdown.Note) -> str:
    return digest(note.title, note.summary, note.detail)


def _hash(*texts: str) -> str:
    """Of words, as `text_key` compares them, each text for itself."""
    keys = "".join(map(markdown.text_key, texts))
    return hashlib.sha256(keys.encode()).hexdigest()[:8]
