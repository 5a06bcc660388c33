"""What an assistant tried with its tools, and what came of it: a memory for each call that was answered.

run_tests: worked: {"path": "tests"} -> 12 passed
deploy: failed: {"to": "staging"} -> Error: no such host
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from atlas import turns
from atlas.ingest import Request
from atlas.messages import TOOL, Call, Message
from atlas.turns import Turn

#: So many characters are kept of what was asked for, and of what was answered.
_ASKED, _ANSWERED = 200, 300
_FAILED = re.compile(
    r"\s*(?:\W*\b(?:error|exception|traceback|fatal|failed|failure)\b|[\w.]*(?:Error|Exception)\b"
    r"|.{0,60}\b(?:exit(?:ed)?(?: with)?(?: code| status)?:? [1-9]\d*|command not found|permission denied)\b)",
    re.IGNORECASE,
)


def tried(new: Sequence[Turn], said: Sequence[Message], name: str) -> Iterator[Request]:
    """What the new answers of tools tell, each with the turns of its call and its answer; `said` is all of it."""
    calls = {call.id: call for one in said for call in one.calls if call.id}
    callers = {call.id: turn for turn in new for call in turn.message.calls if call.id}
    for turn in new:
        answer = turn.message
        if answer.role == TOOL:
            call = calls.get(answer.answers, Call(answer.tool))
            if text := told(call, answer):
                both = [one for one in (callers.get(answer.answers), turn) if one]
                yield Request(text, kind="tool", source=turns.source(name, both), created=answer.time, whole=True)


def told(call: Call, answer: Message) -> str:
    """What came of a call, in one line; "" if it is not known of which tool.

    >>> told(Call("deploy", '{"to":  "staging"}'), Message(TOOL, "Error: no such host"))
    'deploy: failed: {"to": "staging"} -> Error: no such host'
    """
    name = call.name or answer.tool
    if not name:
        return ""
    failed = answer.failed or _tells_of_failure(answer.text)
    came = _short(answer.text, _ANSWERED) or "no words"
    return f"{name}: {'failed' if failed else 'worked'}: {_short(_flat(call.arguments), _ASKED)} -> {came}"


def _tells_of_failure(text: str) -> bool:
    """Whether an answer begins as errors do, or is JSON with an error in it."""
    value = _json(text) if text.lstrip().startswith("{") else None
    return bool(value.get("error")) if isinstance(value, dict) else bool(_FAILED.match(text))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _flat(arguments: str) -> str:
    """Arguments in one line, as JSON where they are that."""
    value = _json(arguments or "{}")
    return arguments if value is None else json.dumps(value, ensure_ascii=False)


def _short(text: str, most: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1].rstrip()}…"
