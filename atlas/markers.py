"""The marks of an unfinished merge in a text: found, read and written.

    │ <<<<<<< one version         a block of lines, as every editor knows it; `|||||||` and a base may stand in between
    │ …
    │ =======
    │ …
    │ >>>>>>> another version

    │ # conflict: importance: 0.6        a line of metadata: what the key above or below also was

Metadata with the first kind in it cannot be read, and the note is lost to everything that reads; so a value that two
versions changed differently keeps one of them, and the other stands above it as a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from atlas.body import fences, lined

#: The words behind the marks. Neither side is "ours": both directions of a merge give the same bytes.
ONE, TWO = "one version", "another version"
#: What begins a comment in metadata that holds the other value.
COMMENT = "# conflict: "
#: The marks that every editor and Git itself know have this many signs.
SIZE = 7

_COMMENT = re.compile(rf"^[ \t]*{COMMENT}", re.MULTILINE)
_OPENING = re.compile(r"^(<{7,})(?: [^\n]*)?(?:\n|\Z)", re.MULTILINE)
_NOT_NEWLINE = re.compile(r"[^\n]")


@dataclass(frozen=True, slots=True)
class Hunk:
    """One block of marks in a text: its place, and what stands in it. `base` is None where none is written."""

    start: int
    end: int
    one: str
    base: str | None
    two: str


def hunks(text: str, *, head: int = 0) -> tuple[Hunk, ...]:
    """Every block of marks, first to last. Offsets count characters of `text`.

    An example inside a code block that is closed is no merge. The first `head` characters are metadata, where there
    is no code.
    """
    if "<<<<<<<" not in text:
        return ()
    lines = lined(text)
    prose = lines[:head] + _without_code(lines[head:])
    found: list[Hunk] = []
    opening = _OPENING.search(prose)
    while opening:
        hunk = _hunk(text, lines, opening)
        if hunk:
            found.append(hunk)
        opening = _OPENING.search(prose, hunk.end if hunk else opening.end())
    return tuple(found)


def openings(text: str, size: int, *, head: int = 0) -> tuple[int, ...]:
    """Where blocks of this many signs, as `block` writes them, begin outside closed code."""
    mark = re.compile(rf"^<{{{size}}} {ONE}$", re.MULTILINE)
    lines = lined(text)
    return tuple(match.start() for match in mark.finditer(lines[:head] + _without_code(lines[head:])))


def comments(raw: str) -> tuple[int, ...]:
    """The offsets of lines of metadata that hold the other value of a key."""
    return tuple(match.start() for match in _COMMENT.finditer(lined(raw))) if COMMENT in raw else ()


def size_for(texts: Iterable[str]) -> int:
    """How many signs marks need so that no line of these texts, an old mark or an underline, is taken for one."""
    together = "\n".join(map(lined, texts))
    size = SIZE
    while re.search(rf"^(?:[<>|]{{{size}}}(?: |$)|={{{size}}} *$)", together, re.MULTILINE):
        size += 1
    return size


def block(one: str, two: str, size: int = SIZE) -> str:
    """The lines of two versions between marks; both end with a line feed, or are empty."""
    return f"{'<' * size} {ONE}\n{one}{'=' * size}\n{two}{'>' * size} {TWO}\n"


def blanked(lines: str) -> str:
    """The text with every line that is a mark made blank, so that `=======` does not underline a heading.

    `lines` has one kind of newline.
    """
    if "<<<<<<<" not in lines:
        return lines
    out, seen = [], 0
    for hunk in hunks(lines):
        block = lines[hunk.start : hunk.end]
        out += [lines[seen : hunk.start], re.sub(r"^[<=>|]{7,}(?: [^\n]*)?$", _spaces, block, flags=re.MULTILINE)]
        seen = hunk.end
    return "".join([*out, lines[seen:]])


def _spaces(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _without_code(lines: str) -> str:
    """The text with closed code blocks blanked. One never closed may have swallowed a real mark."""
    out, seen = [], 0
    for start, end, closed in fences(lines):
        if closed:
            out += [lines[seen:start], _NOT_NEWLINE.sub(" ", lines[start:end])]
            seen = end
    return "".join([*out, lines[seen:]])


def _hunk(text: str, lines: str, opening: re.Match[str]) -> Hunk | None:
    """The block that begins here, if it is whole: marks of the same length, in order."""
    size = len(opening.group(1))
    middle = re.compile(rf"^={{{size}}} *(?:\n|\Z)", re.MULTILINE).search(lines, opening.end())
    if not middle:
        return None
    closing = re.compile(rf"^>{{{size}}}(?: [^\n]*)?(?:\n|\Z)", re.MULTILINE).search(lines, middle.end())
    if not closing:
        return None
    base = re.compile(rf"^\|{{{size}}}(?: [^\n]*)?\n", re.MULTILINE).search(lines, opening.end(), middle.start())
    one_ends = base.start() if base else middle.start()
    return Hunk(
        opening.start(),
        closing.end(),
        text[opening.end() : one_ends],
        text[base.end() : middle.start()] if base else None,
        text[middle.end() : closing.start()],
    )
