"""The verbs that remember: texts and conversations become memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any, TypeVar

from atlas import config, conversing, edits, messages, newcomers, overview, tokens, vault
from atlas.catalog import Catalog
from atlas.errors import UsageError
from atlas.ingest import Draft, Request, plan_batch
from atlas.memory import Applied, Change, Record, Scope
from atlas.messages import Message
from atlas.opened import new_id
from atlas.purging import PurgingEngine

T = TypeVar("T")

_BATCH = 500


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
        **options: Any,
    ) -> Ingested:
        """Store a text: one memory, or one each for the statements of a list. Options are those of `Request`.

        Or what is worth it of a conversation: `messages` are those of any chat interface, `conversation` is its name.
        The same text, or the same messages, again are duplicates and store nothing.
        """
        if (text is None) == (messages is None):
            raise UsageError("Give either a text or messages to remember.")
        if text is not None:
            return self.ingest_many([Request(text, **options)])
        return self._ingest_messages(messages or (), conversation, mode, options)

    def _ingest_messages(
        self, given: Iterable[Message | Mapping[str, Any]], conversation: str, mode: str, options: Mapping[str, Any]
    ) -> Ingested:
        if mode not in ("fast", "fine"):
            raise UsageError("The mode of an ingest is fast or fine.")
        talk = conversing.opened(messages.read(given), _named(conversation, options))
        told = _told(options, self._scope(options.get("scope")))
        count = tokens.load(self.config.tokenizer, self.config.root).count
        views = [session.showing for session in list(self._sessions.values())]
        with self._hand.lock():
            with self._catalog(told["scope"]) as catalog:
                heard = conversing.heard(talk, catalog, count, told, views)
            done = [self._ingest_batch(batch) for batch in conversing.batches(heard.groups, _BATCH)]
        return replace(_together(done), said=heard.said)

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
                changes = self._with_ends(changes, plan.drafts, catalog)
                passed = self._hand.checked(changes, reader)
            record = Record("ingest", plan.subject, actor=self.config.actor, memories=tuple(d.id for d in plan.drafts))
            applied = self._hand.apply(passed, record) if changes else Applied(())
        stored = tuple(Stored(d.id, d.path, d.label) for d in plan.drafts)
        for session in list(self._sessions.values()):
            session.stored((one.id, one.path) for one in stored)
        return Ingested(stored, plan.duplicates, plan.per_text, applied)

    def _with_ends(self, changes: list[Change], drafts: Sequence[Draft], catalog: Catalog) -> list[Change]:
        """The changes of an ingest, with what the new memories put an end to closed; most put an end to nothing."""
        said = newcomers.subjects(drafts)
        cards = [card for subject in said for card in catalog.cards("contains(lower(n.label), ?)", [subject])]
        ids = newcomers.concerned(said, cards)
        repository = self._repository() if ids else None
        if repository is None:
            return changes
        return newcomers.closed(
            changes, drafts, overview.outline(self.config, repository, catalog, self._read_or_none), ids
        )


def _named(conversation: str, options: Mapping[str, Any]) -> str:
    """The name of a conversation, behind where it comes from if that is said: each memory names its turns itself."""
    return "/".join(filter(None, (options.get("source") or "", conversation)))


def _told(options: Mapping[str, Any], scope: str) -> dict[str, Any]:
    """What is said of all memories of a conversation."""
    return {**{name: value for name, value in options.items() if name != "source"}, "scope": scope}


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
    )


def _joined(applied: Sequence[Applied]) -> Applied:
    """Several batches as one: all their paths, the last commit, and the first reason something was not committed."""
    if not applied:
        return Applied(())
    failed = [a for a in applied if not a.committed]
    last = (failed or list(applied))[-1]
    return Applied(tuple(p for a in applied for p in a.paths), last.commit, last.note)
