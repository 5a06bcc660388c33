"""Messages of a conversation, however a chat interface spells them, and what of one is words.

OpenAI chat         {"role", "content", "tool_calls": [{"function": {"name", "arguments"}}]}
OpenAI Responses    {"type": "function_call", "name", "arguments", "call_id"} beside {"role", "content": [blocks]}
Anthropic           {"role", "content": [{"type": "text" | "tool_use" | "tool_result", …}]}
LangChain           objects with `type` and `content`, and both forms it writes them in
LlamaIndex          objects with `role` and `blocks`
Pydantic-AI         {"kind": "request" | "response", "parts": [{"part_kind", …}]}
Gemini              {"role", "parts": [{"text" | "functionCall" | "functionResponse"}]}
logs of agents      {"type", "timestamp", "message": {one of the above}}
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from atlas.dates import when
from atlas.errors import UsageError
from atlas.timewords import spans

#: Roles, and the other words for them that programs write.
USER, ASSISTANT, SYSTEM, TOOL = "user", "assistant", "system", "tool"
_ROLES = {
    **{name: name for name in (USER, ASSISTANT, SYSTEM, TOOL)},
    "human": USER,
    "request": USER,
    "ai": ASSISTANT,
    "bot": ASSISTANT,
    "model": ASSISTANT,
    "chatbot": ASSISTANT,
    "response": ASSISTANT,
    "developer": SYSTEM,
    "function": TOOL,
    "tool_result": TOOL,
    "function_call_output": TOOL,
    "function_call": ASSISTANT,
}
_TIMES = ("time", "timestamp", "created_at", "create_time", "created", "date", "ts")
#: What an object is asked for: the fields of a mapping.
_NAMES = (
    *("role", "type", "kind", "block_type", "part_kind", "content", "text", "blocks", "parts", "name", "speaker", "id"),
    *(
        "tool_calls",
        "tool_call_id",
        "tool_name",
        "call_id",
        "status",
        "output",
        "arguments",
        "args",
        "input",
        "function",
    ),
    *("additional_kwargs", *_TIMES),
)
#: Blocks that are words, that are calls, and that are answers to calls.
_WORDS = frozenset({"text", "input_text", "output_text", "user-prompt", "refusal"})
_CALLS = frozenset({"tool_use", "tool_call", "tool-call", "function_call", "server_tool_use"})
_ANSWERS = frozenset({"tool_result", "tool-return", "retry-prompt", "function_call_output"})
#: From this number on a time is given in milliseconds: in seconds it would be the year 5138.
_MILLISECONDS = 1e11


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
    """The messages; raises UsageError for what is none, naming which. One with answers of tools in it is several."""
    if isinstance(given, str | bytes | Mapping):
        raise UsageError("Messages are a list, each with a `role` and a `content`.")
    return [found for place, one in enumerate(given, 1) for found in several(one, place)]


def message(given: Message | Mapping[str, Any] | Any, place: int = 1) -> Message:
    """One message, from a Message, a mapping, or an object with `role` or `type`, and `content`.

    >>> message({"role": "human", "content": [{"type": "text", "text": "Hello"}], "name": "Ana"})
    Message(role='user', text='Hello', time=None, speaker='Ana', id='', calls=(), tool='', answers='', failed=False)
    """
    return several(given, place)[-1]


def several(given: Message | Mapping[str, Any] | Any, place: int = 1) -> list[Message]:
    """The messages in one item of a list: answers of tools that stand in it come first, then what is said."""
    if isinstance(given, Message):
        return [given]
    fields = _unwrapped(given if isinstance(given, Mapping) else _fields(given))
    role, speaker = _who(fields, place)
    content = _content(fields)
    time, id = _time(fields, place), str(fields.get("id") or fields.get("uuid") or "")
    if role == TOOL:
        return [_answer(fields, content, speaker, time, id)]
    blocks = content if isinstance(content, list) else []
    answers = [
        replace(_answer(_fielded(block), _content(_fielded(block)), "", time, ""), id=f"{id}/{n}" if id else "")
        for n, block in enumerate(blocks, 1)
        if _kind(block) in _ANSWERS
    ]
    calls = _calls(fields, blocks)
    if any(_kind(block) == "system-prompt" for block in blocks) and not words(content).strip():
        role = SYSTEM
    said = Message(role, words(content), time, speaker, id, calls)
    return [*answers, said] if said.text.strip() or calls or not answers else answers


def is_one(given: Any) -> bool:
    """Whether a JSON value has the shape of a message."""
    if not isinstance(given, Mapping):
        return False
    try:
        fields = _unwrapped(given)
        role, speaker = _who(fields, 0)
    except UsageError:
        return False
    told = any(name in fields for name in ("content", "text", "parts", "blocks", "tool_calls", "output", "arguments"))
    return bool(told and (role or speaker))


def words(content: Any) -> str:
    """The words of a content: a text, or the text blocks of a list."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        said = content.get("text", content.get("content")) if _kind(content) in _WORDS else ""
        return said if isinstance(said, str) else words(said) if isinstance(said, list) else ""
    if isinstance(content, Sequence):
        return "\n".join(filter(None, map(words, content)))
    return words(_fielded(content)) if not isinstance(content, int | float | bool) else ""


