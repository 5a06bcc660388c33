"""Who may appear in a view: a memory's texts at every level, made safe and counted, and their worth to a question.

What does not depend on the question is made once for each content and kept (`Prepared`); the tiers hold it ready.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from atlas import frame, scene, words
from atlas.memory import HUB, Lod
from atlas.scene import Candidate, Heading, Level

if TYPE_CHECKING:
    from atlas.cache import Tiers
    from atlas.stage import Facts, Seen, Stage
    from atlas.tokens import Tokenizer

#: A note of so many passages may be shown whole; of a longer one, the passages that answer.
WHOLE_PASSAGES = 12
#: An excerpt is the best passage, or so many of the best.
_SEVERAL = 3
#: How sharply the scores of a note's passages tell which of them answers.
_SHARPNESS = 12.0
#: Between passages that do not follow each other.
_GAP = "[…]"
_MOST_EXCERPTS = 8
_MOST_FACTS = 20_000


@dataclass(slots=True)
class Prepared:
    """One content, ready to be shown: what `Tiers` hold.

    `texts` has its passages by their place in it, from 0, `excerpts` its fullest level by the passages it is made of;
    both fill as questions ask for passages.
    """

    facts: Facts
    name: str
    heading: Heading
    label: Level
    summary: Level | None
    label_terms: frozenset[str]
    summary_terms: frozenset[str]
    texts: dict[int, str] = field(default_factory=dict)
    excerpts: dict[tuple[int, ...], Level] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The tokens of the fullest level made so far."""
        made = [self.label, *([self.summary] if self.summary else []), *self.excerpts.values()]
        return max(level.tokens for level in made)


