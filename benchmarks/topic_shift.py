"""Where a new topic begins: Pk and WindowDiff of `atlas.focus` and of simple rules, on the dialogues of LoCoMo.

    python benchmarks/topic_shift.py PATH/locomo10.json [--trace FOLDER]

Two sets of boundaries, neither of them perfect; formulas with their sources stand in _segments.py:

- `sessions`: the dialogues as they were, a boundary where a session begins. Between two sessions lie days, and often
  the same subjects: what tells them apart are greetings, farewells and the time. Words and vectors are all that the
  rows get, but for the one `with time`, which also gets the hours since the last session and is therefore no feat.
- `spliced`: halves of sessions of different dialogues in a made-up order (three orders), without their first and last
  two turns: no greetings, a surely new subject, and a return to each.

All numbers were chosen on dialogues 1 to 5: the weights and the two thresholds of the focus by descent on the sum of
Pk and WindowDiff over both sets, and among near equals those with fewer errors on sessions; 6 to 10 were looked at
meanwhile, so they are no clean held-out set. The thresholds of the simple rules are the best by the same sum, on each
set for itself, which favours them. Valleys look four turns ahead and are no rule for a running agent.

`returns`: `found` is the share of returns that are told within three turns and whose promoted ids hold the right
topic's; `right of said` the share of shifts said to be returns of which that is true.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _common
import _trace
import numpy as np
from _segments import Flags, Talk, at_random, by_drift, by_valleys, errors, every, lived, never, spliced
from locomo import sessions

from atlas import focus

HALF = 5
ORDERS = 3
#: A return is told in time within so many turns.
LATE = 3
BARS = tuple(n / 50 for n in range(1, 60))
#: The evidence a row of the focus may use.
DRIFT = ("bias", "drift", "leap", "earlier")
NAMES = (*DRIFT, "strange")
WORDS = (*NAMES, "turning", "opening", "again", "closed")

Rule = Callable[[Talk], Flags]


@dataclass
class Returns:
    """Segments that were a return, shifts said to be one, and those that named the right topic."""

    real: int = 0
    said: int = 0
    right: int = 0


def main() -> None:
    """Compare on both sets and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--trace", type=Path)
    given = parser.parse_args()
    dialogues = _trace.read(given.data, given.trace)
    talks = [
        lived(dialogue, list(away(told)))
        for dialogue, told in zip(dialogues, json.loads(given.data.read_text(encoding="utf-8")), strict=True)
    ]
    halves = dialogues[:HALF], dialogues[HALF:]
    mixed = [[spliced(half, order) for order in range(ORDERS)] for half in halves]
    figures = {
        "sessions": table(talks[:HALF], talks[HALF:])
        | {"focus, with time": row(talks[:HALF], talks[HALF:], by_focus())},
        "spliced": table(*mixed),
        "returns": {
            name: recognised(half) for name, half in zip(("dialogues 1-5", "dialogues 6-10"), mixed, strict=True)
        },
        "milliseconds a turn": cost(talks[0]),
        "weights": dict(focus.WEIGHTS),
        "thresholds": {"high": focus.HIGH, "low": focus.LOW, "same": focus.SAME},
    }
    _common.keep("topic_shift", figures, data=given.data.name, sha256=_common.sha256(given.data))


def away(dialogue: Mapping[str, Any]) -> Iterator[float]:
    """Hours between the beginnings of a session and of the one before."""
    before = None
    for _, when, _, _ in sessions(dialogue):
        yield (when - before).total_seconds() / 3600 if before else 0.0
        before = when


def table(chosen: Sequence[Talk], held: Sequence[Talk]) -> dict[str, Any]:
    """Every rule on both halves; what a rule must be told is taken from the first."""
    length = sum(len(talk.texts) for talk in chosen) / sum(int(talk.begins.sum()) + 1 for talk in chosen)
    words = by_focus(WORDS)
    rate = sum(len(talk.texts) for talk in chosen) / max(1, sum(int(words(talk).sum()) for talk in chosen))
    rules: dict[str, Rule] = {
        "never": never,
        f"every {round(length)}": every(round(length)),
        "random, as often as the focus": at_random(rate, 0),
        "drift, one threshold": best(chosen, by_drift),
        "valleys (TextTiling), sees ahead": best(chosen, by_valleys),
        "focus, drift alone": by_focus(DRIFT),
        "focus, drift and names": by_focus(NAMES),
        "focus, phrases alone": by_focus(("bias", *WORDS[len(NAMES) :])),
        "focus, one threshold": by_focus(WORDS, hysteresis=False),
        "focus": words,
    }
    return {name: row(chosen, held, rule) for name, rule in rules.items()}


def row(chosen: Sequence[Talk], held: Sequence[Talk], rule: Rule) -> dict[str, dict[str, float]]:
    """Means over the dialogues of each half and of all; `shifts` for each real one."""
    said = [(talk, rule(talk)) for talk in (*chosen, *held)]
    figures = [(*errors(talk.begins, flags), flags[1:].sum() / talk.begins.sum()) for talk, flags in said]
    parts = {"dialogues 1-5": figures[: len(chosen)], "dialogues 6-10": figures[len(chosen) :], "all": figures}
    return {
        name: dict(zip(("Pk", "WindowDiff", "shifts"), np.round(np.mean(part, axis=0), 4).tolist(), strict=True))
        for name, part in parts.items()
    }


def best(talks: Sequence[Talk], rule: Callable[[float], Rule]) -> Rule:
    """The rule with the threshold that is best on these."""
    return min(
        (rule(bar) for bar in BARS), key=lambda made: sum(sum(errors(talk.begins, made(talk))) for talk in talks)
    )


def by_focus(names: Sequence[str] = (), *, hysteresis: bool = True) -> Rule:
    """The focus with these kinds of evidence; with none, with all, time among them."""
    weights = {name: weight * (not names or name in names) for name, weight in focus.WEIGHTS.items()}

    def said(talk: Talk) -> Flags:
        flags = never(talk)
        now = focus.Focus()
        for place, (text, vector, hours) in enumerate(zip(talk.texts, talk.vectors, talk.hours, strict=True)):
            now, shift = focus.turned(now, vector, text, away=hours * 3600, weights=weights)
            flags[place] = shift is not None
            now = now if hysteresis else focus.settled(now)
        return flags

    return said


def recognised(talks: Sequence[Talk]) -> dict[str, float]:
    """How well returns are told, where the focus itself finds the boundaries."""
    count = Returns()
    for talk in talks:
        seen: set[int] = set()
        now, since, returned = focus.Focus(), 0, False
        for text, vector, new, topic in zip(talk.texts, talk.vectors, talk.begins, talk.topics, strict=True):
            now, shift = focus.turned(now, vector, text)
            since = 0 if new else since + 1
            returned = topic in seen if new else returned
            count.real += bool(new) and returned
            if shift and shift.back:
                count.said += 1
                count.right += returned and since < LATE and str(topic) in shift.promote
            now = focus.shown(now, [str(topic)])
            seen.add(topic)
    return {
        "returns": count.real,
        "said": count.said,
        "right of said": round(count.right / max(count.said, 1), 4),
        "found": round(count.right / max(count.real, 1), 4),
    }


def cost(talk: Talk) -> float:
    """What one turn takes."""
    seconds = _common.timed(lambda: by_focus()(talk), 3)
    return round(min(seconds) * 1000 / len(talk.texts), 4)


if __name__ == "__main__":
    main()
