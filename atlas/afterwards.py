"""What follows an answer, in a thread of its own: journal, tiers, learning, making ready what comes next, saving.

Nothing here changes an answer that was given, and an error here is said, not raised: the next view is as good without.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC
from itertools import takewhile
from typing import TYPE_CHECKING

from atlas import config, foresee, frame, journal, kept, models, prefetch
from atlas.cache import NEEDED, Held
from atlas.errors import AtlasError
from atlas.stage import Stage, Surroundings

if TYPE_CHECKING:
    import threading

    import numpy as np
    from numpy.typing import NDArray

    from atlas.cast import Cast, Prepared
    from atlas.config import Config
    from atlas.kept import Kept
    from atlas.scene import Candidate, Level
    from atlas.search import Asked

#: How a question is put to the index: its text, `as_of` and what narrows it.
Ask = Callable[..., AbstractContextManager["Asked"]]

#: The state is written at most so often; what is lost with a process is learned since, and the journal has the rest.
_SAVE_SECONDS = 1.0
_KNOWN_PATHS = 20_000
#: So many memories are taken for each topic a model expects.
_A_TOPIC = 3
#: A thread just woken would take the interpreter from the caller for 5 ms: who asked has not even returned, and who
#: asked from an event loop has a thread to come back from (an agent's call took 4 ms more after 1 ms, and 0.9 after 5).
_AFTER_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class Answer:
    """A view that was given to the question `text`.

    `ranked` are the ids found, best first; `paths` has the path of all that were looked at, `made` what is prepared of
    each, `shown` the level of each item. `returning` are cold ids of a topic that is back. `before` and `after` are the
    last view's text and this one's; `candidates` and `budget` are what it was composed of and within how many tokens.
    """

    text: str
    vector: NDArray[np.float32] | None
    ranked: tuple[str, ...]
    paths: Mapping[str, str]
    shown: Mapping[str, Level]
    made: Mapping[str, Prepared]
    candidates: tuple[Candidate, ...]
    budget: int
    tokens: int
    returning: tuple[str, ...]
    before: str
    after: str


class _Everything:
    """Holds all there is: nothing is to be made ready for a process that ends with its answer."""

    def __contains__(self, id: object) -> bool:
        return True


class Afterwards:
    """The work after the answers of one session. `mutex` is the session's."""

    def __init__(
        self, config: Config, state: Kept, cast: Cast, ask: Ask, mutex: threading.RLock, *, resident: bool
    ) -> None:
        self._config, self._kept, self._cast, self._ask, self._mutex = config, state, cast, ask, mutex
        self._resident = resident
        self._frame = frame.Frame(state.fence, cast.tokenizer)
        self._worker: ThreadPoolExecutor | None = None
        self._pending: list[Future[None]] = []
        self._paths: dict[str, str] = {id: path for id, (path, _) in state.shown.items()}
        self._stored: list[str] = []
        self._said: list[str] = []
        self._saved = 0.0
        self._dirty = False
        self._foresees = config.foresee and models.writes(config) and resident
        self._questions: deque[str] = deque(maxlen=foresee.QUESTIONS)
        self._proposed: dict[str, float] = {}

    def answered(self, answer: Answer) -> None:
        """Do what follows this answer, soon."""
        self._questions.append(answer.text)
        self._submit(lambda: self._follow(answer), self._foreseen if self._foresees else None)

    def stored(self, memories: Sequence[tuple[str, str]]) -> None:
        """Make memories just written ready, soon; each is an id and a path."""
        self._submit(lambda: self._take(memories))

    def know(self, paths: Mapping[str, str]) -> None:
        """Where memories lie that no view has shown yet."""
        self._paths.update(paths)

    def settle(self) -> None:
        """Wait until it is done."""
        pending, self._pending = self._pending, []
        for work in pending:
            work.result()

    def rest(self) -> None:
        """Wait, and save."""
        self.settle()
        with self._mutex:
            self._guarded(lambda: self._save(at_once=True))

    def close(self) -> None:
        """The same, and end the thread."""
        self.rest()
        if self._worker is not None:
            self._worker.shutdown()
            self._worker = None

    def said(self) -> list[str]:
        """What went wrong since the last call."""
        said, self._said = self._said, []
        return said

    def _submit(self, work: Callable[[], None], before: Callable[[], None] | None = None) -> None:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="atlas session")
        self._pending = [p for p in self._pending if not p.done()]
        self._pending.append(self._worker.submit(self._locked, work, before))

    def _locked(self, work: Callable[[], None], before: Callable[[], None] | None) -> None:
        time.sleep(_AFTER_SECONDS)
        if before is not None:
            self._guarded(before)
        with self._mutex:
            self._guarded(work)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (AtlasError, OSError) as err:
            self._said.append(f"After a view: {err}")

    # ------------------------------------------------------------------ the steps

    def _foreseen(self) -> None:
        """Ask the model, which takes seconds, with nothing locked; then find what it expects."""
        model = models.writer(self._config)
        if model is None:
            return
        for place, topic in enumerate(foresee.topics(list(self._questions), model.complete)):
            with self._ask(topic) as asked:
                if asked.look is not None and asked.look.enough:
                    found = Stage(asked.reader, asked.look).found(0)[:_A_TOPIC]
                    self._paths.update((one.id, one.path) for one in found)
                    self._proposed |= {one.id: 1 / (1 + place + n) for n, one in enumerate(found)}

    def _follow(self, answer: Answer) -> None:
        self._guarded(lambda: self._journal(answer))
        self._count(answer)
        if len(self._paths) > _KNOWN_PATHS:
            self._paths.clear()
        self._paths.update(answer.paths)
        needed = tuple(id for id in answer.ranked[:NEEDED] if id in answer.shown)
        missed = tuple(id for id in needed if id not in self._kept.tiers)
        held = {id: _held(made) for id, made in answer.made.items()}
        self._kept.tiers.turn({id: held[id] for id in answer.shown}, answer.ranked, held)
        further = tuple(id for id in answer.ranked if id not in needed)
        stored, proposed = tuple(self._stored), dict(self._proposed)
        turn = prefetch.Turn(needed, further, missed, stored, answer.vector, proposed)
        self._stored, self._proposed = [], {}
        if self._resident:
            self._expect(turn, answer.returning)
        else:
            self._kept.prefetcher.after(turn, _Everything())
        self._dirty = True
        self._save()

    def _journal(self, answer: Answer) -> None:
        levels = {id: level.lod.value for id, level in answer.shown.items()}
        now = config.now().astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        event = journal.Event(now, journal.VIEW, self._kept.name, self._kept.scope, levels, answer.ranked[:NEEDED])
        journal.append(self._config, event)

    def _count(self, answer: Answer) -> None:
        """Prefix reuse and regret of this view: against the last one, and against one that goes on from nothing."""
        counts, tokenizer = self._kept.counts, self._cast.tokenizer
        if counts.turns and answer.after:
            counts.tokens += answer.tokens
            counts.same += tokenizer.count(_common(answer.before, answer.after))
        counts.turns += 1
        found = set(answer.ranked)
        anew = [one for one in answer.candidates if one.id in found or one.always]
        fresh = frame.view(self._frame, anew, answer.budget)
        best = {one.candidate.id for one in fresh.placed}.intersection(answer.ranked[:NEEDED])
        counts.best += len(best)
        counts.hidden += len(best - answer.shown.keys())

    def _expect(self, turn: prefetch.Turn, returning: Sequence[str]) -> None:
        """Make ready what the next turns will need, and what belongs to a topic that is back."""
        with self._ask("") as asked:
            if asked.look is None:
                return
            around = Surroundings(asked.reader, asked.look, self._paths)
            tiers = self._kept.tiers
            found = self._kept.prefetcher.after(turn, tiers, around, around.nearest, rival=tiers.rival())
            gains = {id: 1.0 for id in returning if id in self._paths} | {one.id: one.gain for one in found}
            self._ready(Stage(asked.reader, asked.look), [self._paths[id] for id in gains], gains)

    def _take(self, memories: Sequence[tuple[str, str]]) -> None:
        self._stored += [id for id, _ in memories]
        self._paths.update(memories)
        if not self._resident:
            return
        with self._ask("") as asked:
            if asked.look is not None:
                self._ready(Stage(asked.reader, asked.look), [path for _, path in memories], None)

    def _ready(self, stage: Stage, paths: Sequence[str], gains: Mapping[str, float] | None) -> None:
        """Prepare these and offer them to the tiers; without gains they were just written."""
        seen = stage.at(paths)
        made = self._cast.ready(stage, seen)
        for one in seen:
            self._cast.finish(one, made[one.id])
            held = _held(made[one.id])
            if gains is None:
                self._kept.tiers.written(one.id, held.blob, held.size, held.payload)
            else:
                self._kept.tiers.admit(one.id, held.blob, held.size, gains.get(one.id, 0.0), held.payload)

    def _save(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if self._dirty and (at_once or now - self._saved >= _SAVE_SECONDS):
            kept.save(self._config, self._kept)
            self._saved, self._dirty = now, False


def _held(made: Prepared) -> Held:
    return Held(made.facts.blob, made.size, made)


def _common(before: str, after: str) -> str:
    """The identical beginning of two texts, in whole lines."""
    lines = zip(before.split("\n"), after.split("\n"), strict=False)
    return "\n".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], lines))
