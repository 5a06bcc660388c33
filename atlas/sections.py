"""The sections `## Summary` and `## Detail` of a note, and any other: found, written, exchanged, removed.

`## Detail` is everything else: it runs to the end of the body and may hold any Markdown. Every other section ends at
the next heading of its level or above, so lines of its text that would be such headings are written with a backslash
in front, and read without it.
"""

from __future__ import annotations

import re

from atlas.body import Heading, fences, headings, lined, plain
from atlas.source import NEWLINE

_SPACE = " \t\r\n"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")
#: A line that could end a section or swallow what follows it, behind any number of backslashes.
_RISKY = re.compile(r"([ \t]*)(\\*)(?:(?P<fence>`{3}|~{3})|#{1,2}(?:[ \t\r\n]|\Z)|(?:=+|-+)[ \t]*(?:[\r\n]|\Z))")


def trimmed(text: str) -> str:
    """The text without blank lines at its ends; spaces at the start of its first line and the end of its last stay."""
    first = len(text) - len(text.lstrip(_SPACE))
    start = max(text.rfind("\n", 0, first), text.rfind("\r", 0, first)) + 1
    return text[start : _last(text)] if first < len(text) else ""


def find(found: tuple[Heading, ...], name: str, length: int) -> tuple[Heading, int] | None:
    """The first `## name` (any case) and the offset where its text ends; `length` is that of the body."""
    wanted = name.casefold()
    for at, heading in enumerate(found):
        if heading.level == 2 and heading.text.casefold() == wanted:
            rest = () if wanted == "detail" else found[at + 1 :]
            return heading, next((h.start for h in rest if h.level <= 2), length)
    return None


def content(body: str, found: tuple[Heading, ...], name: str) -> str | None:
    """The text of a section without outer blank lines, or None where there is no such section."""
    place = find(found, name, len(body))
    if place is None:
        return None
    heading, end = place
    text = trimmed(body[heading.end : end])
    return text if name.casefold() == "detail" else unshielded(text)


def written(name: str, text: str, newline: str = "\n") -> str:
    """A section as it is written, without a newline at its end."""
    return f"## {name}{newline}{_inner(name, text)}".rstrip("\r\n")


def replaced(body: str, name: str, text: str, newline: str) -> str:
    """The body with the text of a section exchanged, or with the section added: before `## Detail`, else at the end.

    Blank lines around the old text stay, and so does a missing newline at the end of the file.
    """
    text = newlined(text, newline)
    found = headings(plain(body))
    place = find(found, name, len(body))
    if place is None:
        return _added(body, found, name, text, newline)
    heading, end = place
    region = body[heading.end : end]
    old, new = trimmed(region), _inner(name, text)
    if old == new:
        return body
    before = body[: heading.end]
    if old:
        at = region.index(old)
        return before + region[:at] + new + region[at + len(old) :] + body[end:]
    gap = "" if before[-1] in "\r\n" else newline
    tail = region or (newline if end < len(body) else "")
    return before + gap + new + newline + tail + body[end:]


def newlined(text: str, newline: str) -> str:
    """The text with one kind of newline."""
    return NEWLINE.sub(newline, text)


def removed(body: str, name: str) -> str:
    """The body without a section and its heading."""
    place = find(headings(plain(body)), name, len(body))
    if place is None:
        return body
    heading, end = place
    before, after = body[: heading.start], body[end:]
    if after:
        return before + after
    kept = _last(before)
    ended = NEWLINE.match(before, kept)
    return before[:kept] + (ended.group() if ended else "")


def shielded(text: str) -> str:
    """The text with a backslash before each line that would end a section; `unshielded` gives it back exactly."""
    text, opened = _unclosed_shielded(text)
    out = []
    for line, at, code in _lines(text):
        risky = None if code else _RISKY.match(line)
        if risky and at not in opened and (risky.group(2) or not risky["fence"]):
            line = risky.group(1) + "\\" + line[risky.end(1) :]  # noqa: PLW2901 - the line as written
        out.append(line)
    return "".join(out)


def unshielded(text: str) -> str:
    """The text without the backslashes that `shielded` adds."""
    if "\\" not in text:
        return text
    out = []
    for line, _, code in _lines(text):
        risky = None if code else _RISKY.match(line)
        plain_line = line[: risky.end(1)] + line[risky.end(1) + 1 :] if risky and risky.group(2) else line
        out.append(plain_line)
    return "".join(out)


def _unclosed_shielded(text: str) -> tuple[str, set[int]]:
    """The text with every code fence that is never closed made plain text, and the offsets of those lines."""
    opened: set[int] = set()
    while True:
        spans = fences(lined(text))
        if not spans or spans[-1][2]:
            return text, opened
        start = spans[-1][0]
        opened.add(start)
        at = start + len(text[start:]) - len(text[start:].lstrip(" \t"))
        text = text[:at] + "\\" + text[at:]


def _lines(text: str) -> list[tuple[str, int, bool]]:
    """(line with its newline, offset, whether it is in a code fence)."""
    spans = iter(fences(lined(text)))
    start, end, _ = next(spans, (len(text), len(text), True))
    out = []
    for match in _LINE.finditer(text):
        at = match.start()
        while end <= at < len(text) and start < len(text):
            start, end, _ = next(spans, (len(text), len(text), True))
        out.append((match.group(), at, start <= at))
    return out


def _last(text: str) -> int:
    """Where the last line that is not blank ends, before its newline."""
    ended = NEWLINE.search(text, len(text.rstrip(_SPACE)))
    return ended.start() if ended else len(text)


def _inner(name: str, text: str) -> str:
    text = trimmed(text)
    return text if name.casefold() == "detail" else shielded(text)


def _added(body: str, found: tuple[Heading, ...], name: str, text: str, newline: str) -> str:
    detail = find(found, "detail", len(body))
    section = written(name, text, newline)
    at = detail[0].start if detail else len(body)
    before, after = body[:at], body[at:]
    gap = newline * max(0, 2 - len(NEWLINE.findall(before, _last(before)))) if before else ""
    end = newline * 2 if after else "" if before and before[-1] not in "\r\n" else newline
    return before + gap + section + end + after
