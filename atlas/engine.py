"""`MemoryEngine`: the façade. Each verb is a few lines that call the rooms below in road order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ulid import ULID

from atlas import (
    bundle,
    clusters,
    config,
    derive,
    edits,
    health,
    hubs,
    journal,
    kept,
    ladder,
    lineage,
    newcomers,
    overview,
    past,
    template,
    thaw,
    vault,
    whynot,
)
from atlas.catalog import Catalog
from atlas.errors import NotFound, UsageError
from atlas.hand import Hand
from atlas.ingest import Draft, Request, plan_batch
from atlas.memory import CLUSTER_PREFIX, HUB, Applied, Change, Entry, Finding, Memory, Record, Scope
from atlas.purging import PurgingEngine
from atlas.survey import survey

if TYPE_CHECKING:
    from atlas.session import Loaded

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
    part of) it now.
    """

    memories: tuple[Stored, ...]
    duplicates: tuple[str, ...]
    per_text: tuple[str, ...]
    applied: Applied

    def __getitem__(self, place: Any) -> Any:
        return [m.id for m in self.memories][place]

    def __len__(self) -> int:
        return len(self.memories)


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did."""

    imported: int
    skipped: tuple[Finding, ...]
    applied: Applied


class MemoryEngine(PurgingEngine):
    """An opened vault. Safe to use from threads; several engines in several processes may share a vault.

    `scope` is a capability: an engine opened with one neither finds, reads nor writes anything outside it.
    `create` makes a vault in a folder that is absent or empty; `resident` keeps the index in memory between searches.
    """

    def __init__(
        self,
        storage_path: str | os.PathLike[str],
        *,
        scope: str | None = None,
        embedding_model: str | None = None,
        actor: str | None = None,
        max_memory_tokens: int | None = None,
        create: bool = True,
        resident: bool = True,
    ) -> None:
        root = Path(storage_path).resolve()
        if create and (not root.exists() or (root.is_dir() and not any(root.iterdir()))):
            template.create(root)
        super().__init__(
            root,
            scope=scope,
            embedding_model=embedding_model,
            actor=actor,
            max_memory_tokens=max_memory_tokens,
            resident=resident,
        )
        self._hand = Hand(self.config, self._index, self._repository)

    # ---------------------------------------------------------------- writing

    def ingest(self, text: str, **options: Any) -> Ingested:
        """Store a text: one memory, or one each for the statements of a list. Options are those of `Request`.

        The same text again is a duplicate and stores nothing.
        """
        return self.ingest_many([Request(text, **options)])

    def ingest_many(self, requests: Iterable[Request], progress: Callable[[int, int], None] | None = None) -> Ingested:
        """Store many texts with one commit per 500. Texts of one scope know nothing of those of another."""
        todo = [replace(r, scope=self._scope(r.scope)) for r in requests]
        done: list[Ingested] = []
        for _, group in groupby(todo, key=lambda r: r.scope):
            for batch in batched(group, _BATCH):
                done.append(self._ingest_batch(batch))
                if progress:
                    progress(sum(len(d.per_text) for d in done), len(todo))
        return Ingested(
            tuple(m for d in done for m in d.memories),
            tuple(x for d in done for x in d.duplicates),
            tuple(x for d in done for x in d.per_text),
            _joined([d.applied for d in done if d.applied.paths]),
        )

    def _ingest_batch(self, requests: Sequence[Request]) -> Ingested:
        with self._hand.lock():
            with self._index.reader() as reader:
                catalog = Catalog(reader.con, Scope(str(requests[0].scope)))
                plan = plan_batch(
                    requests,
                    now=config.now(),
                    new_id=_new_id,
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

    def edit(self, name: str, edit: Callable[[str], str], *, reason: str = "", op: str = "edit") -> Applied:
        """Change the text of a memory by a function; tried again on the newer text if the file changed meanwhile."""
        return self._edit_all([name], edit, op=op, reason=reason)

    def append(self, name: str, text: str, *, reason: str = "") -> Applied:
        """Add a paragraph at the end of a memory."""
        return self.edit(name, lambda old: edits.append(old, text), reason=reason)

    def tag(self, name: str, tags: Sequence[str], *, reason: str = "") -> Applied:
        """Add tags, changing nothing else of the file; raises Unparsable if its metadata cannot be read."""
        return self.edit(name, lambda old: edits.tagged(old, tags), reason=reason, op="tag")

    def adopt(self, paths: Sequence[str] = ()) -> tuple[Applied, list[Finding]]:
        """Write an id into the notes that have none (all, or those named); and which were left alone, and why."""
        with self._hand.lock():
            with self._catalog() as catalog:
                cards = [catalog.find(p) for p in paths] if paths else catalog.cards()
            changes, refused = edits.adopt([c.path for c in cards if not c.written_id], self._read_bytes, _new_id)
            minted = tuple(change.memory for change in changes)
            record = Record("adopt", f"Give {len(changes)} notes an id", actor=self.config.actor, memories=minted)
            applied = self._hand.apply(changes, record) if changes else Applied(())
        return applied, refused

    def _edit_all(self, names: Sequence[str], edit: Callable[[str], str], *, op: str, reason: str) -> Applied:
        def attempt() -> Applied:
            with self._hand.lock():
                with self._catalog() as catalog:
                    cards = [catalog.find(name) for name in names]
                changes = edits.changes([c.path for c in cards], self._read_bytes, edit)
                subject = f"{op.capitalize()} {', '.join(c.label for c in cards)}"
                record = Record(op, subject, reason, self.config.actor, memories=tuple(c.id for c in cards))
                return self._hand.apply(changes, record) if changes else Applied(())

        return edits.retried(attempt)

    # ---------------------------------------------------------------- reading

    def clusters(self, name: str | None = None) -> list[clusters.Cluster]:
        """The clusters, largest first; or one with its members, and the notes of a person that its page names."""
        with self._catalog() as catalog:
            cards = catalog.cards()
        pages = {slug: card.path for card in cards if card.kind == HUB and (slug := hubs.slug_at(card.path))}
        beside = {slug: hubs.guests(self._read_or_none(path)) for slug, path in pages.items()}
        return clusters.bundle(cards, name, beside)

    def load(self, cluster: str, session: str = "main") -> Loaded:
        """Hold the memories of a cluster ready for a session, in one go, until they are unloaded; raises NotFound."""
        (found,) = self.clusters(cluster)
        return self.session(session).load(found.name, [member.path for member in found.members])

    def unload(self, cluster: str, session: str = "main") -> Loaded:
        """Let them go again; raises NotFound if there is no such cluster, and none of the name is loaded."""
        name, opened = cluster.removeprefix(CLUSTER_PREFIX), self.session(session)
        if name not in opened.loaded():
            self.clusters(name)
        return opened.unload(name)

    def stats(self) -> dict[str, Any]:
        """What is there, in numbers, and how well the sessions of this scope do."""
        self.rest()
        with self._catalog() as catalog:
            numbers = catalog.numbers()
            cards = catalog.cards()
        repository = self._repository()
        gone = lineage.frozen(repository, [card.path for card in cards]) if repository else ()
        here = {ladder.home(card.path) for card in cards}  # one in the archive is no more than moved there
        frozen = sum(self.config.scope.contains(path) and path not in here for path in gone)
        return {**numbers, "cache": kept.summary(self.config, {card.id: card.blob for card in cards}, frozen)}

    def why_not(
        self,
        query: str,
        name: str,
        *,
        k: int = 10,
        kind: Sequence[str] = (),
        tag: Sequence[str] = (),
        cluster: Sequence[str] = (),
        scope: str | None = None,
        valid_at: str | None = None,
        as_of: str | None = None,
    ) -> whynot.WhyNot:
        """Why a search with these filters does not return a memory; raises NotFound if it never was one."""
        filters = self._filters(kind, tag, cluster, scope, valid_at)
        with self._catalog() as catalog:
            try:
                card = catalog.find(name)
            except NotFound:
                return whynot.absent(self.config, catalog, self._repository(), name)
        with self._reader_for(as_of) as (reader, moment, clock):
            vector = self._index.query_vector(query)
            asked = whynot.Question(query, vector, replace(filters, moment=moment), k, clock)
            return whynot.explain(reader, asked, card)

    # ----------------------------------------------------------------- health

    def status(self) -> dict[str, Any]:
        """How the vault is: index, Git, work not committed, and every file with a problem."""
        with self._catalog() as catalog:
            return health.status(self.config, catalog, self._index, self._hand.waiting())

    def validate(self, paths: Sequence[str] = (), *, staged: bool = False) -> list[Finding]:
        """What is wrong with these notes, all notes, or the staged ones."""
        return health.validate(self.config, paths, self._under_git() if staged else None)

    # ---------------------------------------------------------------- history

    def expand(self, name: str, *, as_of: str | None = None) -> Memory:
        """A whole memory, by id, path, title or alias; `as_of` a revision or date. Raises NotFound, Ambiguous."""
        if as_of is None:
            card = self._card(name)
            memory = derive.memory(card.id, card.path, self._read_bytes(card.path))
            journal.note(self.config, journal.SHOW, [card.id])
            return memory
        return past.memory_at(self._under_git(), name, as_of, self._card)

    def history(self, name: str | None = None, *, limit: int = 50) -> list[Entry]:
        """Commits that touched the vault, or one memory (which may be gone by now), newest first."""
        return past.entries(self._under_git(), name, self._card, limit)

    def changed(self, since: str) -> list[Entry]:
        """Commits after a date or a revision."""
        return past.changed(self._under_git(), since)

    def undo(self, commit: str | None = None, *, only: Sequence[str] = ()) -> tuple[Applied, list[str]]:
        """Revert a commit of Atlas, the last one by default, by a new commit; and the memories that came back.

        `only` names some of its memories, by id or path; the rest of the commit stands.
        """
        repository = self._under_git()
        with self._hand.lock():
            return self._brought_back(*past.undo(repository, commit, self._read_or_none, only))

    def restore(self, name: str) -> tuple[Applied, list[str]]:
        """Bring a memory that is gone, or the detail one has lost, back from history."""
        repository = self._under_git()
        with self._hand.lock():
            plan = thaw.plan(repository, self.config.root, name, self._card, self._read_or_none)
            return self._brought_back(*(plan or past.restore(repository, name, self._card, self._read_or_none)))

    # ---------------------------------------------------------------- bundles

    def export_memories(self, file: str | os.PathLike[str], *, scope: str | None = None) -> int:
        """Write the memories, byte for byte, to a JSON bundle; how many."""
        wanted = Scope(self._scope(scope))
        with self._catalog(wanted.prefix) as catalog:
            ids = {card.path: card.id for card in catalog.cards()}
        paths = [path for path in sorted(survey(self.config).files) if wanted.contains(path)]
        items = [bundle.Item(path, ids.get(path, ""), self._read_bytes(path)) for path in paths]
        text = bundle.dump(items, config.now().isoformat())
        vault.write_elsewhere(Path(file), text.encode("utf-8", "surrogatepass"))
        return len(items)

    def import_memories(self, file: str | os.PathLike[str], *, mode: str = "merge") -> Imported:
        """Read a JSON bundle in one commit. `merge` leaves what is here alone, `overwrite` replaces it."""
        if mode not in ("merge", "overwrite"):
            raise UsageError("The mode of an import is merge or overwrite.")
        items = bundle.load(Path(file).read_bytes())
        with self._hand.lock():
            with self._catalog() as catalog:
                plan = bundle.plan(
                    items,
                    overwrite=mode == "overwrite",
                    by_id=catalog.owner,
                    read=self._read_or_none,
                    taken=vault.names_taken(self.config),
                )
            passed, refused = self._hand.sifted(plan.changes)
            record = Record("import", f"Import {len(passed)} memories", actor=self.config.actor)
            applied = self._hand.apply(passed, record) if passed else Applied(())
        return Imported(len(passed), (*plan.skipped, *refused), applied)


def _new_id() -> str:
    return str(ULID())


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in lists of `size`, the last one shorter."""
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def _joined(applied: Sequence[Applied]) -> Applied:
    """Several batches as one: all their paths, the last commit, and the first reason something was not committed."""
    if not applied:
        return Applied(())
    failed = [a for a in applied if not a.committed]
    last = (failed or list(applied))[-1]
    return Applied(tuple(p for a in applied for p in a.paths), last.commit, last.note)
