"""What coding agents write down of a session, a JSON object a line, as messages.

| agent | a line |
| --- | --- |
| Claude Code | `{"type": "user", "message": {"role", "content"}, "uuid", "timestamp", "isSidechain", "isMeta"}` |
| Codex | `{"type": "response_item", "timestamp", "payload": {"type": "message", "role", "content"}}` |
| Cursor | `{"role": "user", "message": {"content"}}` |

These formats belong to the agents and change: a line that is none of these is passed over. What an agent puts into the
person's mouth (reminders, command output, its instructions) was not said by the person, and is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from atlas.messages import ASSISTANT, TOOL, USER, Message, message, words

_ROLES = frozenset({USER, ASSISTANT})
#: Blocks that agents wrap around what nobody said, and beginnings of texts that are such as a whole.
_WRAPPED = re.compile(
    r"<(system-reminder|command-(?:name|message|args|contents)|local-command-\w+|environment_context|user_instructions"
    r"|INSTRUCTIONS|user_info|rules|attached_files)>.*?</\1>",
    re.DOTALL,
)
_NOT_SAID = ("# AGENTS.md instructions", "Caveat: The messages below were generated", "[Request interrupted")


def read(lines: Iterable[str]) -> list[Message]:
    """The messages of a session, in order."""
    return [said for line in lines for said in _messages(_object(line))]


def _object(line: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _messages(line: Mapping[str, Any]) -> Iterator[Message]:
    """What one line says. A subagent's side talk and what the program tells itself are not the conversation."""
    if line.get("isSidechain") or line.get("isMeta") or line.get("isApiErrorMessage"):
        return
    inner, kind = line.get("message"), line.get("type")
    payload = line.get("payload")
    if kind == "response_item" and isinstance(payload, dict):
        inner = payload if payload.get("type") == "message" else None
    if not isinstance(inner, dict):
        return
    role = inner.get("role") or line.get("role") or kind
    if role not in _ROLES:
        return
    content, when = inner.get("content"), line.get("timestamp")
    yield from _results(content, when)
    said = message({"role": role, "content": content, "timestamp": when, "id": line.get("uuid") or inner.get("id")})
    text = _spoken(said.text) if role == USER else said.text.strip()
    if text or said.calls:
        yield Message(said.role, text, said.time, id=said.id, calls=said.calls)


def _results(content: Any, when: Any) -> Iterator[Message]:
    """The answers of tools that stand among the blocks of a person's message."""
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_result":
            found = {"role": TOOL, "content": words(block.get("content")), "timestamp": when}
            yield message({**found, "tool_call_id": block.get("tool_use_id"), "is_error": block.get("is_error")})


def _spoken(text: str) -> str:
    """What a person said, without what the agent added."""
    said = _WRAPPED.sub("", text).strip()
    return "" if said.startswith(_NOT_SAID) else said
