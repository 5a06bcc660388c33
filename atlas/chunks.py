"""Passages: a note cut into the pieces that are ranked. Pure functions on a parsed note.

A piece never exceeds `MAX_CHARS`, so nothing handed to a model is longer than it takes and the last paragraph of a
long note is found like the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from atlas.drift import State, state
from atlas.memory import CLUSTER_PREFIX
from atlas.note import KNOWN_KEYS, MARK, STEP_KEYS, Note

#: The size a piece is filled up to, and the size it never exceeds, in characters (about 150 and 250 English words).
FULL_CHARS = 900
#: Pieces of neighbouring sections that come to less than this together are one passage.
SHORT_CHARS = 600
MAX_CHARS = 1500

#: Headings of Atlas's own layout: they name the level of detail, not the subject.
_LAYOUT = frozenset({"summary", "detail"})
#: Fences whose content is data for a plugin, not words: drawings, stored queries.
_MACHINE_FENCE = re.compile(
    r"^(`{3,}|~{3,})[ \t]*(?:compressed-json|dataview|dataviewjs|query|tasks|leaflet)\b.*?^\1[ \t]*$",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
#: The digest beside a summary (see `drift`).
_DIGEST = re.compile(r"[0-9a-f]{8}-[0-9a-f]{8}")
#: The members of a cluster, listed on its page: found there, they would answer for the memories themselves.
_LISTED = re.compile(r"<!-- atlas:(summary|members|notes) -->.*?<!-- /atlas:\1 -->", re.DOTALL)
_DATA_URI = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,[A-Za-z0-9+/=\s]{40,}?(?=[)\"'>\s]|$)")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？…])\s+|\n+")
_BREAKS = (re.compile(r"\n[ \t]*\n"), re.compile(r"\n"), re.compile(r"(?<=[.!?。！？])\s*"), re.compile(r"\s+"))


@dataclass(frozen=True, slots=True)
class Chunk:
    """One passage; `seq` 0 is the note's names, its text begins at 1.

    `context` is searched with the text but not shown; `line` is its line in the file, from 1.
    """

    seq: int
    heading: str
    line: int
    context: str
    text: str

    @property
    def searched(self) -> str:
        """All the words by which this passage can be found."""
        return f"{self.context}\n{self.text}" if self.context else self.text


def split(note: Note) -> tuple[Chunk, ...]:
    """The passages of a note in reading order: its names first, then its text.

    A note of one passage has its names in that passage's context instead: as a passage of their own they stood
    between the turns of a conversation and cost .03 of recall there.
    """
    body = list(_joined(_sections(note)))
    names = _names(note, body[0][2] if body else "")
    if names and len(body) == 1:
        heading, line, text = body[0]
        return (Chunk(1, heading, line, f"{names}\n{heading}".rstrip(), text),)
    chunks = [Chunk(0, "", 1, "", names)] if names else []
    chunks += [Chunk(seq, heading, line, heading, text) for seq, (heading, line, text) in enumerate(body, 1)]
    return tuple(chunks)


def _names(note: Note, opening: str) -> str:
    """What the note is called and filed under; the title only if the text does not open with it."""
    parts = [] if opening.startswith(note.title) else [note.title]
    parts += [*note.aliases, *(t.replace("/", " ") for t in note.tags if not t.startswith(CLUSTER_PREFIX))]
    if note.summary and note.summary not in note.body:
        parts.append(note.summary)
    parts += [note.raw_head] if not note.readable else _values(note.meta)
    return "\n".join(dict.fromkeys(p for p in parts if p))[:MAX_CHARS]


def _values(meta: Mapping[str, Any]) -> list[str]:
    """What a person wrote under keys of their own (`author: …`); Atlas's keys are looked up, not searched."""
    atlas = KNOWN_KEYS | (STEP_KEYS if "rung" in meta else frozenset())
    own = (value for key, value in meta.items() if key.lower() not in atlas and not _DIGEST.fullmatch(str(value)))
    words = [value if isinstance(value, list) else [value] for value in own]
    return [word for group in words for word in group if isinstance(word, str)]


