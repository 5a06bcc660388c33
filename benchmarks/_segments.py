"""How well boundaries are found: Pk and WindowDiff; simple ways to set them, and dialogues spliced.

    Pk            Beeferman, Berger and Lafferty, Statistical models for text segmentation, Machine Learning 34, 1999:
                  the share of windows of k turns whose two ends are said to lie in one segment and do not, or the
                  other way round
    WindowDiff    Pevzner and Hearst, A critique and improvement of an evaluation metric for text segmentation,
                  Computational Linguistics 28, 2002: the share of those windows with another number of boundaries

k is half the mean length of a segment, as both papers have it. 0 is perfect; setting none at all is near a half.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from _trace import Dialogue

Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Talk:
    """Turns in a row: words, vectors, where a segment begins (never at 0), hours before, the topic of each."""

    texts: tuple[str, ...]
    vectors: np.ndarray[Any, np.dtype[np.float32]]
    begins: Flags
    hours: tuple[float, ...]
    topics: tuple[int, ...] = ()


def window(begins: Flags) -> int:
    """Half the mean length of a segment, in turns."""
    return max(2, round(len(begins) / (int(begins[1:].sum()) + 1) / 2))


def errors(begins: Flags, said: Flags, k: int = 0) -> tuple[float, float]:
    """(Pk, WindowDiff) of what was said against where segments begin."""
    k = k or window(begins)
    real, guess = (np.concatenate([[0], np.cumsum(flags[1:])]) for flags in (begins, said))
    inside, within = real[k:] - real[:-k], guess[k:] - guess[:-k]
    return float(np.mean((inside > 0) != (within > 0))), float(np.mean(inside != within))


def never(talk: Talk) -> Flags:
    """No boundary."""
    return np.zeros(len(talk.texts), bool)


def every(n: int) -> Callable[[Talk], Flags]:
    """A boundary every n turns."""
    return lambda talk: np.arange(len(talk.texts)) % n == n - 1


def at_random(n: float, seed: int) -> Callable[[Talk], Flags]:
    """A boundary with probability 1/n."""
    return lambda talk: np.random.default_rng(seed).random(len(talk.texts)) < 1 / n


def by_drift(bar: float, share: float = 0.3) -> Callable[[Talk], Flags]:
    """A boundary where a turn lies farther than `bar` from the running mean of those before: one threshold."""

    def said(talk: Talk) -> Flags:
        flags = never(talk)
        mean = talk.vectors[0]
        for place, vector in enumerate(talk.vectors[1:], 1):
            flags[place] = 1 - float(mean @ vector) / (float(np.linalg.norm(mean) * np.linalg.norm(vector)) or 1) > bar
            mean = vector if flags[place] else mean + share * (vector - mean)
        return flags

    return said


def by_valleys(bar: float, width: int = 4) -> Callable[[Talk], Flags]:
    """TextTiling's depth score (Hearst 1997) over vectors; it sees `width` turns ahead, as no running agent does."""

    def said(talk: Talk) -> Flags:
        n = len(talk.texts)
        sums = np.vstack([np.zeros_like(talk.vectors[:1]), np.cumsum(talk.vectors, axis=0)])
        gaps = np.ones(n)
        for place in range(1, n):
            before = sums[place] - sums[max(0, place - width)]
            after = sums[min(n, place + width)] - sums[place]
            gaps[place] = before @ after / (np.linalg.norm(before) * np.linalg.norm(after) or 1)
        flags = never(talk)
        for place in range(1, n):
            near = gaps[max(1, place - width) : place + width + 1]
            depth = (
                gaps[max(1, place - width) : place + 1].max() + gaps[place : place + width + 1].max() - 2 * gaps[place]
            )
            flags[place] = gaps[place] == near.min() and depth > bar
        return flags

    return said


def lived(dialogue: Dialogue, hours: Sequence[float]) -> Talk:
    """A dialogue as it was, a segment a session; `hours` before each session."""
    sessions = [turn.session for turn in dialogue.turns]
    begins = np.array([place > 0 and name != sessions[place - 1] for place, name in enumerate(sessions)])
    away = [hours[int(number)] if new else 0.0 for new, number in zip(begins, np.cumsum(begins), strict=True)]
    return Talk(tuple(turn.text for turn in dialogue.turns), dialogue.vectors, begins, tuple(away))


def spliced(dialogues: Sequence[Dialogue], seed: int, trim: int = 2, least: int = 12) -> Talk:
    """Halves of sessions in a made-up order: a new one, another new one, back to the second half of an earlier one.

    The first and the last turns of a session are cut off, since greetings and farewells would give it away; sessions
    shorter than `least` without them are left out. Choi (2000) splices texts for the same reason: where they meet,
    the topic surely changes. Returns are to one of the two sessions left open that were not the last to be opened.
    """
    draw = random.Random(seed)
    pool: list[tuple[Dialogue, range, range]] = []
    for dialogue in dialogues:
        names = [turn.session for turn in dialogue.turns]
        for name in dict.fromkeys(names):
            first, last = names.index(name) + trim, len(names) - names[::-1].index(name) - trim
            if last - first >= least:
                middle = (first + last) // 2
                pool.append((dialogue, range(first, middle), range(middle, last)))
    draw.shuffle(pool)
    order: list[tuple[int, Dialogue, range]] = []
    opened: list[tuple[int, Dialogue, range]] = []
    for topic, (dialogue, one, two) in enumerate(pool):
        order.append((topic, dialogue, one))
        opened.append((topic, dialogue, two))
        if len(opened) > 2:
            order.append(opened.pop(draw.randrange(2)))
    turns = [(topic, dialogue, place, place == part[0]) for topic, dialogue, part in order for place in part]
    return Talk(
        tuple(dialogue.turns[place].text for _, dialogue, place, _ in turns),
        np.array([dialogue.vectors[place] for _, dialogue, place, _ in turns]),
        np.array([new and number > 0 for number, (*_, new) in enumerate(turns)]),
        (0.0,) * len(turns),
        tuple(topic for topic, *_ in turns),
    )
