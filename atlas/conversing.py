"""From messages to what is to be remembered of them: the windows of a conversation, and what is drawn from each.

    messages ─► without recalled text, secrets masked ─► what is new ─► windows ─► episodes, facts, preferences, …

Nothing here reads a disk or writes one; what is stored already is asked of `Stored`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlas import gleaning, turns, windows
from atlas.credentials import masked
from atlas.ingest import Request
from atlas.messages import SYSTEM, Message
from atlas.turns import Turn

#: What is said of the windows is not said of the facts in them.
_OF_EPISODES = frozenset({"kind", "label", "created", "whole"})


@dataclass(frozen=True, slots=True)
class Heard:
    """What of a conversation is to be stored: the requests of each window, and what there is to say of it."""

    groups: tuple[tuple[Request, ...], ...] = ()
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of a conversation as they may be stored, under its name."""

    name: str
    said: tuple[Message, ...]
    notes: tuple[str, ...] = ()


def opened(given: Sequence[Message], name: str) -> Conversation:
    """The conversation, without what is no part of it: instructions to the model, empty messages, secrets."""
    kinds: Counter[str] = Counter()
    kept = [_masked(one, kinds) for one in given if one.role != SYSTEM and (one.text.strip() or one.calls)]
    notes = tuple(f"A secret was masked ({kind}, {number} times)." for kind, number in sorted(kinds.items()))
    return Conversation(turns.named(name, kept), tuple(kept), notes)


def heard(talk: Conversation, stored: frozenset[str], count: Callable[[str], int], options: Mapping[str, Any]) -> Heard:
    """What to store of it, without a model; `stored` are the keys of the messages that memories name already."""
    new = turns.new(talk.said, stored)
    groups = [tuple(_requests(window, talk.name, options)) for window in windows.cut(new, count)]
    return Heard(tuple(groups), (*talk.notes, *_nothing(talk, new, groups)))


def batches(groups: Sequence[Sequence[Request]], size: int) -> Iterator[list[Request]]:
    """The requests in lists of about `size`, each window whole: what is half stored would not be taken up again."""
    batch: list[Request] = []
    for group in groups:
        if batch and len(batch) + len(group) > size:
            yield batch
            batch = []
        batch.extend(group)
    if batch:
        yield batch


def _requests(window: Sequence[Turn], name: str, options: Mapping[str, Any]) -> Iterator[Request]:
    """The episode of a window, and what is drawn from it."""
    apart = {key: value for key, value in options.items() if key not in _OF_EPISODES}
    yield from (replace(one, **apart) for one in gleaning.gleaned(window, name))
    told = {"kind": "episode", "source": turns.source(name, window), "created": windows.began(window), "whole": True}
    yield Request(windows.text(window), **{**told, **options})


def _nothing(talk: Conversation, new: Sequence[Turn], groups: Sequence[Any]) -> Iterator[str]:
    """Why nothing is stored, if nothing is."""
    if groups:
        return
    if not talk.said:
        yield "Nothing was stored: no message has any words."
    elif not new:
        yield f"Nothing was stored: the {len(talk.said)} messages of {talk.name} are stored already."
    else:
        yield "Nothing was stored: what is new says nothing to remember."


def _masked(one: Message, kinds: Counter[str]) -> Message:
    text, found = masked(one.text)
    kinds.update(kind for _, kind in found)
    return replace(one, text=text) if found else one
