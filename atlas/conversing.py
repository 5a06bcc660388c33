"""From messages to what is to be remembered of them: the windows of a conversation, and what is drawn from each.

    messages ─► own words, secrets masked ─► what is new ─► windows ─► episodes, facts, preferences, decisions, …

Nothing here reads a disk or writes one: what is stored already is asked of a `Vault`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from atlas import gleaning, recalled, trials, turns, windows
from atlas.credentials import find_secrets, masked
from atlas.ingest import Request
from atlas.markdown import text_key
from atlas.messages import ASSISTANT, SYSTEM, TOOL, Message
from atlas.recalled import Shown
from atlas.turns import Turn

#: What is said of the windows is not said of the facts in them.
_OF_EPISODES = frozenset({"kind", "label", "created", "whole"})
#: Shorter messages are not taken for a memory that says the same.
_FEWEST_WORDS = 4
_BLOT = "•••"


class Vault(Protocol):
    """What has to be known of what is stored."""

    def sources(self, conversation: str) -> Sequence[str]:
        """The sources of the memories that come from a conversation."""
        ...

    def with_text(self, keys: Sequence[str]) -> Mapping[str, str]:
        """Which of these texts are stored: text key → id."""
        ...

    def telling(self, words: Sequence[str]) -> Sequence[str]:
        """Which of these runs of words, as `recalled.plain` has them, stand in a memory."""
        ...


@dataclass(frozen=True, slots=True)
class Talk:
    """The messages of a conversation as they may be stored, under its name. `shown` is what of it was recalled.

    `torn` are the places, from 0, of messages with pieces of a view in them.
    """

    name: str
    said: tuple[Message, ...]
    shown: str = ""
    torn: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Heard:
    """What of a conversation is to be stored: the requests of each window, and what there is to say of it."""

    groups: tuple[tuple[Request, ...], ...] = ()
    said: tuple[str, ...] = ()


def opened(given: Sequence[Message], name: str) -> Talk:
    """The conversation, without what is no part of it: instructions to the model, what came out of the vault, secrets.

    It depends on the messages alone, so that each has the same key whatever is stored meanwhile.
    """
    is_lookup = recalled.lookups(given)
    kept: list[Message] = []
    shown: list[str] = []
    torn: set[int] = set()
    for one in given:
        if one.role == SYSTEM:
            continue
        if one.role == TOOL and is_lookup(one):
            shown.append(one.text)
            continue
        parted = recalled.parted(one.text)
        shown.append(parted.shown)
        calls = tuple(call for call in one.calls if not recalled.ours(call))
        if parted.own.strip() or calls or one.role == TOOL:
            torn.update([len(kept)] if parted.torn else [])
            kept.append(_masked(replace(one, text=parted.own, calls=calls)))
    return Talk(turns.named(name, kept), tuple(kept), "\n".join(filter(None, shown)), frozenset(torn))


def heard(
    talk: Talk,
    vault: Vault,
    count: Callable[[str], int],
    options: Mapping[str, Any],
    views: Iterable[str] = (),
) -> Heard:
    """What to store of it, without a model. `views` are texts that were in front of an agent lately."""
    new = turns.new(talk.said, turns.keys(vault.sources(talk.name)))
    fresh = _fresh(talk, new, vault, Shown([talk.shown, *views]))
    groups = [tuple(_requests(window, talk.name, options)) for window in windows.cut(fresh, count)]
    groups += [(replace(one, **_apart(options)),) for one in trials.tried(fresh, talk.said, talk.name)]
    groups = [tuple(map(_safe, group)) for group in groups]
    return Heard(tuple(groups), tuple(_said(talk, new, fresh, groups)))


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


def _fresh(talk: Talk, new: Sequence[Turn], vault: Vault, shown: Shown) -> list[Turn]:
    """The new turns without what is stored already: pieces of views, sentences read out of one, whole memories."""
    places = {id(message): place for place, message in enumerate(talk.said)}
    known = vault.with_text([text_key(turn.message.text) for turn in new]) if new else {}
    found = []
    for turn in new:
        one = turn.message
        text = one.text
        if places[id(one)] in talk.torn:
            text = recalled.mended(text, Shown(vault.telling(list(recalled.candidates(text)))))
        if one.role == ASSISTANT:
            text = recalled.unrepeated(text, shown)
        if text_key(one.text) in known and len(one.text.split()) >= _FEWEST_WORDS:
            text = ""
        if text.strip() or one.calls or one.role == TOOL:
            found.append(turn if text == one.text else replace(turn, message=replace(one, text=text)))
    return found


def _requests(window: Sequence[Turn], name: str, options: Mapping[str, Any]) -> Iterator[Request]:
    """The episode of a window, and what is drawn from it."""
    yield from (replace(one, **_apart(options)) for one in gleaning.gleaned(window, name))
    told = {"kind": "episode", "source": turns.source(name, window), "created": windows.began(window), "whole": True}
    yield Request(windows.text(window), **{**told, **options})


def _apart(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key not in _OF_EPISODES}


def _said(talk: Talk, new: Sequence[Turn], fresh: Sequence[Turn], groups: Sequence[Any]) -> Iterator[str]:
    """What a person should know: secrets that were masked, what was recalled, and why nothing is stored."""
    secrets = Counter(kind for turn in new for kind in re.findall(r"\[secret: ([^\]]+)\]", turn.message.text))
    for kind, number in sorted(secrets.items()):
        yield f"A secret was masked in what was said: {kind}{f' ({number} times)' if number > 1 else ''}."
    if groups:
        return
    if talk.said and not new:
        yield f"Nothing was stored: the {len(talk.said)} messages of {talk.name} are stored already."
    elif talk.shown and not fresh:
        yield "Nothing was stored: what was said came out of memory."
    elif not talk.said:
        yield "Nothing was stored: no message has any words."
    else:
        yield "Nothing was stored: nothing new was said but greetings, thanks and what is stored already."


def _masked(one: Message) -> Message:
    """The message with `[secret: kind]` for each value that looks like a credential."""
    calls = tuple(replace(call, arguments=_without_secrets(call.arguments)) for call in one.calls)
    return replace(one, text=_without_secrets(one.text), calls=calls)


def _without_secrets(text: str) -> str:
    blotted, found = masked(text)
    if not found:
        return text
    kinds = dict(reversed(found))
    lines = blotted.split("\n")
    last = found[-1][1]
    for n, line in enumerate(lines, 1):
        last = kinds.get(n, last)
        lines[n - 1] = line.replace(_BLOT, f"[secret: {last}]")
    return "\n".join(lines)


def _safe(request: Request) -> Request:
    """The request, if the name of who speaks makes no secret of what is none without it; else with that masked."""
    return replace(request, text=_without_secrets(request.text)) if find_secrets(request.text) else request
