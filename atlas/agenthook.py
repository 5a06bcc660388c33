"""What coding agents call at the start and at the end of a session: memory put before them, the session remembered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atlas import agentlogs
from atlas.engine import MemoryEngine
from atlas.errors import UsageError
from atlas.remembering import Ingested

#: The agents of the kit, and how each takes text for its context.
AGENTS = ("claude-code", "codex", "cursor")
#: Tokens of the view at the start, and how many of the latest memories say what it is about.
BUDGET, _LATEST = 1500, 6
_INTRODUCED = "From the project's long-term memory (Atlas), for what it is worth to this session:"


def given(text: str) -> dict[str, Any]:
    """What an agent says on stdin: an object, or nothing; raises UsageError."""
    try:
        found = json.loads(text) if text.strip() else {}
    except ValueError as err:
        raise UsageError(f"A hook wants a JSON object on stdin ({err}).") from None
    if not isinstance(found, dict):
        raise UsageError("A hook wants a JSON object on stdin.")
    return found


def started(engine: MemoryEngine, agent: str, said: Mapping[str, Any]) -> str:
    """What to print for an agent that starts a session: what it may need, in the form it reads; "" for nothing.

    Nobody has asked anything yet, so the view is of what the last sessions were about.
    """
    latest = engine.recent(_LATEST)
    if not latest:
        return ""
    place = Path(str(said.get("cwd") or ".")).name
    query = "; ".join([place, *(one.label for one in latest)])
    view = engine.view(query, budget=BUDGET, session=f"{agent}-{place}")
    if not view.items:
        return ""
    text = f"{_INTRODUCED}\n\n{view.text}"
    if agent == "cursor":
        return json.dumps({"additional_context": text})
    return json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}})


def ended(engine: MemoryEngine, agent: str, said: Mapping[str, Any]) -> Ingested | None:
    """Remember what is worth it of the session so far; None where the agent names no transcript of it.

    The same session again, longer by then, stores only what is new.
    """
    file = said.get("transcript_path")
    if not file:
        return None
    place = Path(str(file)).expanduser()
    try:
        with place.open(encoding="utf-8", errors="replace") as lines:
            messages = agentlogs.read(lines)
    except OSError as err:
        raise UsageError(f"The transcript {place} cannot be read ({err.strerror}).") from None
    name = said.get("session_id") or said.get("conversation_id") or place.stem
    return engine.ingest(messages=messages, conversation=f"{agent}/{name}") if messages else None
