"""What an assistant tried with its tools, and what came of it.

run_tests: worked: {"path": "tests"} -> 12 passed
deploy: failed: {"to": "staging"} -> Error: no such host

Every failure is a lesson, and so is what works for the first time in a conversation, or for the first time after a
failure. The other hundred files that were read, and read well, are none: they would bury what matters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
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
    """What the new answers of tools teach, each with the turns of its call and its answer; `said` is all of it."""
    calls = {call.id: call for one in said for call in one.calls if call.id}
    callers = {call.id: turn for turn in new for call in turn.message.calls if call.id}
    teaching = _teaching(said, calls)
    for turn in new:
        answer = turn.message
        if id(answer) in teaching:
            both = [one for one in (callers.get(answer.answers), turn) if one]
            text = told(calls.get(answer.answers, Call(answer.tool)), answer)
            yield Request(text, kind="tool", source=turns.source(name, both), created=answer.time, whole=True)


def _teaching(said: Sequence[Message], calls: Mapping[str, Call]) -> frozenset[int]:
    """Which answers teach something, by identity: failures, and the first success of a tool at all or after one."""
    found, works = set(), set[str]()
    for answer in said:
        tool = calls.get(answer.answers, Call(answer.tool)).name or answer.tool
        if answer.role != TOOL or not tool:
            continue
        if _failed(answer):
            works.discard(tool)
        elif tool in works:
            continue
        else:
            works.add(tool)
        found.add(id(answer))
    return frozenset(found)


def told(call: Call, answer: Message) -> str:
    """What came of a call, in one line; "" if it is not known of which tool.

    >>> told(Call("deploy", '{"to":  "staging"}'), Message(TOOL, "Error: no such host"))
    'deploy: failed: {"to": "staging"} -> Error: no such host'
    """
    name = call.name or answer.tool
    if not name:
        return ""
    came = _short(answer.text, _ANSWERED) or "no words"
    return f"{name}: {'failed' if _failed(answer) else 'worked'}: {_short(_flat(call.arguments), _ASKED)} -> {came}"


def _failed(answer: Message) -> bool:
    """Whether an answer says so, begins as errors do, or is JSON with an error in it."""
    value = _json(answer.text) if answer.text.lstrip().startswith("{") else None
    told = bool(value.get("error")) if isinstance(value, dict) else bool(_FAILED.match(answer.text))
    return answer.failed or told


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