class Names:
    """What each memory is called in the views of a session: an ending of its id that no other memory there has."""

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self._name: dict[str, str] = dict(known or {})
        self._taken = {name.casefold() for name in self._name.values()}

    def of(self, id: str) -> str:
        """The name of a memory; the same for as long as the session lasts."""
        name = self._name.get(id)
        if name is None:
            length = frame.NAME_LETTERS
            while length < len(id) and id[-length:].casefold() in self._taken:
                length += 1
            name = self._name[id] = id[-length:]
            self._taken.add(name.casefold())
        return name


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, as far as values depend on it: its terms with their worth, and the time."""

    terms: Mapping[str, float]
    now: datetime

    def share(self, terms: Collection[str]) -> float:
        """How much of the words asked for is among these terms, from 0 to 1."""
        whole = sum(self.terms.values())
        return sum(worth for term, worth in self.terms.items() if term in terms) / whole if whole else 0.0


class Cast:
    """Prepares memories, and finds again in the tiers what was prepared of the same content."""

    def __init__(self, tokenizer: Tokenizer, tiers: Tiers, names: Names) -> None:
        self.tokenizer, self.tiers, self.names = tokenizer, tiers, names
        self._facts: dict[tuple[str, int], Facts] = {}

    def ready(self, stage: Stage, seen: Sequence[Seen]) -> dict[str, Prepared]:
        """What is prepared of these memories, by id: their texts at every level are there."""
        facts = self._known(stage, seen)
        found: dict[str, Prepared] = {}
        for one in seen:
            own = facts[stage.token, one.note]
            made = self.tiers.get(one.id, own.blob)
            found[one.id] = made if isinstance(made, Prepared) else self._prepared(one, own)
        self._fetch(stage, [(one, found[one.id]) for one in seen])
        return found

    def candidate(
        self, question: Question, one: Seen, made: Prepared, *, rank: int, best: float, always: bool = False
    ) -> Candidate:
        """A memory as one that may be shown: `rank` is its place from 1, `best` the score of the first."""
        importance = 0.5 if made.facts.importance is None else made.facts.importance
        likely = scene.probability(one.score, rank, best)
        value = scene.worth(likely, trust=one.trust, importance=importance, days=_days(one.created, question.now))
        return Candidate(
            id=one.id,
            value=max(value, scene.preferred(importance)) if always else value,
            levels=scene.levels(self.levels(one, made, question)),
            heading=made.heading,
            label=one.label,
            clusters=made.facts.clusters,
            always=always,
            cluster=PurePosixPath(one.path).stem if one.kind == HUB else "",
        )

    def levels(self, one: Seen, made: Prepared, question: Question) -> list[Level]:
        """Every level a memory may be shown at, with what it keeps of what was asked."""
        found = [replace(made.label, kept=scene.kept(Lod.L0, question.share(made.label_terms)))]
        if made.summary is not None:
            found.append(replace(made.summary, kept=scene.kept(Lod.L1, question.share(made.summary_terms))))
        return found + [level if kept >= 1 else replace(level, kept=kept) for level, kept in self.finish(one, made)]

    def finish(self, one: Seen, made: Prepared) -> list[tuple[Level, float]]:
        """The fullest levels, made if they are not there, and the chance that each holds what answers."""
        found = []
        for places, kept in _parts(one.passages):
            level = made.excerpts.get(places)
            if level is None:
                while len(made.excerpts) >= _MOST_EXCERPTS:
                    made.excerpts.pop(next(iter(made.excerpts)))
                text = _told(one.label, _excerpt(made.texts, places, len(one.passages)))
                level = made.excerpts[places] = frame.level(self.tokenizer, made.name, Lod.L2, text)
            found.append((level, kept))
        return found

    def _known(self, stage: Stage, seen: Sequence[Seen]) -> Mapping[tuple[str, int], Facts]:
        """The facts of contents, asked of the index once for each."""
        new = {one.note for one in seen if (stage.token, one.note) not in self._facts}
        if len(self._facts) + len(new) > _MOST_FACTS:
            self._facts.clear()
            new = {one.note for one in seen}
        self._facts.update(((stage.token, note), facts) for note, facts in stage.facts(new).items())
        return self._facts

    def _prepared(self, one: Seen, facts: Facts) -> Prepared:
        name, told = self.names.of(one.id), _told(one.label, one.summary)
        return Prepared(
            facts=facts,
            name=name,
            heading=frame.heading(self.tokenizer, one.created, facts.source, one.trust),
            label=frame.level(self.tokenizer, name, Lod.L0, one.label),
            summary=frame.level(self.tokenizer, name, Lod.L1, told) if one.summary else None,
            label_terms=frozenset(words.terms(one.label)),
            summary_terms=frozenset(words.terms(told)) if one.summary else frozenset(),
        )

    @staticmethod
    def _fetch(stage: Stage, pairs: Iterable[tuple[Seen, Prepared]]) -> None:
        """Take the passages these may be shown by from the index, as far as they are not there yet."""
        wanted = [
            (one.passages[place][0], place, made)
            for one, made in pairs
            for place in {n for places, _ in _parts(one.passages) for n in places} - made.texts.keys()
        ]
        found = stage.texts([chunk for chunk, _, _ in wanted])
        for chunk, place, made in wanted:
            made.texts[place] = found[chunk].text.strip()


def _parts(passages: Sequence[tuple[int, float]]) -> list[tuple[tuple[int, ...], float]]:
    """The places of the passages a note may be shown by, and the chance that they hold what answers.

    The chance of a passage is its share of exp(sharpness * score).
    """
    if len(passages) < 2:
        return [((0,), 1.0)] if passages else []
    highest = max(score for _, score in passages)
    weight = [math.exp(_SHARPNESS * (score - highest)) for _, score in passages]
    ranked = sorted(range(len(passages)), key=lambda place: (-weight[place], place))
    sizes = [1, _SEVERAL] if len(passages) > _SEVERAL else [1]
    found = [
        (tuple(sorted(ranked[:size])), sum(weight[place] for place in ranked[:size]) / sum(weight)) for size in sizes
    ]
    return [*found, (tuple(range(len(passages))), 1.0)] if len(passages) <= WHOLE_PASSAGES else found


def _excerpt(texts: Mapping[int, str], places: Sequence[int], passages: int) -> str:
    """Some passages in reading order, a mark where others are left out."""
    said: list[str] = []
    for before, place in zip((-1, *places), places, strict=False):
        said += [_GAP, texts[place]] if place != before + 1 else [texts[place]]
    return "\n".join([*said, _GAP] if places[-1] != passages - 1 else said)


def _told(label: str, text: str) -> str:
    """A text under its label, unless it begins with it: most short memories are their own label, told to the end."""
    bare = " ".join(label.rstrip(" …").split())
    return text if " ".join(text.split()).startswith(bare) else f"{label}\n{text}"


def _days(created: str, now: datetime) -> float | None:
    return max(0.0, (now - datetime.fromisoformat(created)).total_seconds() / 86_400) if created else None
