"""The reading half of the façade: search and refresh. It loads nothing that other verbs need.

`atlas search` is a process of its own each time, and the writing half costs a fifth of a second to import.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from atlas import config, journal, models
from atlas.abstain import Evidence
from atlas.dates import when
from atlas.errors import NotAVault, OutsideVault, UsageError
from atlas.listing import Report
from atlas.live import Filters
from atlas.memory import Hit, Scope, View
from atlas.revision import Revisions
from atlas.search import Asked, Look, Ranker, Reader
from atlas.snapshot import Index

if TYPE_CHECKING:
    from atlas.fine import Fine
    from atlas.frozen import Frozen
    from atlas.identity import Lineage
    from atlas.session import Session

#: So many sessions are held open; the one asked for the longest ago is closed first, and goes on when it is asked for.
_SESSIONS = 32
#: In the place of a moment of the past: what was forgotten. No revision has such a name.
_FROZEN = ":frozen:"
#: So many first hits are noted as read.
_READ = 3
#: So many first hits a reranker reads.
_RERANKED = 30


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a search. `tree` is the commit the vault stands on, "" without one.

    `ambiguous` are the paths of the memories that share a name the query uses; all of them are lifted.
    `abstained` says that there is no answer: `hits` is empty, be it that nothing fits or that what does is too weak.
    `evidence` is what was weighed, None where nothing could be (words alone, another model than the default).
    `forgotten` are the ids of memories that match and are not among the hits in full: forgetting took their text.
    """

    hits: tuple[Hit, ...]
    abstained: bool
    tree: str
    fresh: bool = True
    ambiguous: tuple[str, ...] = ()
    evidence: Evidence | None = None
    forgotten: tuple[str, ...] = ()

    @property
    def enough(self) -> bool:
        """Whether what was weighed is enough for an answer; true where nothing was."""
        return self.evidence is None or self.evidence.enough

    @property
    def confidence(self) -> float | None:
        """How likely the answer is among the first hits, from 0 to 1; None where it was not weighed."""
        return None if self.evidence is None else self.evidence.confidence


