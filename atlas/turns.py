"""Which messages of a conversation are new: each has a key, and a memory names those it was made of in its `source`.

    standup#D1:3,D1:4             messages with ids of their own
    standup#3.9f2c01,4.77b1e0     without: place and digest

Messages without ids are laid along those that are stored: a conversation may be given whole again, or without its
beginning, or only what has been said since. What of it runs along stored places is known; the rest goes on from there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from atlas.messages import Message

#: So many letters have to be the same before what is given is taken for what is stored: "ok" is said many times.
_EVIDENCE = 24
_DIGEST = 6
_PLACED = re.compile(rf"(\d+)\.([0-9a-f]{{{_DIGEST}}})")
_UNSAFE = re.compile(r"[\s,#%]")


@dataclass(frozen=True, slots=True)
class Turn:
    """A message and its key within the conversation."""

    key: str
    message: Message

    @property
    def line(self) -> str:
        """What was said, and by whom."""
        return f"{self.message.who}: {self.message.text.strip()}"


def named(conversation: str, said: Sequence[Message]) -> str:
    """The name of a conversation as it stands in a `source`; one that has none is called by how it begins."""
    clean = " ".join(conversation.replace("#", "-").split())
    return clean or f"conversation-{_digest(said[0]) if said else ''}"


def source(conversation: str, turns: Iterable[Turn]) -> str:
    """Where a memory comes from.

    >>> source("standup", [Turn("D1:3", Message("user", "Hello"))])
    'standup#D1:3'
    """
    return f"{conversation}#{','.join(dict.fromkeys(turn.key for turn in turns))}"


def keys(sources: Iterable[str]) -> frozenset[str]:
    """The keys that some sources name."""
    return frozenset(key for one in sources for key in one.partition("#")[2].split(",") if key)


def new(said: Sequence[Message], stored: frozenset[str]) -> list[Turn]:
    """The messages that no stored key stands for, in order."""
    places = {int(m[1]): m[2] for key in stored if (m := _PLACED.fullmatch(key))}
    nameless = [one for one in said if not one.id]
    fresh = iter(_new(nameless, places))
    number = max(places, default=0)
    found = []
    for one in said:
        if one.id:
            if _safe(one.id) not in stored:
                found.append(Turn(_safe(one.id), one))
        elif next(fresh):
            number += 1
            found.append(Turn(f"{number}.{_digest(one)}", one))
    return found


def _new(said: Sequence[Message], places: Mapping[int, str]) -> list[bool]:
    """Which of some messages without ids are new. What runs along stored places is not, run after run, ever further."""
    digests = [_digest(one) for one in said]
    standing: dict[str, list[int]] = {}
    for place in sorted(places):
        standing.setdefault(places[place], []).append(place)
    last, passed, at = max(places, default=0), 0, 0
    found = [True] * len(said)
    while at < len(said):
        best, most, reached = 0, 0, passed
        for place in standing.get(digests[at], ()):
            if last - place < best:
                break  # of a thousand times "ok", each would be tried: no run from here on is longer
            run, weight = _run(digests, said, at, places, place, last) if place > passed else (0, 0)
            whole = at == 0 and place == 1 and run == last
            if weight > most and (weight >= _EVIDENCE or whole):
                best, most, reached = run, weight, place + run - 1
        found[at : at + best] = [False] * best
        at, passed = at + max(best, 1), reached
    return found


def _run(
    digests: Sequence[str], said: Sequence[Message], at: int, places: Mapping[int, str], first: int, last: int
) -> tuple[int, int]:
    """How many messages from one on are the stored ones from a place on, and how many letters those have.

    A place that nothing is stored of may be any message: it was passed over, or its memory is gone.
    """
    run, weight = 0, 0
    for number in range(min(len(said) - at, last - first + 1)):
        stored = places.get(first + number)
        if stored is not None and stored != digests[at + number]:
            break
        if stored is not None:
            run, weight = number + 1, weight + len(said[at + number].text) + 1
    return run, weight


def _digest(one: Message) -> str:
    """What tells a message from others: who says what. Not when: an agent's loop may stamp it anew each time."""
    told = "\x1f".join((one.role, one.speaker, one.text.strip(), *(f"{c.name} {c.arguments}" for c in one.calls)))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]


def _safe(id: str) -> str:
    """An id as a source can hold it."""
    return _UNSAFE.sub(lambda m: f"%{ord(m[0]):02X}", id)
