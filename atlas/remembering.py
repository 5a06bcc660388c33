"""The verbs that remember: texts and conversations become memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from atlas import config, edits, models, overview, settling, tokens, vault
from atlas.catalog import Catalog
from atlas.errors import UsageError
from atlas.ingest import Request, plan_batch
from atlas.memory import Applied, Record, Scope
from atlas.opened import new_id
from atlas.planning import View
from atlas.purging import PurgingEngine

if TYPE_CHECKING:
    from atlas.conversing import Conversation, Drawn, Talk
    from atlas.distil import Distiller
    from atlas.messages import Message

T = TypeVar("T")

_BATCH = 500


class Completes(Protocol):
    """A language model: anything that answers a prompt."""

    def complete(self, prompt: str) -> str:
        """The answer in words; raises Unavailable if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory just stored."""

    id: str
    path: str
    label: str


@dataclass(frozen=True)
class Ingested(Sequence[str]):
    """What an ingest did. As a sequence: the ids of the memories it stored.

    `duplicates` are ids that held a text already; `per_text` has, for each text given, the id that holds (the first
    part of) it now. `said` are sentences a person should read: what was not stored, and why.
    """

    memories: tuple[Stored, ...]
    duplicates: tuple[str, ...]
    per_text: tuple[str, ...]
    applied: Applied
    said: tuple[str, ...] = ()

    def __getitem__(self, place: Any) -> Any:
        return [m.id for m in self.memories][place]

    def __len__(self) -> int:
        return len(self.memories)


class RememberingEngine(PurgingEngine):
    """The part of the façade that remembers."""

    def ingest(
        self,
        text: str | None = None,
        *,
        messages: Iterable[Message | Mapping[str, Any]] | None = None,
        conversation: str = "",
        mode: str = "fast",
        model: Completes | None = None,
        **options: Any,
    ) -> Ingested:
        """Store a text: one memory, or one each for the statements of a list. Options are those of `Request`.

        Or what is worth it of a conversation: `messages` are those of any chat interface, `conversation` is its name.
        The same text, or messages that are stored, store nothing again. In the mode "fine", `model`, else the one of
        `llm.model`, draws out what is worth knowing; in "fast", rules do.
        """
        if (text is None) == (messages is None):
            raise UsageError("Give either a text or messages to remember.")
        if text is None:
            talk = conversing().Conversation(messages or (), conversation, options)
            return self.ingest_conversations([talk], mode, model)
        stored = self.ingest_many([Request(text, **options)])
        return replace(stored, said=_repeated(stored))

    def ingest_conversations(
        self,
        conversations: Iterable[Conversation],
        mode: str = "fast",
        model: Completes | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Ingested:
        """Store many conversations, those of one scope with one commit per 500 memories or so."""
        if mode not in ("fast", "fine"):
            raise UsageError("The mode of an ingest is fast or fine.")
        distiller = self._distiller(model) if mode == "fine" else None
        done: list[Ingested] = []
        number = 0
        for bunch in conversing().bunches(map(self._opened, conversations), 2 * _BATCH):
            done += self._ingest_talks(bunch, distiller)
            number += len(bunch)
            if progress:
                progress(number)
        stored = _together(done)
        said = (*stored.said, *_repeated(stored), *(distiller.said() if distiller else ()))
        return replace(stored, said=said)

    def _opened(self, given: Conversation) -> Talk:
        scope = self._scope(given.options.get("scope"))
        talk: Talk = conversing().opened(replace(given, options={**given.options, "scope": scope}))
        return talk

    def _distiller(self, model: Completes | None) -> Distiller:
        """What asks the model that was given, or the vault's own; without one, it leaves all to the rules."""
        distil = import_module("atlas.distil")
        complete = model.complete if model else None
        writer = models.writer(self.config) if model is None else None
        if writer:
            complete = partial(writer.complete, schema=distil.SCHEMA)
        made: Distiller = distil.Distiller(complete, self.config.ingest_model_calls)
        return made

    def _ingest_talks(self, talks: Sequence[Talk], distiller: Distiller | None) -> list[Ingested]:
        """Store what is new of conversations of one scope."""
        room = conversing()
        scope = talks[0].scope
        drawn: list[Drawn] = [{} for _ in talks]
        count = tokens.load(self.config.tokenizer, self.config.root).count
        views = [session.showing for session in list(self._sessions.values())]
        if distiller:
            with self._index.reader() as reader:
                held = holdings().Holdings(reader, Scope(scope))
                new = [room.unread(talk, held, count, views) for talk in talks]
            drawn = [room.distilled(some, talk.name, distiller) for some, talk in zip(new, talks, strict=True)]
        with self._hand.lock():
            with self._index.reader() as reader:
                held = holdings().Holdings(reader, Scope(scope))
                heard = [room.heard(t, held, count, views, d) for t, d in zip(talks, drawn, strict=True)]
            groups = [group for one in heard for group in one.groups]
            done = [self._ingest_batch(batch) for batch in room.batches(groups, _BATCH)]
        return [*done, Ingested((), (), (), Applied(()), tuple(line for one in heard for line in one.said))]

    def ingest_many(self, requests: Iterable[Request], progress: Callable[[int, int], None] | None = None) -> Ingested:
        """Store many texts with one commit per 500. Texts of one scope know nothing of those of another."""
        todo = [replace(r, scope=self._scope(r.scope)) for r in requests]
        done: list[Ingested] = []
        for _, group in groupby(todo, key=lambda r: r.scope):
            for batch in batched(group, _BATCH):
                done.append(self._ingest_batch(batch))
                if progress:
                    progress(sum(len(d.per_text) for d in done), len(todo))
        return _together(done)

    def _ingest_batch(self, requests: Sequence[Request]) -> Ingested:
        with self._hand.lock():
            with self._index.reader() as reader:
                catalog = Catalog(reader.con, Scope(str(requests[0].scope)))
                plan = plan_batch(
                    requests,
                    now=config.now(),
                    new_id=new_id,
                    taken=vault.names_taken(self.config),
                    stored=catalog.with_text,
                    related=catalog.with_entities,
                    total=catalog.count(),
                )
                changes = [*plan.changes, *edits.add_tags(plan.joins, self._read_bytes)]
                changes = settling.settled(changes, requests, plan, catalog, self._look(catalog))
                passed = self._hand.checked(changes, reader)
            record = Record(
                "ingest", settling.subject(plan), actor=self.config.actor, memories=tuple(d.id for d in plan.drafts)
            )
            applied = self._hand.apply(passed, record) if changes else Applied(())
        stored = tuple(Stored(d.id, d.path, d.label) for d in plan.drafts)
        for session in list(self._sessions.values()):
            session.stored((one.id, one.path) for one in stored)
        return Ingested(stored, plan.duplicates, plan.per_text, applied)

    def _look(self, catalog: Catalog) -> settling.Look:
        """The vault as planners of what follows from an ingest see it, looked up once and only if it is wanted."""

        @cache
        def look() -> View | None:
            repository = self._repository()
            if repository is None:
                return None
            return overview.outline(self.config, repository, catalog, self._read_or_none)

        return look