def _kind(block: Any) -> str:
    """What kind of block this is; a text without more is text."""
    if isinstance(block, str):
        return "text"
    fields = _fielded(block)
    found = fields.get("type") or fields.get("block_type") or fields.get("part_kind")
    if found:
        return str(found)
    for name, kind in (("functionCall", "tool_use"), ("functionResponse", "tool_result"), ("text", "text")):
        if name in fields:
            return kind
    return ""


def _fielded(block: Any) -> Mapping[str, Any]:
    """The fields of a block, with those of Gemini's calls and answers in their place."""
    if not isinstance(block, Mapping):
        return _fields(block)
    inner = block.get("functionCall") or block.get("functionResponse")
    return {**block, **inner, "content": inner.get("response")} if isinstance(inner, Mapping) else block


def _unwrapped(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a message that stands inside something: a line of a log, a form it was written in."""
    if isinstance(inner := fields.get("message"), Mapping) and "content" in inner:
        outer = {name: fields[name] for name in _TIMES if name in fields}
        return {**inner, **outer, "id": fields.get("uuid") or fields.get("id") or inner.get("id")}
    if isinstance(inner := fields.get("data"), Mapping) and "content" in inner:
        return {"type": fields.get("type"), **inner}
    if isinstance(inner := fields.get("kwargs"), Mapping) and isinstance(fields.get("id"), list):
        name = str(fields["id"][-1]).removesuffix("Chunk").removesuffix("Message").casefold()
        return {**inner, "type": name}
    return fields


def _who(fields: Mapping[str, Any], place: int) -> tuple[str, str]:
    """(role, name). A role that is nobody's ("Melanie") is a name: dialogues between people are written so."""
    given = fields.get("role")
    spoken = str(getattr(given, "value", given) or "")
    speaker = str(fields.get("speaker") or fields.get("name") or "")
    if not spoken:
        kind = str(fields.get("type") or fields.get("kind") or "").casefold().removesuffix("messagechunk")
        if kind not in _ROLES and not speaker:
            raise UsageError(f"Message {place} has no role: give each message a `role` and a `content`.")
        spoken = kind if kind in _ROLES else ""
        speaker = "" if kind == "function_call" else speaker
    role = _ROLES.get(spoken.casefold(), USER)
    known = not spoken or spoken.casefold() in _ROLES
    return role, speaker or ("" if known else " ".join(spoken.split()))


def _content(fields: Mapping[str, Any]) -> Any:
    """What a message or an answer says, wherever it stands."""
    content = next(
        (fields[n] for n in ("content", "parts", "blocks", "text", "output") if fields.get(n) is not None), None
    )
    if isinstance(content, Mapping) and _kind(content) not in _WORDS:
        return json.dumps(content, ensure_ascii=False, default=str)
    return list(content) if isinstance(content, tuple) else content


def _answer(fields: Mapping[str, Any], content: Any, name: str, time: datetime | None, id: str) -> Message:
    """What a tool answered. `name` is its own, where the message says so."""
    text = words(content)
    if not text and isinstance(content, list) and content:
        text = json.dumps(content, ensure_ascii=False, default=str)
    extra = fields.get("additional_kwargs")
    fields = {**extra, **fields} if isinstance(extra, Mapping) else fields
    named = ("tool_call_id", "tool_use_id", "call_id")
    failed = (
        bool(fields.get("is_error")) or fields.get("status") in {"error", "failed"} or _kind(fields) == "retry-prompt"
    )
    return Message(
        TOOL,
        text,
        time,
        id=id,
        tool=str(name or fields.get("tool_name") or fields.get("name") or ""),
        answers=next((str(fields[n]) for n in named if fields.get(n)), ""),
        failed=failed or _kind(fields) == "retry-prompt",
    )


def _fields(given: Any) -> Mapping[str, Any]:
    return {name: value for name in _NAMES if (value := getattr(given, name, None)) is not None}


def _time(fields: Mapping[str, Any], place: int) -> datetime | None:
    value = next((fields[name] for name in _TIMES if fields.get(name) not in (None, "")), None)
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str) and _is_number(value):
        value = float(value)
    if isinstance(value, int | float):
        return _counted(value, place)
    found = value if isinstance(value, datetime) else _written(str(value))
    if found is None:
        raise UsageError(f"Message {place} has the time {str(value)[:40]!r}: write it as 2026-01-31T09:00:00Z.")
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _is_number(text: str) -> bool:
    return text.strip().replace(".", "", 1).isdecimal() and len(text.strip()) >= len("1000000000")


