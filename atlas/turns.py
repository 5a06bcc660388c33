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
    known, last = _known(nameless, places)
    found, number = [], 0
    for one in said:
        if one.id:
            key, is_new = _safe(one.id), _safe(one.id) not in stored
        else:
            number += 1
            key, is_new = f"{last + number - known}.{_digest(one)}", number > known
        if is_new:
            found.append(Turn(key, one))
    return found


def _known(said: Sequence[Message], places: Mapping[int, str]) -> tuple[int, int]:
    """(how many of the messages are stored, from the first on; the last place that is taken)."""
    last = max(places, default=0)
    digests = [_digest(one) for one in said]
    best, most = 0, 0
    for start in range(last):
        run, weight = _run(digests, said, places, start, last)
        whole = start == 0 and run == last
        if weight > most and (weight >= _EVIDENCE or whole):
            best, most = run, weight
    return best, last


def _run(
    digests: Sequence[str], said: Sequence[Message], places: Mapping[int, str], start: int, last: int
) -> tuple[int, int]:
    """How many messages are the stored ones from the place after `start` on, and how many letters those have.

    A place that nothing is stored of may be any message: it was passed over, or its memory is gone.
    """
    run, weight = 0, 0
    for number, digest in enumerate(digests[: last - start], 1):
        stored = places.get(start + number)
        if stored is not None and stored != digest:
            break
        if stored is not None:
            run, weight = number, weight + len(said[number - 1].text) + 1
    return run, weight


def _digest(one: Message) -> str:
    """What tells a message from others: who says what. Not when: an agent's loop may stamp it anew each time."""
    told = "\x1f".join((one.role, one.speaker, one.text.strip(), *(f"{c.name} {c.arguments}" for c in one.calls)))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]


def _safe(id: str) -> str:
    """An id as a source can hold it."""
    return _UNSAFE.sub(lambda m: f"%{ord(m[0]):02X}", id)