class ReadingEngine:
    """An opened vault, for reading. Safe to use from threads; several in several processes may share a vault.

    `scope` is a capability: an engine opened with one finds nothing outside it. `resident` keeps the index in memory
    between searches, which is right for a program that asks more than once.
    """

    def __init__(
        self,
        storage_path: str | os.PathLike[str],
        *,
        scope: str | None = None,
        embedding_model: str | None = None,
        actor: str | None = None,
        max_memory_tokens: int | None = None,
        resident: bool = True,
        llm: Any = None,
    ) -> None:
        root = Path(storage_path).resolve()
        if not (root / config.MARKER).is_file():
            raise NotAVault(str(root))
        self.config = config.load(
            root,
            scope=Scope(scope) if scope else None,
            embedding=embedding_model,
            actor=actor,
            view_tokens=max_memory_tokens,
            llm_model=llm if isinstance(llm, str) else None,
        )
        if llm is not None and not isinstance(llm, str):
            self.config = replace(self.config, writer=models.budgeted(self.config, llm))
        self._revisions = Revisions(self.config.root)
        self._index = Index(self.config, self._lineage, keep=resident)
        self._resident = resident
        self._fine: Fine | None = None
        self._ice: tuple[str, Frozen] | None = None
        self._sessions: dict[str, Session] = {}
        self._opening = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish what follows the last views, and let go of memory. Nothing a person wrote is lost without it."""
        with self._opening:
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            session.close()
        self._index.close()

    def rest(self) -> None:
        """Finish what follows the last views, and save what the sessions know."""
        for session in list(self._sessions.values()):
            session.rest()

    def said(self) -> list[str]:
        """What a person should know of repairs made since the last call."""
        said = [*self._index.said(), *(line for session in self._sessions.values() for line in session.said())]
        if self._fine is not None:
            more, self._fine.said = self._fine.said, []
            said += more
        return said

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        mode: str = "fast",
        kind: Sequence[str] = (),
        tag: Sequence[str] = (),
        cluster: Sequence[str] = (),
        scope: str | None = None,
        valid_at: str | None = None,
        as_of: str | None = None,
        diversity: float = 0.0,
        abstain: bool = True,
        frozen: bool = False,
    ) -> Found:
        """The memories that fit best, and the state of the vault they were ranked in.

        `as_of` (a revision, a tag or a date) ranks against the vault as it was; `valid_at` takes what held at a date.
        Both together answer what was believed then about another time. Copies of one text are one hit, and `k` counts
        distinct ones; `diversity` (0 to 1) takes those that are less like each other. Without `abstain`, hits too weak
        to be the answer are given all the same. `mode="fine"` also goes down the tree of folders and clusters, with the
        model of `llm.model` if there is one, and asks the reranker of `search.reranker`. The first hits count as read.

        `frozen` looks among the memories that were forgotten, in whole or in part, as they were when all was there;
        without, they are only counted (`Found.forgotten`).
        """
        if frozen and as_of is not None:
            raise UsageError("What was forgotten is searched as of now: leave out one of the two, frozen or as-of.")
        filters = self._filters(kind, tag, cluster, scope, valid_at)
        past = _FROZEN if frozen else as_of
        found = self._found(query, filters, k=k, mode=mode, as_of=past, diversity=diversity, abstain=abstain)
        if past is not None:
            return found
        journal.note(self.config, journal.SEARCH, [hit.id for hit in found.hits[:_READ]])
        return replace(found, forgotten=self._forgotten(query, filters))

    def _forgotten(self, query: str, filters: Filters) -> tuple[str, ...]:
        """The memories that hold most of what the question is worth, and are not there in full any more."""
        past = self._ice[1] if self._ice else None
        if past is None or not past.full:
            return ()
        with self._index.reader_at(past) as reader:
            look = reader.look(query, None, replace(filters, moment=past.commit))
            return tuple(import_module("atlas.frozen").matching(reader, look)) if look else ()

    def _frozen(self, reader: Reader) -> Frozen:
        """The listing of what is frozen; looked up anew when the index has changed."""
        if self._ice is None or self._ice[0] != reader.generation:
            found: Frozen = import_module("atlas.frozen").listing(reader.con, self.config.root)
            self._ice = reader.generation, found
        return self._ice[1]

    def _found(
        self,
        query: str,
        filters: Filters,
        *,
        k: int = 10,
        mode: str = "fast",
        as_of: str | None = None,
        diversity: float = 0.0,
        abstain: bool = True,
    ) -> Found:
        """A search that leaves no trace in the usage."""
        if k < 1 or mode not in ("fast", "fine") or not 0 <= diversity <= 1:
            raise UsageError("A search wants k of at least 1, the mode fast or fine, and a diversity from 0 to 1.")
        reranker = self.config.reranker if mode == "fine" else ""
        wanted = max(k, _RERANKED) if reranker else k

        def look(rankers: Sequence[Ranker] = ()) -> Found:
            with self._asked(query, filters, as_of, rankers) as asked:
                reader, seen = asked.reader, asked.look
                if as_of is None:
                    self._frozen(reader)  # while the index is open: looked up later, it would be opened again
                hits = reader.hits(seen, wanted, diversity) if seen and (seen.enough or not abstain) else ()
                return _found(tuple(hits), asked.moment or reader.head, seen)

        found = look() if mode == "fast" else self._finer().search(query, look)
        if reranker and found.hits:  # with the index closed: a model takes seconds to load
            folder = self.config.root / reranker
            read = import_module("atlas.models.reranker").reranked(folder, query, found.hits)
            found = replace(found, hits=tuple(read[:k]))
        return found

    def retrieve(self, query: str, k: int = 10, **filters: Any) -> list[Hit]:
        """The hits of `search`, best first."""
        return list(self.search(query, k=k, **filters).hits)

    def view(
        self,
        query: str,
        *,
        budget: int | None = None,
        session: str = "main",
        order: str = "stable",
        as_of: str | None = None,
        **filters: Any,
    ) -> View:
        """What to put in front of an agent that is asked this: prompt text of at most `budget` tokens.

        Each memory is shown at the level that is worth its tokens; pinned ones and preferences come first. It goes on
        from the last view of the session of this name; see `Session.view`.
        """
        return self.session(session).view(query, budget=budget, order=order, as_of=as_of, **filters)

    def session(self, name: str = "main") -> Session:
        """The conversation of this name in this engine's scope, as it was left; a new one if there was none."""
        with self._opening:
            session = self._sessions.pop(name, None)
            if session is None:
                make = import_module("atlas.session").Session  # loaded when asked for: a search does without it
                session = make(self.config, self._asking, name, resident=self._resident)
            self._sessions[name] = session  # the one asked for last stands last
            over = [self._sessions.pop(first) for first in list(self._sessions)[:-_SESSIONS]]
        for one in over:
            one.close()
        return session

    def refresh(
        self, *, full: bool = False, rebuild: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> Report:
        """Bring the index up to date and report; every search does the same by itself."""
        return self._index.refresh(full=full, rebuild=rebuild, embed=True, progress=progress)

    def _asking(self, query: str, *, as_of: str | None = None, **filters: Any) -> AbstractContextManager[Asked]:
        """A question of a session."""
        return self._asked(query, self._filters(**filters), as_of)

    def _filters(
        self,
        kind: Sequence[str] = (),
        tag: Sequence[str] = (),
        cluster: Sequence[str] = (),
        scope: str | None = None,
        valid_at: str | None = None,
    ) -> Filters:
        tags = tuple(t.lstrip("#") for t in tag)
        return Filters(Scope(self._scope(scope)), tuple(kind), tags, tuple(cluster), _micros(valid_at))

    @contextmanager
    def _asked(
        self, query: str, filters: Filters, as_of: str | None = None, rankers: Sequence[Ranker] = ()
    ) -> Iterator[Asked]:
        """A question put to the vault as it is, or as it was."""
        with self._reader_for(as_of) as (reader, moment, clock):
            vector = self._index.query_vector(query)
            look = reader.look(query, vector, replace(filters, moment=moment), rankers, clock=clock)
            yield Asked(reader, look, vector, moment)

    @contextmanager
    def _reader_for(self, as_of: str | None) -> Iterator[tuple[Reader, str, float | None]]:
        """A reader of now, or one that knows a moment of the past, which commit that is, and when it was made."""
        if as_of is None:
            with self._index.reader(asking=True) as reader:
                yield reader, "", None
            return
        if as_of == _FROZEN:
            with self._index.reader(asking=True) as reader:
                past = self._frozen(reader)
            with self._index.reader_at(past) as reader:
                yield reader, past.commit, None
            return
        moment = self._revisions.moment(as_of)
        with self._index.reader_at(moment) as reader:
            yield reader, moment.commit, moment.made

    def _finer(self) -> Fine:
        """What the fine mode needs. Loaded when asked for: a fast search shall not pay for it."""
        if self._fine is None:
            self._fine = import_module("atlas.fine").Fine(self.config)
        return self._fine

    def _scope(self, wanted: str | Scope | None) -> str:
        """The scope of one call: the engine's own, or a part of it; raises OutsideVault for any other."""
        if wanted is None:
            return self.config.scope.prefix
        scope = wanted if isinstance(wanted, Scope) else Scope(wanted)
        if not scope.within(self.config.scope):
            raise OutsideVault(scope.prefix, f"this engine may only work below {self.config.scope.prefix}")
        return scope.prefix

    def _lineage(self, since: str) -> tuple[Lineage, bool]:
        """What Git knows of renames. Loaded when asked for: most searches find nothing new, and Git costs 0.1 s."""
        found: tuple[Lineage, bool] = import_module("atlas.lineage").lineage(self.config.root, since)
        return found


def _found(hits: tuple[Hit, ...], tree: str, look: Look | None) -> Found:
    if look is None:
        return Found(hits, not hits, tree)
    return Found(hits, not hits, tree, ambiguous=look.ambiguous, evidence=look.evidence)


def _micros(date: str | None) -> int | None:
    if date is None:
        return None
    moment = when(date)
    if moment is None:
        raise UsageError(f"{date!r} is not a date such as 2026-01-31 or 2026-01-31T09:00:00Z.")
    return int(moment.timestamp() * 1_000_000)
