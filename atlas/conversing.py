"""From messages to what is to be remembered of them: the windows of a conversation, and what is drawn from each.

    messages ─► own words, secrets masked ─► what is new ─► windows ─► episodes, facts, preferences, decisions, …

Nothing here reads a disk or writes one: what is stored already is asked of a `Vault`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from atlas import gleaning, recalled, trials, turns, windows
from atlas.credentials import find_secrets, masked
from atlas.distil import Distiller
from atlas.ingest import Request
from atlas.markdown import text_key
from atlas.messages import ASSISTANT, SYSTEM, TOOL, Message, read
from atlas.recalled import Shown
from atlas.turns import Turn

#: What is said of the windows is not said of the facts in them.
_OF_EPISODES = frozenset({"kind", "label", "created", "whole"})
#: Shorter messages are not taken for a memory that says the same.
_FEWEST_WORDS = 4
#: What a model drew from stretches of a conversation, by the keys of their turns.
Drawn = Mapping[tuple[str, ...], tuple[Request, ...]]
#: So many windows are read together.
_TOGETHER = 2
_BLOT = "•••"


class Vault(Protocol):
    """What has to be known of what is stored."""

    def sources(self, conversation: str) -> Sequence[str]:
        """The sources of the memories that come from a conversation."""
        ...

    def with_text(self, keys: Sequence[str]) -> Mapping[str, str]:
        """Which of these texts are stored: text key → id."""
        ...

    def saying(self, lines: Iterable[str]) -> Sequence[str]:
        """The texts of memories that hold all words of one of these lines."""
        ...


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages of any chat interface, the name of the conversation, and options of `Request` for all that is stored."""

    messages: Iterable[Message | Mapping[str, Any] | Any]
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Talk:
    """The messages of a conversation as they may be stored, under its name. `shown` is what of it was recalled.

    `torn` are the places, from 0, of messages with pieces of a view in them; `options` are said of all memories.
    """

    name: str
    said: tuple[Message, ...]
    shown: str = ""
    torn: frozenset[int] = frozenset()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scope(self) -> str:
        """The folder that all of it is stored below."""
        return str(self.options.get("scope") or "")


@dataclass(frozen=True, slots=True)
class Heard:
    """What of a conversation is to be stored: the requests of each window, and what there is to say of it."""

    groups: tuple[tuple[Request, ...], ...] = ()
    said: tuple[str, ...] = ()


def opened(given: Conversation) -> Talk:
    """The conversation as it may be stored: without instructions to the model, recalled text, secrets.

    It depends on the messages alone, so that each has the same key whatever is stored meanwhile.
    """
    messages = read(given.messages)
    is_lookup = recalled.lookups(messages)
    kept: list[Message] = []
    shown: list[str] = []
    torn: set[int] = set()
    for one in messages:
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
    # Each memory names its turns: where the conversation comes from is told by its name.
    name = "/".join(filter(None, (str(given.options.get("source") or ""), given.name)))
    options = {key: value for key, value in given.options.items() if key != "source"}
    return Talk(turns.named(name, kept), tuple(kept), "\n".join(filter(None, shown)), frozenset(torn), options)


def bunches(talks: Iterable[Talk], size: int) -> Iterator[list[Talk]]:
    """Conversations that are stored together: of one scope, with about `size` messages, and none twice."""
    bunch: list[Talk] = []
    for talk in talks:
        messages = sum(len(one.said) for one in bunch) + len(talk.said)
        other = bunch and (talk.scope != bunch[0].scope or talk.name in {one.name for one in bunch})
        if bunch and (other or messages > size):
            yield bunch
            bunch = []
        bunch.append(talk)
    if bunch:
        yield bunch


