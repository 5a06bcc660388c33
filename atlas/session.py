"""A conversation: what is in front of its agent, what is ready, what it has learned; over turns and over processes.

A view is ranked by the whole index each time and composed out of the best, so that nothing ready ever hides a better
memory: the tiers only save the work of fetching, making safe and counting. What follows an answer (the journal,
learning, prefetching, saving) is done by `Afterwards`, off the caller's path.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atlas import config, focus, frame, kept, tokens
from atlas.afterwards import Afterwards, Answer
from atlas.cache import Held, Tiers
from atlas.cast import Cast, Names, Question
from atlas.errors import UsageError
from atlas.memory import Left, Shown, View
from atlas.stage import Stage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atlas.afterwards import Ask
    from atlas.cast import Prepared
    from atlas.config import Config
    from atlas.frame import Drawn
    from atlas.scene import Candidate
    from atlas.search import Asked
    from atlas.stage import Seen

STABLE, RELEVANCE = "stable", "relevance"
#: A view is chosen out of the best that have so many times its tokens.
_CHOICE = 5
#: Of the memories that are always shown so many are looked at, and of those left out so many are told.
_ALWAYS, _TOLD = 50, 50


@dataclass(frozen=True, slots=True)
class _Gathered:
    """All that may be shown: what was seen of each by id, what is prepared of it, the candidates, the ranking."""

    seen: Mapping[str, Seen]
    made: Mapping[str, Prepared]
    candidates: tuple[Candidate, ...]
    ranked: tuple[str, ...]


_EMPTY = _Gathered({}, {}, (), ())


@dataclass(frozen=True, slots=True)
class Loaded:
    """What loading or unloading a cluster did: so many of its memories, with so many tokens; `left` had no room."""

    cluster: str
    memories: int = 0
    tokens: int = 0
    left: int = 0


class Session:
    """One conversation in the scope of its engine. Safe to use from threads."""

    def __init__(self, config: Config, ask: Ask, name: str, *, resident: bool) -> None:
        self.name = name
        self._config, self._ask, self._resident = config, ask, resident
        self._mutex = threading.RLock()
        self._tokenizer = tokens.load(config.tokenizer, config.root)
        self._begin()

    def _begin(self) -> None:
        """Go on from what was kept, or from nothing."""
        self._kept = kept.load(self._config, self.name)
        self._frame = frame.Frame(self._kept.fence, self._tokenizer)
        self._tiers = self._kept.tiers
        self._cast = Cast(self._tokenizer, self._tiers, Names(self._kept.names))
        self._returning: tuple[str, ...] = ()
        self._after = Afterwards(self._config, self._kept, self._cast, self._ask, self._mutex, resident=self._resident)

    # ------------------------------------------------------------------ asking

    def view(
        self, query: str, *, budget: int | None = None, order: str = STABLE, as_of: str | None = None, **narrowed: Any
    ) -> View:
        """What to put in front of an agent that is asked this, in at most `budget` tokens.

        `order="stable"` repeats as much of the beginning of the last view as may be; `"relevance"` stands strictly by
        value. `narrowed` are filters of a search. A view of the past (`as_of`) goes on from nothing and leaves nothing
        behind.
        """
        budget = self._config.view_tokens if budget is None else budget
        if budget < 0 or order not in (STABLE, RELEVANCE):
            raise UsageError("A view wants a budget of 0 tokens or more, and the order stable or relevance.")
        past = as_of is not None
        self.renew()
        with self._mutex:
            with self._ask(query, as_of=as_of, **narrowed) as asked:
                gathered = self._gather(asked, budget, past=past)
            if not past and asked.vector is not None:
                self._turn(asked.vector, query)
            previous = None if order == RELEVANCE else () if past else self._kept.previous
            drawn = frame.view(
                self._frame,
                gathered.candidates,
                budget,
                previous=previous,
                share=self._config.always_share,
            )
            view = self._told(gathered, drawn, budget)
            answer = None if past else self._answer(query, asked, gathered, drawn, budget)
        if answer is not None:
            self._after.answered(answer)
        return view

    def stored(self, memories: Iterable[tuple[str, str]]) -> None:
        """Tell of memories just written, each with its path: they are likely to be asked for next."""
        self._after.stored(list(memories))

    @property
    def showing(self) -> str:
        """The text of the last view, "" before the first."""
        return self._kept.text

    # ------------------------------------------------------------------- a cluster

    def load(self, cluster: str, paths: Iterable[str]) -> Loaded:
        """Hold the memories of a cluster ready, at every level, the worthiest first, until it is unloaded.

        As many as warm has room for; `paths` are its members. What this session may not see is not loaded.
        """
        self.settle()
        with self._mutex, self._ask("") as asked:
            if asked.look is None:
                return Loaded(cluster)
            stage, now = Stage(asked.reader, asked.look), config.now()
            seen = {one.id: one for one in stage.at(paths)}
            made = self._cast.ready(stage, list(seen.values()))
            worth = {one.id: self._cast.worth(one, made[one.id], now) for one in seen.values()}
            ranked = [id for _, id in sorted((-value, id) for id, value in worth.items())]
            for one in seen.values():
                self._cast.finish(one, made[one.id])
            held = {id: Held(made[id].facts.blob, made[id].size, made[id]) for id in ranked}
            taken = self._tiers.load(held)
            self._after.know({id: seen[id].path for id in taken})
            self._kept.loaded[cluster] = taken
            kept.save(self._config, self._kept)
        return Loaded(cluster, len(taken), sum(held[id].size for id in taken), len(seen) - len(taken))

    def unload(self, cluster: str) -> Loaded:
        """Let the memories of a cluster go that were loaded with it, but for those of another that is loaded too."""
        self.settle()
        with self._mutex:
            mine = self._kept.loaded.pop(cluster, ())
            others = {id for ids in self._kept.loaded.values() for id in ids}
            going = [id for id in mine if id not in others]
            tokens = self._tiers.tokens(going)
            self._tiers.unload(going)
            kept.save(self._config, self._kept)
        return Loaded(cluster, len(going), tokens)

    def loaded(self) -> tuple[str, ...]:
        """The clusters that are loaded."""
        with self._mutex:
            return tuple(self._kept.loaded)

    # ----------------------------------------------------------------- telling

    def stats(self) -> dict[str, Any]:
        """How well it does: hit rate, regret, prefix reuse, prefetching, and what the tiers hold."""
        self.settle()
        with self._mutex:
            return kept.numbers(self._kept)

    def hot(self) -> list[tuple[str, str]]:
        """What is in front of the agent: ids and blob ids, in the order of the view."""
        with self._mutex:
            return [(id, blob) for id, (_, blob) in self._kept.shown.items()]

    def said(self) -> list[str]:
        """What went wrong after answers since the last call, each in a sentence; the answers were not touched by it."""
        return self._after.said()

    def settle(self) -> None:
        """Wait until all that follows the last answer is done."""
        self._after.settle()

    def rest(self) -> None:
        """Wait, and save what it knows."""
        self._after.rest()

    def close(self) -> None:
        """Finish what follows the last answer, and save."""
        self._after.close()

    def forget(self) -> None:
        """Begin anew: what it showed and what it learned is gone, and no memory is touched."""
        self._after.close()
        with self._mutex:
            kept.forget(self._config, self.name)
            self._begin()

    def renew(self) -> None:
        """Begin anew if a memory was purged since this began: its text may be in what is held ready."""
        if kept.is_past(self._config, self._kept):
            self._after.close()
            with self._mutex:
                self._begin()

    # --------------------------------------------------------------- gathering

    def _gather(self, asked: Asked, budget: int, *, past: bool) -> _Gathered:
        """Everything that may stand in the view, best first, as the whole index ranks it."""
        if asked.look is None:
            return _EMPTY
        stage = Stage(asked.reader, asked.look)
        cast = self._cast if not past else Cast(self._tokenizer, Tiers(0, 0), self._cast.names)
        found = stage.found(_CHOICE * budget) if asked.look.enough else []
        standing = stage.standing()
        always = stage.by_key(standing.always[:_ALWAYS])
        last = [] if past else stage.at(path for path, _ in self._kept.shown.values())
        seen: dict[str, Seen] = {}
        for one in (*found, *always, *last):
            seen.setdefault(one.id, one)
        made = cast.ready(stage, list(seen.values()))
        slugs = dict.fromkeys(slug for one in made.values() for slug in one.facts.clusters)
        pages = stage.by_key([standing.hubs[slug] for slug in slugs if slug in standing.hubs])
        pages = [page for page in pages if page.id not in seen]
        seen |= {page.id: page for page in pages}
        made |= cast.ready(stage, pages)
        first = {one.id: place for place, one in enumerate(found, 1)}
        steering = {one.id for one in always}
        question = Question(stage.terms, config.now(), found[0].score if found else stage.best)
        candidates = [
            cast.candidate(
                question, one, made[one.id], rank=first.get(one.id) or stage.rank(one), always=one.id in steering
            )
            for one in seen.values()
        ]
        return _Gathered(seen, made, tuple(_steered(candidates, always)), tuple(first))

    def _turn(self, vector: NDArray[np.float32], query: str) -> None:
        """Follow the topic. Where it changes, what belonged to the one that is left gives up its place together.

        The order of the view needs no telling: its beginning stays only as far as it holds to what is asked.
        """
        state, now = self._kept, config.now().timestamp()
        away = now - state.asked if state.asked else 0.0
        state.focus, shift = focus.turned(state.focus, vector, query, away=away)
        state.asked = now
        if shift is not None:
            state.counts.shifts += 1
            self._tiers.demote(shift.demote)
            self._returning = self._tiers.promote(shift.promote)

    # ----------------------------------------------------------------- telling

    def _told(self, gathered: _Gathered, drawn: Drawn, budget: int) -> View:
        items = []
        for one in drawn.placed:
            seen, made = gathered.seen[one.candidate.id], gathered.made[one.candidate.id]
            items.append(
                Shown(
                    id=seen.id, path=seen.path, label=seen.label, lod=one.level.lod, tokens=one.level.tokens,
                    tier=self._tiers.tier(seen.id), date=seen.created, source=made.facts.source, trust=seen.trust,
                    score=round(seen.score, 4),
                )
            )  # fmt: skip
        left = [gathered.seen[one.id] for one in drawn.omitted[:_TOLD]]
        omitted = tuple(Left(one.id, one.path, one.label) for one in left)
        return View(drawn.text, drawn.tokens, budget, tuple(items), omitted)

    def _answer(self, query: str, asked: Asked, gathered: _Gathered, drawn: Drawn, budget: int) -> Answer:
        """What follows has to know of this view; the session's own memory of it."""
        state = self._kept
        before, state.text = state.text, drawn.text
        state.previous = drawn.standings
        shown = {one.candidate.id: one.level for one in drawn.placed}
        state.focus = focus.shown(state.focus, shown)
        returning, self._returning = self._returning, ()
        state.names = {id: gathered.made[id].name for id in shown}
        state.shown = {id: (gathered.seen[id].path, gathered.made[id].facts.blob) for id in shown}
        return Answer(
            text=query,
            vector=asked.vector,
            ranked=gathered.ranked,
            paths={id: one.path for id, one in gathered.seen.items()},
            shown=shown,
            made=gathered.made,
            candidates=gathered.candidates,
            budget=budget,
            tokens=drawn.tokens,
            returning=returning,
            before=before,
            after=drawn.text,
        )


def _steered(candidates: Sequence[Candidate], always: Sequence[Seen]) -> Iterator[Candidate]:
    """The candidates, those that are always shown in their own order among the places they have.

    Else a preference that the question happens to hit would stand before one that was said later.
    """
    by_id = {one.id: one for one in candidates if one.always}
    ordered = iter([by_id[one.id] for one in always])
    for one in candidates:
        yield next(ordered) if one.always else one