def _sections(note: Note) -> Iterator[tuple[str, int, str]]:
    """(heading path, line, piece) for every piece of text under every heading."""
    first_line = note.head.count("\n") + 1
    marks = [(0, 0, "")] + [(h.start, h.level, h.text) for h in note.headings]
    ends = [start for start, _, _ in marks[1:]] + [len(note.body)]
    path: list[tuple[int, str]] = []
    for (start, level, text), end in zip(marks, ends, strict=True):
        section = note.body[start:end]
        skip = 0
        if level:
            path = [(n, t) for n, t in path if n < level]
            if text.casefold() not in _LAYOUT and text != note.title:
                path.append((level, text))
            skip = _heading_length(section)
        if text.casefold() == "summary" and note.detail != note.body and _is_idle(note, section[skip:]):
            continue
        heading = " > ".join(t for _, t in path)
        for offset, piece in pieces(_words_only(section[skip:])):
            line = first_line + note.body.count("\n", 0, start + skip) + section[skip:].count("\n", 0, offset)
            yield heading, line, piece


def _joined(sections: Iterable[tuple[str, int, str]]) -> Iterator[tuple[str, int, str]]:
    """Short pieces brought together with the ones that follow, under their headings: a list of stubs is one passage."""
    last: tuple[str, int, str] | None = None
    for heading, line, text in sections:
        if last is not None and len(last[2]) + len(text) < SHORT_CHARS:
            own = heading.rpartition(" > ")[2] if heading != last[0] else ""
            last = (last[0], last[1], "\n".join(part for part in (last[2], own, text) if part))
            continue
        if last is not None:
            yield last
        last = (heading, line, text)
    if last is not None:
        yield last


def _is_idle(note: Note, summary: str) -> bool:
    """Whether a summary has no place among the passages: it repeats the detail, or was made of an older one."""
    return _repeats(summary, note.detail) or state(note) is State.STALE


def _repeats(summary: str, detail: str) -> bool:
    """Whether each sentence of the summary stands in the detail too: an extract is found there, and counts once."""
    there = " ".join(detail.split())
    return all(" ".join(part.split()) in there for part in _SENTENCE_END.split(summary.strip()))


def _heading_length(section: str) -> int:
    """Characters of the heading at the start of a section: one line, or two where it is underlined."""
    end = section.find("\n") + 1 or len(section)
    if section.startswith("#") or section.lstrip(" ").startswith("#"):
        return end
    return section.find("\n", end) + 1 or len(section)


def _words_only(text: str) -> str:
    """The text with drawings, embedded images, stored queries and the lists of a hub blanked, all else in its place."""
    if "<!-- /atlas:" in text:
        text = MARK.sub(_blank, _LISTED.sub(_blank, text))
    if "```" in text or "~~~" in text:
        text = _MACHINE_FENCE.sub(_blank, text)
    return _DATA_URI.sub(_blank, text) if ";base64," in text else text


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """(offset, piece) covering every word of the text, each at most MAX_CHARS long, cut where it hurts least."""
    offset = 0
    while offset < len(text):
        end = _cut(text, offset)
        piece = text[offset:end]
        if piece.strip():
            yield offset + len(piece) - len(piece.lstrip()), piece.strip()
        offset = end


def _cut(text: str, start: int) -> int:
    """Where the piece that begins at `start` ends: at a blank line, else a line, a sentence, a word, else anywhere."""
    if len(text) - start <= MAX_CHARS:
        return len(text)
    for pattern in _BREAKS:
        ends = [m.end() for m in pattern.finditer(text, start + FULL_CHARS // 3, start + MAX_CHARS)]
        ends = [e for e in ends if start < e < start + MAX_CHARS]
        if ends:
            return min(ends, key=lambda e: abs(e - start - FULL_CHARS))
    return start + FULL_CHARS
