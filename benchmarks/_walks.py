"""Readers with habits, walking the links of a vault: a trace in which something can be learned.

The links are the vault's own, resolved as Atlas resolves them. The readers are made up, from a seed:

- A reader has `HOMES` notes it begins at, drawn from the notes with at least `FEWEST` links. A sitting begins at one of
  them, drawn evenly, and ends after each step with probability 1/`SITTING`; the next sitting begins.
- At every note a reader has an order of its links of its own, drawn once and kept: the i-th is liked as 1/i².
- A step follows a link as liked (`LIKED`), or any link of the note (`ANY`), goes back to where the reader came from
  (`BACK`), or to the home of the sitting (`HOME`). A note without links, or nothing to go back to, leads home.

What a turn needs is the note that is opened, one at a time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from atlas import note
from atlas.markdown import targets
from atlas.resolver import Known, Names
from atlas.source import decode

HOMES, FEWEST, SITTING = 30, 8, 12
LIKED, ANY, BACK, HOME = 0.75, 0.05, 0.12, 0.08
STEPS = 3000

Links = Mapping[str, Sequence[str]]


def links(vault: Path) -> dict[str, tuple[str, ...]]:
    """The notes of a vault by path, each with the notes it links to, in the order of its text, each once."""
    places = {file.relative_to(vault): file for file in sorted(vault.rglob("*.md"))}
    notes = {p.as_posix(): f for p, f in places.items() if not any(part.startswith(".") for part in p.parts)}
    read = {path: note.parse(decode(file.read_bytes()).text, path) for path, file in notes.items()}
    names = Names(Known(path, one.title, one.aliases, str(one.meta.get("id", ""))) for path, one in read.items())
    found = {}
    for path, one in read.items():
        answers = (names.find(target, path) for target in targets(one))
        found[path] = tuple(dict.fromkeys(a.path for a in answers if a and a.path != path))
    return found


def walk(graph: Links, seed: int, steps: int = STEPS) -> list[str]:
    """The notes a reader opens, one after the other."""
    reader = _Reader(graph, random.Random(seed))
    return list(islice(reader.steps(), steps))


class _Reader:
    def __init__(self, graph: Links, chance: random.Random) -> None:
        self.graph, self.chance = graph, chance
        able = sorted(path for path, there in graph.items() if len(there) >= FEWEST)
        self.homes = chance.sample(able, HOMES)
        self.likes: dict[str, list[str]] = {}

    def steps(self) -> Iterator[str]:
        """The walk, without end."""
        while True:
            home = self.chance.choice(self.homes)
            trail = [home]
            yield home
            while self.chance.random() >= 1 / SITTING:
                trail = self._step(trail, home)
                yield trail[-1]

    def _step(self, trail: list[str], home: str) -> list[str]:
        there = self.graph[trail[-1]]
        (how,) = self.chance.choices(("liked", "any", "back", "home"), (LIKED, ANY, BACK, HOME))
        if how in ("liked", "any") and there:
            return [*trail, self._liked(trail[-1]) if how == "liked" else self.chance.choice(there)]
        if how == "back" and len(trail) > 1:
            return trail[:-1]
        return [home]

    def _liked(self, here: str) -> str:
        if here not in self.likes:
            self.likes[here] = self.chance.sample(self.graph[here], len(self.graph[here]))
        order = self.likes[here]
        return self.chance.choices(order, [1 / place**2 for place in range(1, len(order) + 1)])[0]
