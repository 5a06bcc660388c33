"""What speaks for a memory being needed next: clues from what was asked, shown and said so far. Pure and bounded.

A clue is a number between 0 and about 1 that a source gives a candidate: its rank in the current search or in an
earlier one, its nearness to where the questions are going, how lately it was said, how often it was needed, what
followed before. `NAMES` are the sources; `odds` weighs them.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from atlas.habits import Context, Habits

Vector = NDArray[np.float32]
#: A look-up by vector: (vector, k) → the k nearest memories with their scores, best first.
Nearest = Callable[[Vector, int], Sequence[tuple[str, float]]]
#: What speaks for each candidate: one number per name of `NAMES`.
Pool = dict[str, list[float]]

#: The sources; "bias" is 1 for all.
NAMES = (
    "bias", "now", "last", "before", "near", "back", "fresh", "used", "beside", "linked", "sibling", "habit", "topic",
    "proposed",
)  # fmt: skip
_COLUMN = {name: place for place, name in enumerate(NAMES)}
#: How much of each source is looked at: what lies deeper is not worth the time.
_POOL, _RANKED, _NEAREST, _NEAR, _SAID, _POPULAR, _LINKS, _MEMBERS, _NEXT_TO = 256, 60, 200, 60, 24, 16, 40, 24, 4
#: So many of the needed memories speak through their neighbours; of the first ones alone, through links and habits.
_SPEAK, _FIRST = 10, 3
#: Popularity is counted for so many memories, and fades by this share a turn.
_USED, _USED_FADE = 1000, 0.98
#: What a new question leaves of the mean of those before.
_MEAN = 0.5
#: So many searches back are remembered.
_BACK = 4
#: No state has seen more turns than this.
_AGES = 10**9


class Relations(Protocol):
    """What the caller knows of memories, each by a look-up in memory. An unknown id has no relations."""

    def known(self, id: str) -> bool:
        """Whether there is such a memory now: what is not known is never proposed."""

    def neighbours(self, id: str) -> Sequence[str]:
        """Memories of the same source next to it, the nearest first."""

    def linked(self, id: str) -> Sequence[str]:
        """Memories it links to, in the order of its text, then those that link to it."""

    def clusters(self, id: str) -> Sequence[str]:
        """The clusters it belongs to."""

    def members(self, cluster: str) -> Sequence[str]:
        """The memories of a cluster, the most telling first: the first two dozen are looked at."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One answered turn.

    `needed`: what the answer showed or ranked first, best first. `ranked`: the further hits, best first. `missed`:
    those of `needed` that were not ready when asked for; None is all. `said`: what was stored since the last turn,
    oldest first. `vector`: the question's, of unit length. `proposed`: what a language model expects, 0 to 1.
    """

    needed: tuple[str, ...]
    ranked: tuple[str, ...] = ()
    missed: tuple[str, ...] | None = None
    said: tuple[str, ...] = ()
    vector: Vector | None = None
    proposed: Mapping[str, float] = field(default_factory=dict)


class _Nothing:
    """Relations of a caller that knows none."""

    def known(self, id: str) -> bool:
        return bool(id)

    def none(self, id: str) -> Sequence[str]:
        del id
        return ()

    neighbours = linked = clusters = members = none


NOTHING: Relations = _Nothing()


class Clues:
    """What is remembered of the turns so far, as far as it says something of the next."""

    def __init__(self) -> None:
        self._memories, self._topics = Habits(), Habits()
        self._turn = 0
        self._path: tuple[tuple[str, ...], ...] = ()
        self._clusters: tuple[str, ...] = ()
        self._ranked: deque[tuple[str, ...]] = deque(maxlen=_BACK)
        self._said: deque[tuple[str, int]] = deque(maxlen=_SAID)
        self._used: dict[str, tuple[float, int]] = {}
        self._mean: Vector | None = None
        self._vector: Vector | None = None
        self._before: Vector | None = None

    def take(self, turn: Turn, relations: Relations) -> None:
        """Remember a turn."""
        self._follow(turn, relations)
        self._turn += 1
        for id in turn.needed[:_SPEAK]:
            self._used[id] = (round(self._popularity(id) + 1, 4), self._turn)
        if len(self._used) > _USED:
            kept = heapq.nlargest(_USED * 3 // 4, self._used, key=self._popularity)
            self._used = {id: self._used[id] for id in kept}
        self._said.extend((id, self._turn) for id in turn.said[-_SAID:])
        self._ranked.appendleft(turn.ranked[:_RANKED])
        if turn.vector is not None and np.isfinite(turn.vector).all():
            self._turn_to(turn.vector)

    def gather(self, turn: Turn, warm: Container[str], relations: Relations, nearest: Nearest | None) -> Pool:
        """The candidates with what speaks for each; those of the most telling sources first."""
        pool: Pool = {}
        out = set(turn.needed)

        def add(name: str, found: Iterable[tuple[str, float]], *, most: int = _POOL) -> None:
            column = _COLUMN[name]
            for id, value in found:
                row = pool.get(id)
                if row is None:
                    if len(pool) >= _POOL or id in out or id in warm or not relations.known(id):
                        continue
                    row = pool[id] = [1.0] + [0.0] * (len(NAMES) - 1)
                row[column] = max(row[column], round(value, 4))
                most -= 1
                if not most:
                    return

        add("proposed", ((id, min(score, 1.0)) for id, score in turn.proposed.items() if score > 0), most=_SAID)
        add("habit", self._habits())
        add("fresh", ((id, 1 / (1 + self._turn - then)) for id, then in reversed(self._said)))
        add("linked", _spread((relations.linked(id) for id in turn.needed[:_FIRST]), _LINKS))
        for name, vector in (("near", self._mean), ("back", self._before)):
            if nearest is not None and vector is not None and turn.vector is not None:
                add(name, _heights(nearest(_unit(vector), _NEAREST)), most=_NEAR)
        add("beside", self._beside(turn, relations))
        for name, ranked in zip(("now", "last", "before", "before"), self._ranked, strict=False):
            add(name, _ranks(ranked, _RANKED))
        add("topic", self._next_topics(relations))
        add("sibling", _spread((relations.members(c) for c in self._clusters), _MEMBERS))
        add("used", ((id, 0.0) for id in heapq.nlargest(_POPULAR, self._used, key=self._popularity)))
        for id, row in pool.items():
            row[_COLUMN["used"]] = round(math.log1p(self._popularity(id)), 4)
        return pool

    def _follow(self, turn: Turn, relations: Relations) -> None:
        """Count what was needed after what, memories and clusters."""
        before = set(self._path[0]) if self._path else set()
        new = [id for id in turn.needed if id not in before]
        for chain in self._contexts():
            for context in chain:
                self._memories.learn(context, new[::-1])  # where not all have room, the last stay
        clusters = _clusters(turn.needed[:_FIRST], relations)
        for cluster in self._clusters:
            self._topics.learn((cluster,), [c for c in clusters if c != cluster])
        self._path = (turn.needed[:_SPEAK], *self._path[:1])
        self._clusters = clusters

    def _contexts(self) -> list[list[Context]]:
        """The contexts of what comes next: of the first needed memory a short and a long one, of others a short one."""
        if not self._path or not self._path[0]:
            return []
        first, *others = self._path[0][:_FIRST]
        chain: list[Context] = [(first,)]
        if len(self._path) > 1 and self._path[1]:
            chain.append((self._path[1][0], first))
        short: list[list[Context]] = [[(other,)] for other in others]
        return [chain, *short]

    def _turn_to(self, vector: Vector) -> None:
        """Where the questions are going is their fading mean; two who talk in turn come back to the one before."""
        old = self._mean if self._mean is not None and self._mean.shape == vector.shape else None
        self._before = None if old is None else self._vector
        self._mean = _short(vector if old is None else _MEAN * old + (1 - _MEAN) * vector)
        self._vector = _short(vector)

    def _popularity(self, id: str) -> float:
        count, then = self._used.get(id, (0.0, self._turn))
        return count * _USED_FADE ** (self._turn - then)

    def _habits(self) -> Iterable[tuple[str, float]]:
        """What followed what was needed, by the logarithm of its odds."""
        for chain in self._contexts():
            yield from ((id, _log_odds(p)) for id, p in self._memories.after(chain).items())

    def _beside(self, turn: Turn, relations: Relations) -> Iterable[tuple[str, float]]:
        """What stands next to what was needed; the more of them, the louder."""
        heard: dict[str, float] = {}
        for id in turn.needed[:_SPEAK]:
            for place, other in enumerate(relations.neighbours(id)[:_NEXT_TO]):
                heard[other] = heard.get(other, 0.0) + 1 / (1 + place // 2)
        return heard.items()

    def _next_topics(self, relations: Relations) -> Iterable[tuple[str, float]]:
        """The members of the clusters most likely to follow those of now."""
        for cluster in self._clusters:
            likely = heapq.nlargest(_FIRST, self._topics.after([(cluster,)]).items(), key=itemgetter(1))
            for other, p in likely:
                value = _log_odds(p)
                yield from ((id, value) for id in relations.members(other)[:_MEMBERS])

    # ------------------------------------------------------------------------ state

    def state(self) -> dict[str, Any]:
        """As JSON; ids and cluster names stand in `names` once."""
        seen = itertools.chain(self._memories.names(), self._topics.names())
        names = list(dict.fromkeys(seen))
        number = {name: place for place, name in enumerate(names)}
        return {
            "names": names,
            "memories": self._memories.state(number),
            "topics": self._topics.state(number),
            "turn": self._turn,
            "path": [list(ids) for ids in self._path],
            "clusters": list(self._clusters),
            "ranked": [list(ids) for ids in self._ranked],
            "said": [list(one) for one in self._said],
            "used": [[id, count, then] for id, (count, then) in self._used.items()],
            "vectors": [_listed(vector) for vector in (self._mean, self._vector, self._before)],
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Clues:
        """From a state. Raises LookupError, TypeError or ValueError if it is damaged."""
        made = cls()
        names = _ids(state["names"])
        made._memories = Habits.restored(state["memories"], names)
        made._topics = Habits.restored(state["topics"], names)
        made._turn = _whole(state["turn"], _AGES)
        made._path = tuple(_ids(ids)[:_SPEAK] for ids in state["path"][:2])
        made._clusters = _ids(state["clusters"])[:_FIRST]
        made._ranked.extend(_ids(ids)[:_RANKED] for ids in state["ranked"][:_BACK])
        made._said.extend((_id(id), _whole(then, made._turn)) for id, then in state["said"])
        made._used = {_id(id): (abs(_finite(c)), _whole(then, made._turn)) for id, c, then in state["used"][:_USED]}
        made._mean, made._vector, made._before = (_vector(values) for values in state["vectors"])
        return made


def _id(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _ids(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(_id(value) for value in values)


def _whole(value: Any, most: int) -> int:
    number = int(value)
    if not 0 <= number <= most:
        raise ValueError(value)
    return number


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number) or abs(number) > 1e6:
        raise ValueError(value)
    return number


def _clusters(ids: Iterable[str], relations: Relations) -> tuple[str, ...]:
    found = dict.fromkeys(cluster for id in ids for cluster in relations.clusters(id))
    return tuple(itertools.islice(found, _FIRST))


def _unit(vector: Vector) -> Vector:
    return vector / np.float32(np.linalg.norm(vector) or 1)


def _short(vector: Vector) -> Vector:
    """To the places that the state keeps, so that what is restored is what was."""
    return np.round(vector, 4).astype(np.float32)


def _listed(vector: Vector | None) -> list[float] | None:
    return None if vector is None else [round(float(x), 4) for x in vector]


def _vector(values: Any) -> Vector | None:
    return None if values is None else np.array([_finite(x) for x in values], np.float32)


def _heights(found: Sequence[tuple[str, float]]) -> Iterable[tuple[str, float]]:
    """How far each stands above the last of them, the first at 1."""
    if not found:
        return ()
    first, last = found[0][1], found[-1][1]
    return ((id, (score - last) / (first - last) if first > last else 1.0) for id, score in found)


def _ranks(ids: Sequence[str], depth: int) -> Iterable[tuple[str, float]]:
    """1 for the first, 0 at the given depth, falling with the logarithm of the rank."""
    scale = math.log1p(depth / 10)
    return ((id, 1 - math.log1p(place / 10) / scale) for place, id in enumerate(ids[:depth]))


def _spread(groups: Iterable[Sequence[str]], most: int) -> Iterable[tuple[str, float]]:
    """The members of each group; the fewer they are, the more it says of each, and a little more of the first."""
    scale = math.log1p(2 * most)
    for group in groups:
        size = min(len(group), most)
        yield from ((id, 1 - math.log(size + place + 1) / scale) for place, id in enumerate(group[:most]))


def _log_odds(p: float) -> float:
    """0 for a probability of 1/200 or less, 2.6 for one in two."""
    p = min(max(p, 0.005), 0.95)
    return math.log(p / (1 - p) * 199) / 2