def conversing() -> Any:
    """The room that reads conversations: its patterns take 20 ms to compile, which a text need not pay."""
    return import_module("atlas.conversing")


def holdings() -> Any:
    """The room that knows what of a conversation is held."""
    return import_module("atlas.holdings")


def _repeated(stored: Ingested) -> tuple[str, ...]:
    """What to say where a text was stored already."""
    if stored.memories or not stored.duplicates:
        return ()
    return (f"Nothing was stored: it is stored already, as {', '.join(stored.duplicates)}.",)


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in lists of `size`, the last one shorter."""
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def _together(done: Sequence[Ingested]) -> Ingested:
    """What several batches did."""
    return Ingested(
        tuple(m for d in done for m in d.memories),
        tuple(x for d in done for x in d.duplicates),
        tuple(x for d in done for x in d.per_text),
        _joined([d.applied for d in done if d.applied.paths]),
        tuple(x for d in done for x in d.said),
    )


def _joined(applied: Sequence[Applied]) -> Applied:
    """Several batches as one: all their paths, the last commit, and the first reason something was not committed."""
    if not applied:
        return Applied(())
    failed = [a for a in applied if not a.committed]
    last = (failed or list(applied))[-1]
    return Applied(tuple(p for a in applied for p in a.paths), last.commit, last.note)
