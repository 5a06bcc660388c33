"""Records of JSON files of any size, one after the other: a damaged one is named, and the next one read.

A file is never held as a whole. Where a record ends is told by its brackets, so its neighbours do not depend on it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from io import TextIOBase
from typing import Any

from atlas.dates import when
from atlas.importers import Skipped
from atlas.importers.given import Given

#: Characters of the largest record that is read; the longest conversations have a few millions.
MOST = 64_000_000
#: After so many records in a row that are none, a file is something else.
MOST_WRONG = 1000
_PIECE = 1 << 20
_SPACE = re.compile(r"[\s,]*")
_SIGN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|["{}\[\]]', re.DOTALL)
_BARE = re.compile(r"[^\s,:\[\]{}\"]+")
_KEY = re.compile(r'\s*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_HALF = re.compile("[\ud800-\udfff\0]")
#: Seconds and milliseconds since 1970 are told apart here (the year 5138 in seconds, 1973 in milliseconds).
_MILLIS = 1e11

CUT = "the file ends in the middle of it: export it again"
TOO_LONG = f"it has over {MOST // 1_000_000} million characters, or its brackets do not match: what follows is not read"


def objects(given: Given, name: str, *lists: str, bare: str = "") -> Iterator[dict[str, Any] | Skipped]:
    """The records of a JSON file: the elements of its array, of the first such `lists` in its object, or the object.

    What is no object, or cannot be read, is `Skipped` with its number, counted from 1. A record that is a text and
    nothing else is one with that text in the field `bare`, if there is one.
    """
    number, wrong = 0, 0
    with given.text(name) as stream:
        for element in _Scanner(stream).elements(lists):
            number += 1
            found = element if isinstance(element, dict) else parsed(element, f"{name}, record {number}", bare)
            yield found
            wrong = wrong + 1 if isinstance(found, Skipped) else 0
            if wrong == MOST_WRONG:
                yield Skipped(name, f"{MOST_WRONG} records in a row could not be read: what follows is not looked at")
                break
    if name in given.broken:
        yield Skipped(name, given.broken.pop(name))


def parsed(text: str, what: str, bare: str = "") -> dict[str, Any] | Skipped:
    """One object from its text."""
    if text in (CUT, TOO_LONG):
        return Skipped(what, text)
    if _NOT_UTF8.search(text):
        return Skipped(what, "it is not valid UTF-8")
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return Skipped(what, "it is not valid JSON")
    if bare and isinstance(value, str):
        return {bare: value}
    return value if isinstance(value, dict) else Skipped(what, "it is no object with named fields")


def first(given: Given, name: str, *lists: str) -> dict[str, Any]:
    """What the first record shows within the beginning of a file, as far as it can be read: for telling formats apart.

    A record that is longer than that is known by the keys that are there, their values unread.
    """
    head = given.head(name).lstrip()
    for key in lists:
        match = re.match(rf'\{{(?:[^\[\]]*,)?\s*"{key}"\s*:\s*\[', head)
        head = head[match.end() - 1 :] if match else head
    at = head.find("{")
    if head[:1] not in ("[", "{") or at < 0 or head[1:at].strip():
        return {}
    return _shown(head, at)


def clean(text: str) -> str:
    """The text without what no file can hold: half a surrogate pair, left where an emoji was cut, and NUL."""
    return _HALF.sub("\ufffd", text)


def text_of(value: Any) -> str:
    """The text of a field that should be one, "" for all else; numbers are text in many exports."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return clean(str(value)).strip()


