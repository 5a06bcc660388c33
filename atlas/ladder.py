"""The ladder of forgetting: what is left of a memory on each rung, and the way back up. Pure.

    L2 everything ─► L1 label and summary ─► L0 the label, in `archive/` ─► tombstone, a line in `archive/tombstones/`

A memory that has stepped down says so in its metadata: `rung`, `forgotten` (the day), and `full`, the Git blob id of
what it was when everything was there. So the way back needs no search of history, and holds over renames and merges.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from atlas import markdown, merge
from atlas.errors import UsageError
from atlas.memory import Rung
from atlas.models import offline
from atlas.note import Note, split
from atlas.profiles import rung_of
from atlas.sections import find
from atlas.source import decode, encode, newline_of
from atlas.survey import blob_id

ARCHIVE, MEMORIES = "archive", "memories"
#: Metadata that speaks of words which are not there any more on the lowest rung.
_OF_THE_TEXT = ("entities", "digest")
#: A step that leaves more than this share of the text is none.
_WORTH = 0.85


def rung(note: Note) -> Rung:
    """The rung a note stands on: what its metadata says, unless somebody has written a detail since."""
    said = rung_of(note.meta)
    return Rung.L2 if find(note.headings, "detail", len(note.body)) else said


def below(data: bytes) -> Rung:
    """The next rung down at which a memory is smaller; raises NotText.

    One whose summary is its whole text steps from L2 to L0.
    """
    note = markdown.parse(decode(data).text, "")
    here = rung(note)
    if here == Rung.L0:
        return Rung.TOMBSTONE
    if here == Rung.L2 and len(_summary(note)) < _WORTH * len(markdown.original(note)):
        return Rung.L1
    return Rung.L0


def down(data: bytes, to: Rung, day: str) -> bytes:
    """The file on a lower rung (L1 or L0), as of an ISO day; raises NotText, Unparsable."""
    source = decode(data)
    note = markdown.parse(source.text, "")
    full = note.meta.get("full") if rung(note) != Rung.L2 else None
    changes = {"rung": str(to), "forgotten": day, "full": full if isinstance(full, str) and full else blob_id(data)}
    gone = {key: None for key in _OF_THE_TEXT if to == Rung.L0 and key in note.meta}
    text = markdown.edit(_cut(note, to), {**gone, **changes})
    return encode(source, text)


def _cut(note: Note, to: Rung) -> str:
    """The text without what the rung has not."""
    if to == Rung.L1 and find(note.headings, "detail", len(note.body)) and _has_summary(note):
        return markdown.remove_section(note.text, "Detail")
    body = markdown.compose(meta={}, label=note.title, summary=_summary(note) if to == Rung.L1 else "", detail="")
    # A text without metadata is composed with an empty block, and the note has its own.
    return note.head + split(body).body.replace("\n", newline_of(note.text))


def _has_summary(note: Note) -> bool:
    return find(note.headings, "summary", len(note.body)) is not None


def _summary(note: Note) -> str:
    return note.summary or offline.summary(markdown.original(note))


def up(present: bytes, full: bytes, path: str) -> bytes:
    """The memory with everything back that forgetting took, and with what was edited since; raises UsageError.

    A merge of three: what forgetting had left is what both the present text and the full one come from.
    """
    note = markdown.parse(decode(present).text, path)
    here, day = rung(note), note.meta.get("forgotten")
    if here == Rung.L2:
        return present
    base = down(full, here, day if isinstance(day, str) else "")
    merged = merge.merge(base, present, full, path)
    if merged.conflicts:
        raise UsageError(
            f"{path} was edited where it had been cut: see its old text with `atlas log`, and merge by hand."
        )
    return merged.data


def archived(path: str) -> str:
    """Where a memory lies once its label alone is left: in `archive`, within its scope.

    >>> archived("team/memories/2026/01/x.md"), archived("notes/x.md")
    ('team/archive/2026/01/x.md', 'notes/archive/x.md')
    """
    parts = list(PurePosixPath(path).parts)
    if ARCHIVE in parts[:-1]:
        return path
    if MEMORIES in parts[:-2]:
        parts[parts.index(MEMORIES)] = ARCHIVE
    else:
        parts.insert(len(parts) - 1, ARCHIVE)
    return "/".join(parts)


def home(path: str) -> str:
    """Where an archived memory lay before.

    >>> home("team/archive/2026/01/x.md"), home("notes/archive/x.md"), home("notes/x.md")
    ('team/memories/2026/01/x.md', 'notes/x.md', 'notes/x.md')
    """
    parts = list(PurePosixPath(path).parts)
    if ARCHIVE not in parts[:-1]:
        return path
    at = parts.index(ARCHIVE)
    if at == len(parts) - 2:
        del parts[at]
    else:
        parts[at] = MEMORIES
    return "/".join(parts)
