"""Tool memories: what worked with a tool and what failed, one for each tool and lesson, counted. Pure.

    pytest: worked: run it with -n 2        tool: pytest, worked: 1
    pytest: worked: run it with -n 2        worked: 2, nothing more is stored
    pytest: failed: run it with -n 2        failed: 1, in the same memory: both are true of the lesson

The counts stand in the metadata and, for whoever reads, in the summary. A summary that a person changed stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from atlas import markdown
from atlas.errors import NotText, Unparsable
from atlas.source import decode, encode

KIND = "tool"
WORKED, FAILED = "worked", "failed"
#: A label is one line of at most so many characters.
_LABEL_CHARS = 120
#: So many places a lesson was learned at are kept, the newest; one that is told again from there is not counted again.
_MOST_SOURCES = 50

_FORM = re.compile(
    r"\s*(?P<tool>[^\s:][^:\n]{0,79}?)\s*:\s*(?P<outcome>worked|failed)\s*:\s*(?P<lesson>\S.*)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What became of one use of a tool."""

    tool: str
    outcome: str
    lesson: str

    @property
    def text(self) -> str:
        """What is remembered of it, however it went."""
        return f"{self.tool}: {self.lesson}"

    @property
    def label(self) -> str:
        """The same on one short line."""
        flat = " ".join(self.text.split())
        return flat if len(flat) <= _LABEL_CHARS else flat[: _LABEL_CHARS - 1].rsplit(" ", 1)[0] + "…"

    @property
    def key(self) -> str:
        """What tells that it is the same tool and lesson."""
        return markdown.text_key(self.text)


def read(text: str) -> Lesson | None:
    """The lesson of a text, or None if it has not this form.

    >>> read("pytest: failed: -n 16 runs out of memory")
    Lesson(tool='pytest', outcome='failed', lesson='-n 16 runs out of memory')
    """
    found = _FORM.fullmatch(text.strip())
    return Lesson(found["tool"], found["outcome"].lower(), found["lesson"].rstrip()) if found else None


def meta(lesson: Lesson, source: str | None) -> dict[str, Any]:
    """The keys of a lesson that was learned once."""
    return {"tool": lesson.tool, lesson.outcome: 1, **({"sources": [source]} if source else {})}


def summary(worked: int, failed: int, last: str = "") -> str:
    """The counts in words.

    >>> summary(3, 1, "2026-11-30")
    'Worked 3 times, failed once; last on 2026-11-30.'
    """
    said = [f"{word} {_times(number)}" for word, number in ((WORKED, worked), (FAILED, failed)) if number]
    text = ", ".join(said).capitalize() or "Not tried yet"
    return f"{text}; last on {last}." if last else f"{text}."


def counted(data: bytes, lesson: Lesson, source: str | None, now: datetime) -> bytes | None:
    """The file of a lesson with one more use; None where it is known already, or cannot be written."""
    try:
        read_ = decode(data)
        note = markdown.parse(read_.text, "")
        known = _sources(note.meta)
        if source and _covered(source, known):
            return None
        before = _counts(note.meta)
        after = {**before, lesson.outcome: before[lesson.outcome] + 1}
        last = f"{now:%Y-%m-%d}"
        more = {"sources": [*known, source][-_MOST_SOURCES:]} if source else {}
        text = markdown.edit(read_.text, {lesson.outcome: after[lesson.outcome], "last": last, **more})
        if note.summary == summary(before[WORKED], before[FAILED], str(note.meta.get("last") or "")):
            text = markdown.replace_section(text, "Summary", summary(after[WORKED], after[FAILED], last))
        return encode(read_, text)
    except (NotText, Unparsable):
        return None


def _counts(said: Mapping[str, Any]) -> dict[str, int]:
    return {name: int(value) if (value := str(said.get(name, "0"))).isdecimal() else 0 for name in (WORKED, FAILED)}


def _sources(said: Mapping[str, Any]) -> list[str]:
    """Where it was learned. The one that stands in `source` is among them."""
    listed = said.get("sources")
    found = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    first = said.get("source")
    return found or ([first] if isinstance(first, str) else [])


def _covered(source: str, known: Collection[str]) -> bool:
    """Whether a lesson from there is known: from that very place, or from all turns of a conversation it names.

    A conversation that is read again may be cut otherwise, and names a part of the turns it named before.
    """
    talk, mark, turns = source.partition("#")
    told = {turn for one in known for turn in one.partition("#")[2].split(",") if one.startswith(f"{talk}#")}
    return source in known or (bool(mark) and told.issuperset(turns.split(",")))


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")