def heard(
    talk: Talk,
    vault: Vault,
    count: Callable[[str], int],
    views: Iterable[str] = (),
    drawn: Drawn | None = None,
) -> Heard:
    """What to store of it. `views` are texts that were in front of an agent lately.

    `drawn` is what a model drew from some stretches of it, by the keys of their turns; what it has nothing of is left
    to the rules.
    """
    new, fresh = _fresh(talk, vault, views)
    options, groups = talk.options, []
    for stretch in stretches(windows.cut(fresh, count)):
        told = (drawn or {}).get(_keys(stretch))
        if told is None:
            told = tuple(one for window in stretch for one in gleaning.gleaned(window, talk.name))
        groups.append([*(replace(one, **_apart(options)) for one in told), *_episodes(stretch, talk.name, options)])
    groups += [[replace(one, **_apart(options))] for one in trials.tried(fresh, talk.said, talk.name)]
    safe = tuple(tuple(map(_safe, group)) for group in groups)
    return Heard(safe, tuple(_said(talk, new, fresh, groups)))


def unread(
    talk: Talk, vault: Vault, count: Callable[[str], int], views: Iterable[str] = ()
) -> list[list[tuple[Turn, ...]]]:
    """The stretches of what is new of it."""
    return list(stretches(windows.cut(_fresh(talk, vault, views)[1], count)))


def distilled(new: Iterable[Sequence[Sequence[Turn]]], name: str, distiller: Distiller) -> Drawn:
    """What a model draws from some stretches, for `heard`. It takes seconds: nothing may be held open meanwhile."""
    answers = ((stretch, distiller.read([turn for window in stretch for turn in window], name)) for stretch in new)
    return {_keys(stretch): found for stretch, found in answers if found is not None}


def stretches(cut: Sequence[tuple[Turn, ...]]) -> Iterator[list[tuple[Turn, ...]]]:
    """The windows that are read together: a model is asked once for two."""
    for start in range(0, len(cut), _TOGETHER):
        yield list(cut[start : start + _TOGETHER])


def _keys(stretch: Iterable[Sequence[Turn]]) -> tuple[str, ...]:
    return tuple(turn.key for window in stretch for turn in window)


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


def _fresh(talk: Talk, vault: Vault, views: Iterable[str]) -> tuple[list[Turn], list[Turn]]:
    """The new turns; and the same without what is stored: pieces of views, sentences read out of one, memories."""
    new, shown = turns.new(talk.said, turns.keys(vault.sources(talk.name))), Shown([talk.shown, *views])
    places = {id(message): place for place, message in enumerate(talk.said)}
    known = vault.with_text([text_key(turn.message.text) for turn in new]) if new else {}
    found = []
    for turn in new:
        one = turn.message
        text = one.text
        if places[id(one)] in talk.torn:
            text = recalled.mended(text, Shown(vault.saying(recalled.candidates(text))))
        if one.role == ASSISTANT:
            text = recalled.unrepeated(text, shown)
        if text_key(one.text) in known and len(one.text.split()) >= _FEWEST_WORDS:
            text = ""
        if text.strip() or one.calls or one.role == TOOL:
            found.append(turn if text == one.text else replace(turn, message=replace(one, text=text)))
    return new, found


def _episodes(stretch: Iterable[Sequence[Turn]], name: str, options: Mapping[str, Any]) -> Iterator[Request]:
    """The windows themselves, word for word."""
    for window in stretch:
        told = {
            "kind": "episode",
            "label": windows.label(window),
            "source": turns.source(name, window),
            "created": windows.began(window),
            "entities": windows.entities_of(window),
            "whole": True,
        }
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
    """The text with a note in the place of each value that looks like a credential; of a line that defies it, nothing.

    The gate refuses what holds a secret, and with it the whole batch.
    """
    blotted, found = masked(text)
    if not found:
        return text
    kinds = dict(reversed(found))
    lines = blotted.split("\n")
    last = found[-1][1]
    for n, line in enumerate(lines, 1):
        last = kinds.get(n, last)
        lines[n - 1] = line.replace(_BLOT, _note(last))
    for n, kind in find_secrets("\n".join(lines)):  # two values that run into each other hide one another
        lines[n - 1] = _note(kind)
    return "\n".join(lines)


def _note(kind: str) -> str:
    return f"[secret: {kind}]"


def _safe(request: Request) -> Request:
    """The request, if the name of who speaks makes no secret of what is none without it; else with that masked."""
    return replace(request, text=_without_secrets(request.text)) if find_secrets(request.text) else request
