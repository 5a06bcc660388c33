"""A conversation cut into windows of a few turns, each the text of one episode, with where it came from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from atlas.ingest import Request
from atlas.messages import SYSTEM, TOOL, Message

_TURNS = 4


def requests(said: Iterable[Message], conversation: str, **options: Any) -> list[Request]:
    """What to store of the messages of a conversation."""
    turns = [one for one in said if one.role not in (SYSTEM, TOOL) and one.text.strip()]
    found = []
    for start in range(0, len(turns), _TURNS):
        window = turns[start : start + _TURNS]
        text = "\n".join(f"{one.who}: {one.text.strip()}" for one in window)
        source = f"{conversation or 'conversation'}#{window[0].id or start + 1}"
        told = {"kind": "episode", "source": source, "created": window[0].time, "whole": True, **options}
        found.append(Request(text, **told))
    return found
