"""Hot, warm, cold: which memories are held ready, and which make room for them. Pure: no files, no threads.

    hot     in front of the agent: what the last view showed
    warm    ready to be shown: left the view, was prefetched, was just written
    cold    all others: in the index and the files

Tiers hold what was prepared of a memory (its levels, rendered and counted), under the id of the blob it was made of.
They save work and decide nothing: who ranks never looks here, so a better cold memory is never hidden by a ready one,
and what was made of other content is never served.

Room is in tokens. Hot never has more than its own; warm also has what hot leaves free, so that a memory moved
between the two is never lost. Who makes room is the one least likely to be needed next (`forecast`). A memory that
is expected comes in only if it is worth more than all it would push out; a worth is probability times size, since
what a memory that is not ready costs is loading, rendering and counting its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from atlas.forecast import Forecast
from atlas.memory import Tier

#: The first so many hits of an answer are what it needed.
NEEDED: Final = 10
#: What is left after each answer of an expectation that did not come true.
STAYING = 0.5
NOTHING: Final[Mapping[str, Held]] = MappingProxyType({})
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Held:
    """A memory's content by its blob id, its size in tokens, and what was prepared of it, which stays in memory."""

    blob: str
    size: int
    payload: object = None


class Tiers:
    """The memories held ready for one scope. The same calls in the same order give the same tiers."""

    def __init__(self, hot_tokens: int, warm_tokens: int) -> None:
        self.hot_tokens, self.warm_tokens = max(0, hot_tokens), max(0, warm_tokens)
        self.forecast = Forecast()
        self._held: dict[str, Held] = {}
        self._hot: dict[str, None] = {}
        #: Expectations from outside that the forecast does not know of.
        self._gains: dict[str, float] = {}
        #: Asked for by name: held until they are let go, as far as they fit.
        self._loaded: dict[str, None] = {}
        self._sizes = {Tier.HOT: 0, Tier.WARM: 0}
        self._counts = dict.fromkeys(("answers", "needed", "hot", "warm", "admitted", "refused", "stale"), 0)

    # ------------------------------------------------------------------ looking

    def get(self, id: str, blob: str) -> object:
        """What was prepared of this content, or None. What was made of other content is dropped."""
        held = self._held.get(id)
        if held is None:
            return None
        if held.blob != blob:
            self._stale(id)
            return None
        return held.payload

    def tier(self, id: str) -> Tier:
        """Where the memory is now."""
        if id not in self._held:
            return Tier.COLD
        return Tier.HOT if id in self._hot else Tier.WARM

    def __contains__(self, id: object) -> bool:
        return id in self._held

    def __len__(self) -> int:
        return len(self._held)

    def hot(self) -> tuple[str, ...]:
        """The ids in front of the agent, in the order they were shown."""
        return tuple(self._hot)

    def tokens(self, ids: Iterable[str]) -> int:
        """How many tokens those of these memories have that are held."""
        return self._tokens(id for id in ids if id in self._held)

    def bare(self) -> tuple[str, ...]:
        """The ids of which nothing is prepared, as after a restart, the likeliest to be needed first."""
        return tuple(id for id, _ in self._ranked(id for id, held in self._held.items() if held.payload is None))

    # ------------------------------------------------------------------- moving

    def turn(self, shown: Mapping[str, Held], ranked: Sequence[str] = (), ready: Mapping[str, Held] = NOTHING) -> None:
        """An answer was given: what it showed is hot now, as far as there is room, and what was hot is warm.

        `ranked` are all its hits, best first (default: what it showed); the first `NEEDED` are what it needed. What was
        made `ready` for it and not shown is warm too, as far as there is room.
        """
        ranked = ranked or tuple(shown)
        needed = ranked[:NEEDED]
        self._counts["answers"] += 1
        self._counts["needed"] += len(needed)
        for id in needed:
            if id in self._held:
                self._counts[self.tier(id).value] += 1
        self.forecast.answered(ranked, frozenset(needed))
        self._gains = {id: gain * STAYING for id, gain in self._gains.items() if id in self._held and gain > 0.001}
        self._hot = {}
        for id, held in (*ready.items(), *shown.items()):
            self._put(id, held)
        self._heat(shown)
        self._settle()

    def admit(self, id: str, blob: str, size: int, gain: float = 0.0, payload: object = None) -> bool:
        """Take in an expected memory, if it is worth more than what it would push out; whether it is held now.

        `gain` is the caller's probability that it is needed soon; the forecast's counts where that is higher.
        """
        gain = min(max(gain, 0.0), 1.0) if gain == gain else 0.0  # noqa: PLR0124 - not a number is no gain
        new = Held(blob, max(size, 1), payload)
        old = self._held.get(id)
        if old is not None and old.blob != blob:
            self._stale(id)
        out = [] if id in self._held else self._makes_room(new.size, max(gain, self.forecast.of([id])[0]))
        if out is None:
            self._counts["refused"] += 1
            return False
        self._counts["admitted"] += id not in self._held
        for other in out:
            self._drop(other)
        self._gains[id] = max(gain, self._gains.get(id, 0.0))
        self._put(id, new)
        self._settle()
        return id in self._held

    def written(self, id: str, blob: str, size: int, payload: object = None) -> bool:
        """A memory was stored or changed: what was made of its old content goes, the new is expected as such are."""
        self.forecast.written(id)
        return self.admit(id, blob, size, payload=payload)

    def load(self, items: Mapping[str, Held]) -> tuple[str, ...]:
        """Take in memories that are asked for by name, best first, and hold them until they are unloaded; who is held.

        Together with all others loaded they have no more than warm's room; one that does not fit is left out.
        """
        room = self.warm_tokens - self._tokens(id for id in self._loaded if id in self._held and id not in items)
        taken: list[str] = []
        for id, held in items.items():
            if max(held.size, 1) <= room:
                room -= max(held.size, 1)
                taken.append(id)
        self._loaded = {id: None for id in self._loaded if id not in items} | dict.fromkeys(taken)
        for id in taken:
            self._put(id, items[id])
        self._settle()
        return tuple(taken)

    def unload(self, ids: Iterable[str]) -> None:
        """Let go of memories that were loaded; those in front of the agent stay there until a view moves on."""
        for id in ids:
            self._loaded.pop(id, None)
            if id in self._held and id not in self._hot:
                self._drop(id)

    def demote(self, ids: Iterable[str]) -> None:
        """Take memories from hot to warm, as when their topic is left; none is lost."""
        for id in ids:
            self._hot.pop(id, None)
            self._gains.pop(id, None)

    def promote(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Take memories from warm to hot as far as there is room, and expect them all; those that are cold."""
        wanted = tuple(dict.fromkeys(ids))
        self._gains |= {id: 1.0 for id in wanted if id in self._held}
        self._heat(wanted)
        return tuple(id for id in wanted if id not in self._held)

    def keep_only(self, live: Mapping[str, str]) -> None:
        """Drop what is gone or has other content: `live` has the blob id of every memory that may be served."""
        for id, held in list(self._held.items()):
            if live.get(id) != held.blob:
                self._stale(id)
        self._loaded = {id: None for id in self._loaded if id in live}
        self.forecast.forget(live)

    def wanted(self, limit: int = NEEDED) -> list[tuple[str, float]]:
        """Cold memories that are likely to be needed next: (id, probability), at most so many, the likeliest first."""
        return [(id, chance) for id, chance in self.forecast.best() if id not in self._held][:limit]

    def rival(self) -> float:
        """What a place costs: the probability that what would have to go is needed next; 0 while there is room."""
        if self._tokens(self._held) < self.hot_tokens + self.warm_tokens:
            return 0.0
        ranked = self._ranked(id for id in self._held if id not in self._hot)
        return ranked[-1][1] if ranked else 1.0

    # ------------------------------------------------------------------ telling

    def numbers(self) -> dict[str, float]:
        """What happened so far: hits are of memories that were ready before they were asked for."""
        counts = self._counts
        hits = counts["hot"] + counts["warm"]
        return {
            **counts,
            "hit_rate": hits / counts["needed"] if counts["needed"] else 0.0,
            "hot_memories": len(self._hot),
            "warm_memories": len(self._held) - len(self._hot),
            "hot_tokens": self._tokens(self._hot),
            "warm_tokens": self._tokens(self._held) - self._tokens(self._hot),
        }

    def state(self) -> dict[str, Any]:
        """What a later process goes on with, as JSON: ids and numbers, nothing of the texts."""
        return {
            "version": _VERSION,
            "held": {id: [held.blob, held.size] for id, held in self._held.items()},
            "hot": list(self._hot),
            "loaded": list(self._loaded),
            "gains": {id: float(f"{gain:.5g}") for id, gain in self._gains.items()},
            "counts": dict(self._counts),
            "forecast": self.forecast.state(),
        }

    @classmethod
    def restored(cls, state: object, hot_tokens: int, warm_tokens: int) -> Tiers:
        """Go on from `state`, with room as it is set now; empty where the state is damaged or not one of these."""
        tiers = cls(hot_tokens, warm_tokens)
        try:
            tiers._take(state)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            return cls(hot_tokens, warm_tokens)
        return tiers

    def _take(self, state: Any) -> None:
        if state["version"] != _VERSION:
            raise ValueError
        self.forecast = Forecast.restored(state["forecast"])
        self._counts = {name: int(state["counts"][name]) for name in self._counts}
        self._held = {str(id): Held(str(blob), max(int(size), 1)) for id, (blob, size) in state["held"].items()}
        self._gains = {str(id): min(max(float(gain), 0.0), 1.0) for id, gain in state["gains"].items()}
        self._loaded = {str(id): None for id in state.get("loaded", ())}
        self._heat(state["hot"])
        self._settle()

    # ------------------------------------------------------------------- within

    def _tokens(self, ids: Iterable[str]) -> int:
        return sum(self._held[id].size for id in ids)

    def _ranked(self, ids: Iterable[str]) -> list[tuple[str, float]]:
        """The memories and what is expected of each, the most expected first; equals by id, never by chance.

        Before all others stand those that were loaded.
        """
        ids = list(ids)
        pairs = zip(ids, self.forecast.of(ids), strict=True)
        expected = [(id, max(chance, self._gains.get(id, 0.0))) for id, chance in pairs]
        return sorted(expected, key=lambda pair: (pair[0] not in self._loaded, -pair[1], pair[0]))

    def _makes_room(self, size: int, chance: float) -> list[str] | None:
        """Whom to push out for a newcomer: the least expected of warm; None when they are worth as much as it."""
        over = self._tokens(self._held) + size - self.hot_tokens - self.warm_tokens
        out: list[str] = []
        worth = chance * size
        ranked = self._ranked(id for id in self._held if id not in self._hot) if over > 0 else []
        while over > 0:
            if not ranked:
                return None
            id, its = ranked.pop()
            worth -= its * self._held[id].size
            if worth <= 0 or id in self._loaded:
                return None
            over -= self._held[id].size
            out.append(id)
        return out

    def _put(self, id: str, new: Held) -> None:
        """Hold it, as of one token at least; what was prepared of the same content stays where nothing newer comes."""
        old = self._held.get(id)
        kept = old.payload if old is not None and old.blob == new.blob else None
        self._held[id] = Held(new.blob, max(new.size, 1), kept if new.payload is None else new.payload)

    def _heat(self, ids: Iterable[str]) -> None:
        """Make memories hot, those for which there is room; never what is cold."""
        room = self.hot_tokens - self._tokens(self._hot)
        for id in ids:
            if id in self._held and id not in self._hot and self._held[id].size <= room:
                self._hot[id] = None
                room -= self._held[id].size

    def _settle(self) -> None:
        """Keep to the capacities: the least expected of warm becomes cold."""
        while self._tokens(self._hot) > self.hot_tokens:
            self._hot.popitem()
        over = self._tokens(self._held) - self.hot_tokens - self.warm_tokens
        ranked = self._ranked(id for id in self._held if id not in self._hot) if over > 0 else []
        while over > 0:
            id, _ = ranked.pop()
            over -= self._held[id].size
            self._drop(id)

    def _stale(self, id: str) -> None:
        self._counts["stale"] += 1
        self._drop(id)

    def _drop(self, id: str) -> None:
        del self._held[id]
        self._hot.pop(id, None)
        self._gains.pop(id, None)