def moment(value: Any) -> datetime | None:
    """The time of a field: seconds or milliseconds since 1970, or ISO 8601; None for all else."""
    if isinstance(value, str):
        text = value.strip()
        if not re.fullmatch(r"\d{9,13}(?:\.\d*)?", text):
            return when(text.removesuffix(" UTC"))
        value = float(text)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        return None
    try:
        return datetime.fromtimestamp(value / 1000 if value > _MILLIS else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _shown(head: str, at: int) -> dict[str, Any]:
    """The keys of the object that begins at `at`, with those values that end within `head`."""
    found: dict[str, Any] = {}
    decoder = json.JSONDecoder(strict=False)
    at += 1
    while match := _KEY.match(head, at):
        try:
            key = json.loads(match[1])
            found[key] = None
            found[key], at = decoder.raw_decode(head, match.end())
        except (ValueError, RecursionError):
            break
        comma = re.compile(r"\s*,").match(head, at)
        if not comma:
            break
        at = comma.end()
    return found


class _Scanner:
    """Cuts a stream of JSON into the texts of its records."""

    def __init__(self, stream: TextIOBase) -> None:
        self._stream, self._buffer, self._at = stream, "", 0
        self._moved = 0
        self._ended = self._over = False

    def elements(self, lists: tuple[str, ...]) -> Iterator[str | dict[str, Any]]:
        """The text of each record; a lone object comes as it is."""
        self._skip_space()
        opening = self._here()
        if opening == "[":
            self._at += 1
            yield from self._array()
        elif opening == "{":
            self._at += 1
            yield from self._object(lists)
        elif opening:
            yield "?"

    def _array(self) -> Iterator[str]:
        while True:
            self._skip_space()
            if self._here() == "]":
                self._at += 1
                return
            text = self._value()
            yield text
            if text in (CUT, TOO_LONG):
                self._over = True
                return

    def _object(self, lists: tuple[str, ...]) -> Iterator[str | dict[str, Any]]:
        """The elements of the lists of an object, or the object itself where it has none of them."""
        fields: dict[str, Any] = {}
        listed = False
        while True:
            self._skip_space()
            if self._here() == "}":
                break
            name = self._value()
            self._skip_space(":")
            if json_text(name) in lists and self._here() == "[":
                listed = True
                self._at += 1
                yield from self._array()
                if self._over:
                    return
                continue
            value = self._value()
            if CUT in (name, value) or TOO_LONG in (name, value):
                yield value if value in (CUT, TOO_LONG) else name
                return
            fields[json_text(name)] = _loaded(value)
        if fields and not listed:
            yield fields

    def _value(self) -> str:
        """The text of the value that begins here, or why it cannot be read."""
        start, depth = self._at, 0
        if self._here() not in ('"', "{", "["):
            return self._word()
        at = start
        while True:
            match = _SIGN.search(self._buffer, at)
            if match is None or match.group() == '"':  # a string that goes on beyond the buffer is read again with more
                at = match.start() if match else len(self._buffer)
                if len(self._buffer) - start > MOST:
                    return TOO_LONG
                if not self._more():
                    return CUT
                at, start = at - self._moved, start - self._moved
                continue
            at = match.end()
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match.group(), 0)
            if depth <= 0:
                self._at = at
                return self._buffer[start:at]

    def _word(self) -> str:
        """A number, `true` or what stands in their place; a sign that belongs nowhere is passed over."""
        while True:
            match = _BARE.match(self._buffer, self._at)
            unfinished = match.end() == len(self._buffer) if match else self._at >= len(self._buffer)
            if not unfinished or not self._more():
                break
        if match:
            self._at = match.end()
            return match.group()
        self._at += 1
        return CUT if self._at > len(self._buffer) else "?"

    def _here(self) -> str:
        while self._at >= len(self._buffer):
            if not self._more():
                return ""
        return self._buffer[self._at]

    def _skip_space(self, also: str = "") -> None:
        while True:
            match = _SPACE.match(self._buffer, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._buffer):
                if also and self._buffer[self._at] == also:
                    self._at, also = self._at + 1, ""
                    continue
                return
            if not self._more():
                return

    def _more(self) -> bool:
        """Read on; what lies before the value at hand is let go. A long value doubles what is read at once."""
        if self._ended:
            self._moved = 0
            return False
        piece = self._stream.read(max(_PIECE, len(self._buffer) - self._at))
        self._ended = not piece
        self._buffer, self._moved = self._buffer[self._at :] + piece, self._at
        self._at = 0
        return bool(piece)


def json_text(text: str) -> str:
    """The string a piece of JSON stands for, or ""."""
    value = _loaded(text)
    return value if isinstance(value, str) else ""


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
