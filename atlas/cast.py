"""Who may appear in a view: a memory's texts at every level, made safe and counted, and their worth to a question.

What does not depend on the question is made once for each content and kept (`Prepared`); the tiers hold it ready.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from atlas import excerpt, frame, guard, scene, words
from atlas.memory import HUB, Lod
from atlas.scene import Candidate, Heading, Level
from atlas.tokens import added

if TYPE_CHECKING:
    from atlas.cache import Tiers
    from atlas.excerpt import Line
    from atlas.stage import Facts, Seen, Stage
    from atlas.tokens import Tokenizer

#: Of a note of more passages, those that fit best are looked at, and it is never shown whole.
PASSAGES = 12
#: A longer note, in characters, is shown by the lines that answer too.
_LONG = 1200
_MOST_EXCERPTS = 16
_MOST_FACTS = 20_000


@dataclass(slots=True)
class Prepared:
    """One content, ready to be shown: what `Tiers` hold.

    `texts` has its passages by their place in it, from 0, `lines` the same cut into lines, `costs` the tokens of each;
    `made` its fullest levels, by what they are made of. These fill as questions ask for them.
    """

    facts: Facts
    name: str
    heading: Heading
    label: Level
    summary: Level | None
    label_terms: frozenset[str]
    summary_terms: frozenset[str]
    texts: dict[int, str] = field(default_factory=dict)
    lines: dict[int, tuple[Line, ...]] = field(default_factory=dict)
    costs: dict[str, int] = field(default_factory=dict)
    made: dict[tuple[object, ...], Level] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The tokens of the fullest level made so far."""
        levels = chain([self.label], [self.summary] if self.summary else [], self.made.values())
        return max(level.tokens for level in levels)


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
    """What is asked, as far as values depend on it: its terms with what each tells, the time, the best hit's score."""

    terms: Mapping[str, float]
    now: datetime
    best: float

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
        """What is prepared of these memories, by id: the texts to show them by are there."""
        facts = self._known(stage, seen)
        found: dict[str, Prepared] = {}
        for one in seen:
            own = facts[stage.token, one.note]
            made = self.tiers.get(one.id, own.blob)
            found[one.id] = made if isinstance(made, Prepared) else self._prepared(one, own)
        _fetch(stage, [(one, found[one.id]) for one in seen])
        return found

    def candidate(self, question: Question, one: Seen, made: Prepared, *, rank: int, always: bool = False) -> Candidate:
        """A memory as one that may be shown; `rank` is its place from 1."""
        importance = 0.5 if made.facts.importance is None else made.facts.importance
        likely = scene.probability(one.score, rank, question.best, sum(map(len, made.texts.values())))
        value = scene.worth(likely, trust=one.trust, importance=importance, days=_days(one.created, question.now))
        steering = scene.preferred(importance, guessed=made.facts.implicit) if always else 0.0
        return Candidate(
            id=one.id,
            value=max(value, steering),
            levels=scene.levels(self._levels(question, one, made)),
            heading=made.heading,
            label=one.label,
            clusters=made.facts.clusters,
            always=always,
            cluster=PurePosixPath(one.path).stem if one.kind == HUB else "",
            name=made.name,
        )

    def worth(self, one: Seen, made: Prepared, now: datetime) -> float:
        """What a memory is worth before anything is asked."""
        importance = 0.5 if made.facts.importance is None else made.facts.importance
        return scene.worth(1.0, trust=one.trust, importance=importance, days=_days(one.created, now))

    def finish(self, one: Seen, made: Prepared) -> None:
        """Make what every question needs of it."""
        self._whole(one, made)

    def _levels(self, question: Question, one: Seen, made: Prepared) -> list[Level]:
        """Every level a memory may be shown at, with what it keeps of what was asked."""
        found = [replace(made.label, kept=scene.kept(Lod.L0, question.share(made.label_terms)))]
        if made.summary is not None:
            found.append(replace(made.summary, kept=scene.kept(Lod.L1, question.share(made.summary_terms))))
        whole = self._whole(one, made)
        if sum(map(len, made.texts.values())) > _LONG:
            found += self._excerpts(question, one, made)
        return [*found, whole] if whole else found

    def _whole(self, one: Seen, made: Prepared) -> Level | None:
        """Everything, of a note that is not too long for it."""
        if not 0 < len(one.passages) <= PASSAGES:
            return None
        if () not in made.made:
            text = "\n".join(made.texts[place] for place in range(len(one.passages)))
            made.made[()] = frame.level(self.tokenizer, made.name, Lod.L2, _told(one.label, text))
        return made.made[()]

    def _excerpts(self, question: Question, one: Seen, made: Prepared) -> Iterable[Level]:
        """The lines that answer, fewest first, of the passages that fit best."""
        places = _best(one.passages)
        for place in places:
            if place not in made.lines:
                made.lines[place] = tuple(map(excerpt.read, excerpt.lines(made.texts[place])))
        parts = [line for place in places for line in made.lines[place]]
        for chosen, chance in excerpt.excerpts(parts, question.terms):
            key = (*places, -1, *chosen)
            if key not in made.made:
                while len(made.made) >= _MOST_EXCERPTS:
                    del made.made[next(key for key in made.made if key)]
                made.made[key] = self._excerpt(one, made, [part.text for part in parts], chosen)
            yield replace(made.made[key], kept=chance)

    def _excerpt(self, one: Seen, made: Prepared, parts: Sequence[str], chosen: Sequence[int]) -> Level:
        """Some lines under the label; each is made safe and counted once."""
        said = excerpt.spaced(parts, chosen, excerpt.GAP)
        label = _told(one.label, said[0])
        head = frame.level(self.tokenizer, made.name, Lod.L2, said[0] if label == said[0] else one.label)
        below = [guard.guarded(line) for line in (said[1:] if label == said[0] else said)]
        for line in below:
            if line not in made.costs:
                made.costs[line] = added(self.tokenizer, line)
        return Level(Lod.L2, "\n".join([head.text, *below]), head.tokens + sum(made.costs[line] for line in below))

    def _known(self, stage: Stage, seen: Sequence[Seen]) -> Mapping[tuple[str, int], Facts]:
        """The facts of contents, asked of the index once for each."""
        new = {one.note for one in seen if (stage.token, one.note) not in self._facts}
        if len(self._facts) + len(new) > _MOST_FACTS:
            self._facts.clear()
            new = {one.note for one in seen}
        self._facts.update(((stage.token, note), facts) for note, facts in stage.facts(new).items())
        return self._facts

    def _prepared(self, one: Seen, facts: Facts) -> Prepared:
        # What sums up an older text is not shown: the memory goes from its label to the lines of the text itself.
        summary = "" if facts.stale else one.summary
        name, told = self.names.of(one.id), _told(one.label, summary)
        return Prepared(
            facts=facts,
            name=name,
            heading=frame.heading(
                self.tokenizer, one.created, facts.source, f"{one.trust} implicit" if facts.implicit else one.trust
            ),
            label=frame.level(self.tokenizer, name, Lod.L0, one.label),
            summary=frame.level(self.tokenizer, name, Lod.L1, told) if summary else None,
            label_terms=frozenset(words.terms(one.label)),
            summary_terms=frozenset(words.terms(told)) if summary else frozenset(),
        )


def _fetch(stage: Stage, pairs: Iterable[tuple[Seen, Prepared]]) -> None:
    """Take the passages these may be shown by from the index, as far as they are not there yet."""
    wanted = [
        (one.passages[place][0], place, made)
        for one, made in pairs
        for place in _best(one.passages)
        if place not in made.texts
    ]
    found = stage.texts([chunk for chunk, _, _ in wanted])
    for chunk, place, made in wanted:
        made.texts[place] = found[chunk].text.strip()


def _best(passages: Sequence[tuple[int, float]]) -> Sequence[int]:
    """The places of the passages that fit best, in reading order; all, where they are few."""
    if len(passages) <= PASSAGES:
        return range(len(passages))
    return sorted(sorted(range(len(passages)), key=lambda place: (-passages[place][1], place))[:PASSAGES])


def _told(label: str, text: str) -> str:
    """A text under its label, unless it begins with it: most short memories are their own label, told to the end."""
    bare = " ".join(label.rstrip(" …").split())
    return text if " ".join(text.split()).startswith(bare) else f"{label}\n{text}"


def _days(created: str, now: datetime) -> float | None:
    return max(0.0, (now - datetime.fromisoformat(created)).total_seconds() / 86_400) if created else None
