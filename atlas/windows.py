"""A conversation cut into windows of a few turns, each the text of one episode.

Where it is cut depends on nothing that comes later. A greeting, thanks, an "ok" counts for nothing: it stays with what
was said before it, and makes no window alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from atlas.messages import ASSISTANT, USER, Message
from atlas.models import offline
from atlas.models.entities import MOST, entities, slug_of
from atlas.turns import Turn

#: A window has so many turns that say something, so many with small talk, and so many tokens; one turn may have more.
TURNS, MOST_TURNS, TOKENS = 4, 8, 320
#: After such a pause another window begins.
PAUSE = timedelta(hours=1)

_SMALL = frozenset(
    word
    for text in (
        "hi hey hello hiya yo howdy morning afternoon evening night good great nice cool wow awesome perfect lovely",
        "super ok okay k kk yes yeah yep yup no nope sure right alright exactly absolutely definitely totally agreed",
        "indeed true thanks thank thx ty cheers please welcome you're youre you are your very so much a lot again too",
        "to for that the it's its that's thats it is i'm im i am we all got understood noted done bye goodbye cya see",
        "ya later soon then fine take care have day weekend one lol haha hahaha hehe ha oh ah hmm hm mm mhm uh um",
        "well same here there how doing what's up sorry problem worries anytime sounds will do keep going go ahead",
        "continue next be back talk",
    )
    for word in text.split()
)
_WORD = re.compile(r"[\w'’]+")
#: Longer than this, even the plainest words say something.
_MOST_SMALL = 12


def told(turns: Sequence[Turn]) -> list[Turn]:
    """The turns that are words of a person or an assistant."""
    return [one for one in turns if one.message.role in (USER, ASSISTANT) and one.message.text.strip()]


def cut(turns: Sequence[Turn], count: Callable[[str], int]) -> list[tuple[Turn, ...]]:
    """The windows of some turns, in order; `count` gives the tokens of a text. None is small talk alone."""
    found: list[list[Turn]] = []
    telling, tokens = 0, 0
    for turn in told(turns):
        size, idle = count(turn.line), small_talk(turn.message)
        full = not idle and (telling >= TURNS or (telling and tokens + size > TOKENS))
        if not found or full or len(found[-1]) >= MOST_TURNS or _paused(found[-1], turn):
            found.append([])
            telling, tokens = 0, 0
        found[-1].append(turn)
        telling, tokens = telling + (not idle), tokens + size
    return _joined(found)


def small_talk(message: Message) -> bool:
    """Whether a message is a greeting, thanks, a yes, and nothing else.

    >>> [small_talk(Message("user", text)) for text in ("Ok, thanks!", "Thanks for the port number")]
    [True, False]
    """
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(message.text)]
    return len(words) <= _MOST_SMALL and all(word in _SMALL for word in words)


def text(window: Sequence[Turn]) -> str:
    """The text of an episode: each turn a paragraph."""
    return "\n\n".join(turn.line for turn in window)


def label(window: Sequence[Turn]) -> str:
    """Who says what first, small talk apart."""
    turn = next((turn for turn in window if not small_talk(turn.message)), window[0])
    return offline.label(f"{turn.message.who}: {offline.label(turn.message.text)}")


def entities_of(window: Sequence[Turn]) -> tuple[str, ...]:
    """What it is about: what most of its turns name, first. Of a text, YAKE would take ten times as long."""
    found: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    for turn in window:
        for name in entities(turn.message.text):
            found[slug_of(name)] += 1
            spelled.setdefault(slug_of(name), name)
    return tuple(spelled[slug] for slug, _ in found.most_common(MOST))


def began(window: Sequence[Turn]) -> datetime | None:
    """When it was said; None if no turn says so."""
    return next((turn.message.time for turn in window if turn.message.time), None)


def _paused(window: Sequence[Turn], turn: Turn) -> bool:
    before = next((one.message.time for one in reversed(window) if one.message.time), None)
    now = turn.message.time
    return bool(before and now and abs(now - before) > PAUSE)


def _joined(windows: Sequence[list[Turn]]) -> list[tuple[Turn, ...]]:
    """The windows, what is small talk alone with the one before it, or behind it where there is none."""
    found: list[list[Turn]] = []
    waiting: list[Turn] = []
    for window in windows:
        if not all(small_talk(turn.message) for turn in window):
            found.append([*waiting, *window])
            waiting = []
        elif found:
            found[-1].extend(window)
        else:
            waiting += window
    return [tuple(window) for window in found]