def _counted(value: float, place: int) -> datetime:
    """Seconds or milliseconds since 1970."""
    seconds = value / 1000 if abs(value) >= _MILLISECONDS else value
    try:
        return datetime.fromtimestamp(seconds if math.isfinite(seconds) else 1e99, UTC)
    except (OverflowError, ValueError, OSError):
        raise UsageError(f"Message {place} has the time {value}: give seconds since 1970, or an ISO date.") from None


def _written(text: str) -> datetime | None:
    """A time as programs and people write it; of a day in words, its beginning."""
    found = when(text)
    if found is None:
        try:
            return datetime.fromisoformat(text.strip())
        except ValueError:
            named = spans(text, datetime.now(UTC))
            found = named[0].start if len(named) == 1 else None
    return found


def _calls(fields: Mapping[str, Any], blocks: Sequence[Any]) -> tuple[Call, ...]:
    """Tool calls as OpenAI, LangChain, Anthropic, Pydantic-AI and Gemini spell them."""
    extra = fields.get("additional_kwargs")
    listed = fields.get("tool_calls") or (extra.get("tool_calls") if isinstance(extra, Mapping) else None) or []
    own = [fields] if str(fields.get("type") or "") == "function_call" else []
    found = map(_call, [*own, *listed, *(b for b in blocks if _kind(b) in _CALLS)])
    # LangChain has a call of Anthropic's in both places.
    return tuple(dict.fromkeys(call for call in found if call is not None))


def _call(given: Any) -> Call | None:
    call: Any = _fielded(given)
    function: Any = call.get("function")
    if function is not None and not isinstance(function, Mapping):
        function = {name: getattr(function, name, "") for name in ("name", "arguments")}
    function = function or call
    arguments = next((function[n] for n in ("arguments", "args", "input") if function.get(n) is not None), "")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    name = str(function.get("name") or function.get("tool_name") or "")
    id = str(call.get("call_id") or call.get("id") or call.get("tool_call_id") or "")
    return Call(name, text, id) if name else None
