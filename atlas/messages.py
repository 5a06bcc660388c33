"""Messages of a conversation, as chat interfaces spell them, and what of one is words.

OpenAI's and Anthropic's dicts, LangChain's and LlamaIndex's objects, and lines of JSON all become `Message`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from atlas.dates import when
from atlas.errors import UsageError

#: Roles, and the other words for them that programs write.
USER, ASSISTANT, SYSTEM, TOOL = "user", "assistant", "system", "tool"
_ROLES = {
    **{name: name for name in (USER, ASSISTANT, SYSTEM, TOOL)},
    "human": USER,
    "ai": ASSISTANT,
    "model": ASSISTANT,
    "chatbot": ASSISTANT,
    "developer": SYSTEM,
    "function": TOOL,
}
_TIMES = ("time", "timestamp", "created_at", "create_time", "date")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that an assistant asked for: its name, its arguments as JSON text, the id its answer refers to."""

    name: str
    arguments: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """What was said at once. `speaker` is a name, "" where only the role is known; `time` is in UTC.

    `tool` names the tool whose answer this is, `answers` the id of the call; `failed` says it reported an error.
    """

    role: str
    text: str
    time: datetime | None = None
    speaker: str = ""
    id: str = ""
    calls: tuple[Call, ...] = ()
    tool: str = ""
    answers: str = ""
    failed: bool = False

    @property
    def who(self) -> str:
        """Who says it: a name, else the role."""
        return self.speaker or self.role


def read(given: Iterable[Message | Mapping[str, Any] | Any]) -> list[Message]:
    """The messages; raises UsageError for what is none, naming which."""
    return [message(one, place) for place, one in enumerate(given, 1)]


def message(given: Message | Mapping[str, Any] | Any, place: int = 1) -> Message:
    """One message, from a Message, a mapping, or an object with `role` or `type`, and `content`.

    >>> message({"role": "human", "content": [{"type": "text", "text": "Hello"}], "name": "Ana"})
    Message(role='user', text='Hello', time=None, speaker='Ana', id='', calls=(), tool='', answers='', failed=False)
    """
    if isinstance(given, Message):
        return given
    fields = given if isinstance(given, Mapping) else _fields(given)
    role = str(getattr(fields.get("role"), "value", fields.get("role")) or fields.get("type") or "").casefold()
    speaker = str(fields.get("name") or fields.get("speaker") or "")
    content = fields.get("content", fields.get("text"))
    if role not in _ROLES and not speaker and not role:
        raise UsageError(f"Message {place} has no role: give each message a `role` and a `content`.")
    tool = _ROLES.get(role) == TOOL
    return Message(
        role=_ROLES.get(role, USER),
        text=words(content),
        time=_time(fields),
        # A role that is nobody's ("Melanie") is a name: dialogues between people are written so.
        speaker="" if tool else speaker or ("" if role in _ROLES else str(fields.get("role"))),
        id=str(fields.get("id") or ""),
        calls=_calls(fields, content),
        tool=speaker if tool else "",
        answers=str(fields.get("tool_call_id") or ""),
        failed=bool(fields.get("is_error")) or fields.get("status") == "error",
    )


def words(content: Any) -> str:
    """The words of a content: a text, or the text blocks of a list."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        kind = content.get("type", "text")
        return str(content.get("text") or "") if kind in ("text", "input_text", "output_text") else ""
    if isinstance(content, Sequence):
        return "\n".join(filter(None, map(words, content)))
    text = getattr(content, "text", None)
    return text if isinstance(text, str) else ""


def _fields(given: Any) -> Mapping[str, Any]:
    names = ("role", "type", "content", "text", "name", "id", "tool_calls", "tool_call_id", "status", *_TIMES)
    return {name: value for name in names if (value := getattr(given, name, None)) is not None}


def _time(fields: Mapping[str, Any]) -> datetime | None:
    value = next((fields[name] for name in _TIMES if fields.get(name) not in (None, "")), None)
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    found = value if isinstance(value, datetime) else when(str(value))
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)


def _calls(fields: Mapping[str, Any], content: Any) -> tuple[Call, ...]:
    """Tool calls as OpenAI, LangChain and Anthropic spell them."""
    found = []
    blocks = content if isinstance(content, list) else []
    for call in [*(fields.get("tool_calls") or []), *blocks]:
        if not isinstance(call, Mapping) or (call in blocks and call.get("type") != "tool_use"):
            continue
        function = call.get("function") or call
        arguments = function.get("arguments", function.get("args", function.get("input", "")))
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        found.append(Call(str(function.get("name") or ""), text, str(call.get("id") or "")))
    return tuple(found)
