"""What to keep in a cache of so many memories, by the known rules: each sees what a turn needed and says what it holds.

    LRU         the least recently needed goes
    LFU         least frequently used with ageing: counts are halved every 15 turns, the lowest goes (Karedla 1994)
    ARC         adaptive replacement: recent and frequent lists, and ghosts of both that shift their shares
                (Megiddo and Modha, FAST 2003)
    S3-FIFO     a small queue for the new, a main queue with reinsertion, ghosts (Yang et al., SOSP 2023)
    W-TinyLFU   a window by LRU, a main part into which only the more frequent get (Einziger, Friedman and
                Manes, TOS 2017), with exact counts instead of a sketch, halved every 10 capacities
    GDSF        frequency over size above a clock of what went (Cherkasova 1998); all sizes are 1 here
    Belady      who is needed farthest in the future goes, and is not even taken in (bypass): the best there can be
                without prefetching

A turn needs its memories one after the other, the first hit last, so that it counts as the latest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from typing import Protocol


class Policy(Protocol):
    """What all of them can do."""

    def held(self) -> Collection[int]:
        """The memories in the cache."""

    def need(self, ids: Sequence[int]) -> None:
        """A turn needed these, best first."""


class _OneByOne:
    """A policy that takes one request after the other."""

    def need(self, ids: Sequence[int]) -> None:
        for id in reversed(ids):
            self.ask(id)

    def ask(self, id: int) -> None:
        raise NotImplementedError


class Lru(_OneByOne):
    """Least recently used."""

    def __init__(self, room: int) -> None:
        self.room, self.queue = room, OrderedDict[int, None]()

    def held(self) -> Collection[int]:
        return self.queue

    def ask(self, id: int) -> None:
        self.queue[id] = None
        self.queue.move_to_end(id)
        if len(self.queue) > self.room:
            self.queue.popitem(last=False)


class Lfu:
    """Least frequently used, ageing."""

    HALVED = 15

    def __init__(self, room: int) -> None:
        self.room, self.turn = room, 0
        self.counts: dict[int, tuple[float, int]] = {}

    def held(self) -> Collection[int]:
        return self.counts

    def need(self, ids: Sequence[int]) -> None:
        self.turn += 1
        fade = 0.5 ** (1 / self.HALVED)
        self.counts = {id: (count * fade, last) for id, (count, last) in self.counts.items()}
        for id in ids:
            self.counts[id] = (self.counts.get(id, (0.0, 0))[0] + 1, self.turn)
        best = sorted(self.counts, key=lambda one: (self.counts[one], one), reverse=True)[: self.room]
        self.counts = {id: self.counts[id] for id in best}


class Arc(_OneByOne):
    """Adaptive replacement, as in figure 4 of the paper."""

    def __init__(self, room: int) -> None:
        self.room, self.share = room, 0.0
        self.recent, self.often, self.recent_ghosts, self.often_ghosts = (OrderedDict[int, None]() for _ in range(4))

    def held(self) -> Collection[int]:
        return self.recent.keys() | self.often.keys()

    def ask(self, id: int) -> None:
        if id in self.recent or id in self.often:
            self.recent.pop(id, None)
        elif id in self.recent_ghosts:
            step = max(1.0, len(self.often_ghosts) / len(self.recent_ghosts))
            self.share = min(self.room, self.share + step)
            self._replace(id)
            del self.recent_ghosts[id]
        elif id in self.often_ghosts:
            step = max(1.0, len(self.recent_ghosts) / len(self.often_ghosts))
            self.share = max(0.0, self.share - step)
            self._replace(id)
            del self.often_ghosts[id]
        else:
            self._new(id)
            return
        self.often[id] = None
        self.often.move_to_end(id)

    def _new(self, id: int) -> None:
        if len(self.recent) + len(self.recent_ghosts) == self.room:
            if len(self.recent) < self.room:
                self.recent_ghosts.popitem(last=False)
                self._replace(id)
            else:
                self.recent.popitem(last=False)
        elif (known := sum(map(len, (self.recent, self.often, self.recent_ghosts, self.often_ghosts)))) >= self.room:
            if known == 2 * self.room:
                self.often_ghosts.popitem(last=False)
            self._replace(id)
        self.recent[id] = None

    def _replace(self, id: int) -> None:
        over = len(self.recent) > self.share or (id in self.often_ghosts and len(self.recent) == int(self.share))
        if self.recent and over:
            self.recent_ghosts[self.recent.popitem(last=False)[0]] = None
        elif self.often:
            self.often_ghosts[self.often.popitem(last=False)[0]] = None


class S3Fifo(_OneByOne):
    """Three queues: a tenth for the new, the rest for what was asked for again, ghosts."""

    def __init__(self, room: int) -> None:
        self.room, self.small_room = room, max(1, room // 10)
        self.small, self.main, self.ghosts = deque[int](), deque[int](), OrderedDict[int, None]()
        self.asked: Counter[int] = Counter()
        self.inside: set[int] = set()

    def held(self) -> Collection[int]:
        return self.inside

    def ask(self, id: int) -> None:
        if id in self.inside:
            self.asked[id] = min(self.asked[id] + 1, 3)
            return
        while len(self.inside) >= self.room:
            self._evict_small() if len(self.small) >= self.small_room or not self.main else self._evict_main()
        (self.main if id in self.ghosts else self.small).append(id)
        self.ghosts.pop(id, None)
        self.inside.add(id)
        self.asked[id] = 0

    def _evict_small(self) -> None:
        id = self.small.popleft()
        if self.asked[id] > 0:
            self.asked[id] = 0
            self.main.append(id)
            return
        self.inside.discard(id)
        self.ghosts[id] = None
        if len(self.ghosts) > self.room:
            self.ghosts.popitem(last=False)

    def _evict_main(self) -> None:
        id = self.main.popleft()
        if self.asked[id] > 0:
            self.asked[id] -= 1
            self.main.append(id)
        else:
            self.inside.discard(id)


class TinyLfu(_OneByOne):
    """A window by LRU before a main part by LRU that only the more frequent enter."""

    def __init__(self, room: int, window: float = 0.4) -> None:
        self.window, self.main = Lru(max(1, int(room * window))), Lru(room - max(1, int(room * window)))
        self.counts: Counter[int] = Counter()
        self.seen, self.sample = 0, 10 * room

    def held(self) -> Collection[int]:
        return self.window.queue.keys() | self.main.queue.keys()

    def ask(self, id: int) -> None:
        self.counts[id] += 1
        self.seen += 1
        if self.seen == self.sample:
            self.seen, self.counts = 0, Counter({key: n // 2 for key, n in self.counts.items() if n > 1})
        if id in self.main.queue:
            self.main.ask(id)
            return
        before = next(iter(self.window.queue), None)
        self.window.ask(id)
        if before is None or before in self.window.queue:
            return
        if len(self.main.queue) < self.main.room:
            self.main.ask(before)
        elif self.counts[before] > self.counts[loser := next(iter(self.main.queue))]:
            del self.main.queue[loser]
            self.main.ask(before)


class Gdsf(_OneByOne):
    """Greedy dual with frequency: with sizes of 1, a count above the clock of what went last."""

    def __init__(self, room: int) -> None:
        self.room, self.clock, self.time = room, 0.0, 0
        self.rank: dict[int, tuple[float, int]] = {}
        self.counts: Counter[int] = Counter()

    def held(self) -> Collection[int]:
        return self.rank

    def ask(self, id: int) -> None:
        self.time += 1
        self.counts[id] += 1
        self.rank[id] = (self.clock + self.counts[id], self.time)
        if len(self.rank) > self.room:
            out = min(self.rank, key=self.rank.__getitem__)
            self.clock = self.rank.pop(out)[0]
            del self.counts[out]


class Belady:
    """Clairvoyant: keeps what is needed soonest, of what it holds and what the turn needs."""

    def __init__(self, room: int, future: Sequence[Sequence[int]]) -> None:
        self.room, self.turn = room, 0
        self.uses: defaultdict[int, list[int]] = defaultdict(list)
        for turn, ids in enumerate(future, 1):
            for id in ids:
                self.uses[id].append(turn)
        self.kept: set[int] = set()

    def held(self) -> Collection[int]:
        return self.kept

    def need(self, ids: Sequence[int]) -> None:
        self.turn += 1
        self.kept = set(sorted(self.kept | set(ids), key=lambda one: (self._next(one), one))[: self.room])

    def _next(self, id: int) -> float:
        place = bisect_right(self.uses[id], self.turn)
        return self.uses[id][place] if place < len(self.uses[id]) else float("inf")


#: By name, all but Belady's, which has to be told the future.
POLICIES: dict[str, Callable[[int], Policy]] = {
    "LRU": Lru, "LFU with ageing": Lfu, "ARC": Arc, "S3-FIFO": S3Fifo, "W-TinyLFU": TinyLfu, "GDSF": Gdsf,
}  # fmt: skip
