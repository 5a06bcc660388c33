"""What is drawn from the turns of a window by rule: facts, preferences, decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from atlas.ingest import Request
from atlas.turns import Turn


def gleaned(window: Sequence[Turn], name: str) -> Iterator[Request]:
    """The memories of their own in a window, each with the turn it comes from."""
    yield from ()
