r"""JSON files of other programs, changed by a span: one entry put in or taken out, everything else left as typed.

>>> print(put('{\n  "a": 1\n}\n', ("b", "c"), 2), end="")
{
  "a": 1,
  "b": {
    "c": 2
  }
}
>>> taken(put('{"a": 1}', ("b", "c"), 2), ("b", "c"))
'{"a": 1}'
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.errors import UsageError

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_STEP = "  "


@dataclass(frozen=True, slots=True)
class _Member:
    """One entry of an object or a list: where it begins (its key, if it has one), and the span of its value."""

    key: str | None
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Container:
    """An object or a list: its members, and where it opens and closes."""

    start: int
    end: int
    members: tuple[_Member, ...]

    def member(self, key: str) -> _Member | None:
        """The entry of this key; the last one counts, as JSON readers have it."""
        return next((one for one in reversed(self.members) if one.key == key), None)


def parsed(text: str, name: str) -> dict[str, Any]:
    """The object that a file holds; raises UsageError for anything else, so that nobody edits what he cannot read."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as err:
        raise UsageError(f"{name} is not valid JSON ({err}): repair it by hand, then try again.") from None
    if not isinstance(found, dict):
        raise UsageError(f"{name} is not a JSON object: repair it by hand, then try again.")
    return found


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with this value at this path; objects on the way are made. Raises UsageError for one that is none."""
    box = _container(text, _Start)
    for depth, key in enumerate(path):
        found = box.member(key)
        if found is None:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return _added(text, box, key, value)
        if depth == len(path) - 1:
            if json.loads(text[found.value : found.end]) == value:
                return text
            return text[: found.value] + _spelled(text, value, _indent(text, found.start)) + text[found.end :]
        box = _inside(text, found, path[: depth + 1], "{")
    return text


def appended(text: str, path: Sequence[str], value: Any) -> str:
    """The text with this value at the end of the list at this path, which is made where there is none."""
    found = _found(text, path)
    if found is None:
        return put(text, path, [value])
    return _added(text, _inside(text, found, path, "["), None, value)


def taken(text: str, path: Sequence[str]) -> str:
    """The text without the entry at this path, and without the objects and lists that are empty then."""
    found = _found(text, path)
    if found is None:
        return text
    box = _container(text, _Start)
    for key in path[:-1]:
        box = _inside(text, box.member(key), path, "{")
    without = _removed(text, box, found)
    return _pruned(without, path[:-1])


def without(text: str, path: Sequence[str], ours: Callable[[Any], bool]) -> str:
    """The text without those entries of the list at this path; the list goes when it is empty then."""
    found = _found(text, path)
    if found is None or text[found.value] != "[":
        return text
    for place in reversed(range(len(_container(text, found.value).members))):
        box = _container(text, found.value)
        one = box.members[place]
        if ours(json.loads(text[one.value : one.end])):
            text = _removed(text, box, one)
    return _pruned(text, path)


# ------------------------------------------------------------------------ spans

_Start = -1


def _container(text: str, start: int) -> _Container:
    """The object or list that begins there; the whole text's object for `_Start`."""
    start = _past(text, 1 if text.startswith("\ufeff") else 0) if start == _Start else start
    at = _past(text, start + 1)
    members = []
    while text[at] not in "}]":
        begin, key = at, None
        if text[start] == "{":
            key, at = json.decoder.scanstring(text, at + 1)  # type: ignore[attr-defined]
            at = _past(text, _past(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        members.append(_Member(key, begin, at, end))
        at = _past(text, end)
        if text[at] == ",":
            at = _past(text, at + 1)
    return _Container(start, at, tuple(members))


def _past(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _found(text: str, path: Sequence[str]) -> _Member | None:
    box = _container(text, _Start)
    found = None
    for depth, key in enumerate(path):
        found = box.member(key)
        if found is None:
            return None
        if depth < len(path) - 1:
            box = _inside(text, found, path[: depth + 1], "{")
    return found


def _inside(text: str, found: _Member | None, path: Sequence[str], opens: str) -> _Container:
    if found is None or text[found.value] != opens:
        kind = "an object" if opens == "{" else "a list"
        raise UsageError(f"`{'.'.join(path)}` is not {kind} there: repair it by hand, then try again.")
    return _container(text, found.value)


# ----------------------------------------------------------------------- edits


def _added(text: str, box: _Container, key: str | None, value: Any) -> str:
    """The text with an entry behind the last one of a container, laid out as that one is."""
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if box.members:
        last = box.members[-1]
        gap = text[box.start + 1 : box.members[0].start]
        if "\n" not in gap:
            return f"{text[: last.end]}, {name}{json.dumps(value, ensure_ascii=False)}{text[last.end :]}"
        spelled = _spelled(text, value, _indent(text, last.start))
        return f"{text[: last.end]},{gap}{name}{spelled}{text[last.end :]}"
    newline = _newline(text)
    outer = _indent(text, box.start)
    spelled = _spelled(text, value, outer + _STEP)
    return f"{text[: box.start + 1]}{newline}{outer}{_STEP}{name}{spelled}{newline}{outer}{text[box.end :]}"


def _removed(text: str, box: _Container, one: _Member) -> str:
    """The text without one entry and the comma it needed."""
    place = box.members.index(one)
    if len(box.members) == 1:
        return text[: box.start + 1] + text[box.end :]
    if place == 0:
        return text[: one.start] + text[box.members[1].start :]
    return text[: box.members[place - 1].end] + text[one.end :]


def _pruned(text: str, path: Sequence[str]) -> str:
    """The text without the entry at this path, if that is empty, and so on upwards."""
    found = _found(text, path) if path else None
    return taken(text, path) if found and json.loads(text[found.value : found.end]) in ({}, []) else text


def _spelled(text: str, value: Any, indent: str) -> str:
    newline = _newline(text)
    return json.dumps(value, ensure_ascii=False, indent=_STEP).replace("\n", newline + indent)


def _indent(text: str, at: int) -> str:
    """The blank space that the line of this place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
