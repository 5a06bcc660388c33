"""Conversations in files: lines of JSON, a JSON array of messages, or an object with `messages`.

    {"role": "user", "content": "Hello"}          chat.jsonl: a message a line
    [{"role": "user", "content": "Hello"}]        chat.json
    {"messages": [{"role": "user", …}]}

What begins with no message is a text like any other. In a log of an agent, lines that are none are passed over; a last
line that is cut, because the log is still being written, is left for the next time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from atlas.errors import UsageError
from atlas.messages import Message, is_one, read

_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Chat:
    """The messages of a file, and what there is to say of it."""

    messages: tuple[Message, ...]
    said: tuple[str, ...] = ()


def parse(text: str, name: str = "", *, wanted: bool = False) -> Chat | None:
    """The conversation in the text of a file of this name; None if it is none. Raises UsageError for a broken one.

    `wanted`: it has to be one.
    """
    body = text.removeprefix("\ufeff")
    found = _lines(body) if _is_lined(body, name) else _whole(body)
    if found is None and wanted:
        raise UsageError(
            f"{name or 'This'} is no conversation: give a line of JSON for each message, with a `role` and a `content`."
        )
    return found


def _is_lined(body: str, name: str) -> bool:
    """Whether it is JSON line by line."""
    if PurePath(name).suffix.lower() in _LINES:
        return True
    first, _, rest = body.lstrip().partition("\n")
    return bool(rest.strip()) and first.startswith("{") and isinstance(_value(first), dict)


def _lines(body: str) -> Chat | None:
    """Lines of JSON; None if no line is a message."""
    lines = [(number, line) for number, line in enumerate(body.split("\n"), 1) if line.strip()]
    found: list[Message] = []
    others, torn, broken = 0, 0, 0
    for number, line in lines:
        value = _value(line)
        if value is None:
            cut = number == lines[-1][0] and not body.endswith("\n")
            torn, broken = (number, broken) if cut else (torn, broken or number)
        elif is_one(value):
            found += read([value])
        else:
            others += 1
    if not found:
        return None
    if broken:
        raise UsageError(f"Line {broken} is no JSON: repair it, or take it out, and nothing is stored until then.")
    return Chat(tuple(found), tuple(_passed(others, torn)))


def _passed(others: int, torn: int) -> Iterator[str]:
    if others:
        yield f"{others} line{' is no message and was' if others == 1 else 's are no messages and were'} left out."
    if torn:
        yield f"Line {torn}, the last, is cut and was left out: store the file again when it is whole."


def _whole(body: str) -> Chat | None:
    """One JSON value: a list of messages, or an object that has one."""
    if not body.lstrip().startswith(("[", "{")):
        return None
    value = _value(body)
    if isinstance(value, dict):
        value = [value] if is_one(value) and "messages" not in value else value.get("messages")
    if not isinstance(value, list) or not value or not is_one(value[0]):
        return None
    return Chat(tuple(read(value)))


def _value(text: str) -> Any:
    """The JSON value of a text; None if it is none, which no message is either."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
