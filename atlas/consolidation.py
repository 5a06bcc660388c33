"""Consolidation: working memories that are used are kept for long, and contradictions are noted. A planner.

How much a memory is used is its heat, reckoned in one of two ways:

- `heat` is the formula of MemoryOS (Kang et al., "Memory OS of AI Agent", 2025, arXiv:2506.06326, update of mid-term
  memory; `compute_segment_heat` in its published code): α·visits + β·length + γ·recency with all three weights 1,
  recency e^(−hours / 24), and a threshold of 5. There, length counts the pages of a conversation; here, hundreds of
  words. Visits have no bound, so whatever was read five times stays hot for ever.
- `normalised`, the default, bounds each term to 0..1: visits count days on which it was read, and half of what they can
  add is reached at three; length is halfway at a hundred words; recency halves in a month. So a burst of reads on one
  day decides nothing, and heat is comparable between vaults.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from atlas import contradictions, markdown
from atlas.contradictions import Step
from atlas.errors import NotText, Unparsable
from atlas.memory import HUB, Change, Record, Rung, Use
from atlas.planning import Plan, Row, View
from atlas.profiles import Profile
from atlas.source import encode
from atlas.survey import blob_id

WORKING, LONG_TERM = "working", "long_term"
#: What heat has to reach, by policy.
THRESHOLDS = {"normalised": 0.5, "heat": 5.0}

#: Weights of visits, length and recency, which add up to 1; and where each is halfway: days read, words, days ago.
_WEIGHTS, _HALVES = (0.6, 0.1, 0.3), (3.0, 100.0, 30.0)
#: Words of what the formula calls a page, and the hours in which recency falls to 1/e.
_PAGE, _TAU_HOURS = 100.0, 24.0


@dataclass(frozen=True, slots=True)
class Heat:
    """How hot a memory is, and what that was reckoned from."""

    heat: float
    visits: int
    words: int
    days: float


def plan(view: View) -> Plan:
    """What is to be noted of contradictions, and which working memories are to be kept for long."""
    found, notes = contradictions.found(view)
    touched = {step.change.path for steps in found for step in steps}
    kept = [(step,) for step in _promotions(view) if step.change.path not in touched]
    steps = [step for together in (*found, *kept) for step in together]
    if not steps:
        return Plan(notes=notes)
    record = Record(
        "consolidate", _subject(steps), "facts that changed, memories that are used", policy=_policy(view),
        memories=tuple(dict.fromkeys(step.row.id for step in steps)),
    )  # fmt: skip
    return Plan(
        tuple(step.change for step in steps),
        record,
        tuple(step.row for step in steps),
        tuple(_pairs(found)),
        notes=notes,
    )


def heat(policy: str, use: Use, words: int, now: datetime) -> Heat:
    """The heat of a memory of so many words by a policy; one that was never read has none.

    >>> heat("heat", Use(4, ("2026-05-01",), ()), 120, datetime(2026, 5, 1, tzinfo=UTC)).heat
    6.2
    """
    if not use.days:
        return Heat(0.0, 0, words, math.inf)
    last = datetime.fromisoformat(use.days[-1]).replace(tzinfo=UTC)
    days = max(0.0, (now - last).total_seconds() / 86400)
    if policy == "heat":
        value = use.reads + words / _PAGE + math.exp(-24 * days / _TAU_HOURS)
        return Heat(value, use.reads, words, days)
    visits = len(set(use.days))
    terms = (visits / (visits + _HALVES[0]), words / (words + _HALVES[1]), 0.5 ** (days / _HALVES[2]))
    return Heat(sum(weight * term for weight, term in zip(_WEIGHTS, terms, strict=True)), visits, words, days)


def _threshold(view: View) -> float:
    return view.config.consolidate_threshold or THRESHOLDS[view.config.consolidate_policy]


def _policy(view: View) -> str:
    return f"{view.config.consolidate_policy} threshold={_threshold(view):g}"


def _promotions(view: View) -> Iterator[Step]:
    """The working memories whose heat passes the threshold."""
    used = view.usage()
    for one in view.profiles() if used else ():
        use = used.get(one.id)
        if use is None or not _works(one):
            continue
        found = heat(view.config.consolidate_policy, use, one.words, view.now)
        if found.heat >= _threshold(view) and view.mine(one.path) and not view.busy(one.path):
            yield from _kept(view, one, found)


def _works(one: Profile) -> bool:
    """Whether it is a working memory that still holds and is still there."""
    holds = one.valid_to is None and not one.meta.get("superseded_by")
    return one.tier == WORKING and one.readable and one.kind != HUB and one.rung != Rung.L0 and holds


def _kept(view: View, one: Profile, found: Heat) -> Iterator[Step]:
    data = view.read(one.path)
    if data is None:
        return
    try:
        source = markdown.decode(data)
        text = markdown.edit(source.text, {"tier": LONG_TERM}, path=one.path)
    except (NotText, Unparsable):
        return
    inputs = {"heat": round(found.heat, 2), "visits": found.visits, "words": found.words, "days": round(found.days, 1)}
    row = Row(one.id, one.path, WORKING, LONG_TERM, "used", inputs)
    yield Step(Change(one.path, encode(source, text), blob_id(data), one.id, one.label), row)


def _pairs(found: tuple[tuple[Step, ...], ...]) -> Iterator[tuple[int, ...]]:
    """The places of what is noted of both sides of a contradiction: both or neither."""
    start = 0
    for steps in found:
        if len(steps) > 1:
            yield tuple(range(start, start + len(steps)))
        start += len(steps)


def _subject(steps: list[Step]) -> str:
    """How many of what.

    >>> _subject([])
    'Consolidate'
    """
    counts = Counter(step.row.to for step in steps)
    said = {"superseded": "superseded", "contested": "contested", LONG_TERM: "kept for long"}
    parts = [f"{counts[to]} {words}" for to, words in said.items() if counts[to]]
    return f"Consolidate: {', '.join(parts)}" if parts else "Consolidate"
