"""`MemoryEngine`: the façade. Each verb is a few lines that call the rooms below in road order."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas import (
    clusters,
    derive,
    edits,
    health,
    hubs,
    journal,
    kept,
    ladder,
    lineage,
    past,
    template,
    thaw,
    whynot,
)
from atlas.catalog import Card
from atlas.errors import NotFound
from atlas.hand import Hand
from atlas.memory import CLUSTER_PREFIX, HUB, Applied, Entry, Finding, Memory, Record
from atlas.opened import new_id
from atlas.remembering import Stored
from atlas.reviewing import ReviewingEngine

if TYPE_CHECKING:
    from atlas.chat import Answer, Chat
    from atlas.memoryfiles import MemoryFiles
    from atlas.session import Loaded


class MemoryEngine(ReviewingEngine):
    """An opened vault. Safe to use from threads; several engines in several processes may share a vault.

    `scope` is a capability: an engine opened with one neither finds, reads nor writes anything outside it.
    `create` makes a vault in a folder that is absent or empty; `resident` keeps the index in memory between searches.
    `llm` is the model that writes: its name, or any object with `complete(prompt)` (`models.writing.Writer`).
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
        llm: Any = None,
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
            llm=llm,
        )
        self._hand = Hand(self.config, self._index, self._repository)
        self._chats: dict[str, Chat] = {}

    # ---------------------------------------------------------------- writing

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
            changes, refused = edits.adopt([c.path for c in cards if not c.written_id], self._read_bytes, new_id)
            minted = tuple(change.memory for change in changes)
            record = Record("adopt", f"Give {len(changes)} notes an id", actor=self.config.actor, memories=minted)
            applied = self._hand.apply(changes, record) if changes else Applied(())
        return applied, refused

    def files(self, folder: str = "memories/agent") -> MemoryFiles:
        """A folder below this engine's scope as files that an agent names and writes itself, byte for byte."""
        files: MemoryFiles = import_module("atlas.memoryfiles").MemoryFiles(self.config, self._hand, folder)
        return files

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

    def listed(self, *, scope: str | None = None) -> list[Card]:
        """What the index knows of every memory of a scope, by path, without opening a file."""
        with self._catalog(self._scope(scope)) as catalog:
            return catalog.cards()

    def memories(self, names: Sequence[str] | None = None, *, scope: str | None = None) -> list[Memory]:
        """These memories, whole, or all of a scope, by path. Unlike `expand`, it does not count as reading them.

        Raises NotFound, Ambiguous.
        """
        with self._catalog(self._scope(scope)) as catalog:
            cards = catalog.cards() if names is None else [catalog.find(name) for name in names]
        return [derive.memory(card.id, card.path, self._read_bytes(card.path)) for card in cards]

    def clusters(self, name: str | None = None) -> list[clusters.Cluster]:
        """The clusters, largest first; or one with its members, and the notes of a person that its page names."""
        with self._catalog() as catalog:
            cards = catalog.cards()
        pages = {slug: card.path for card in cards if card.kind == HUB and (slug := hubs.slug_at(card.path))}
        beside = {slug: hubs.guests(self._read_or_none(path)) for slug, path in pages.items()}
        return clusters.bundle(cards, name, beside)

    def recent(self, limit: int = 20, *, kind: Sequence[str] = ()) -> list[Stored]:
        """The memories that were stored last, newest first."""
        with self._catalog() as catalog:
            return [Stored(card.id, card.path, card.label) for card in catalog.recent(limit, kind)]

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

    # ---------------------------------------------------------------- talking

    def chat(
        self,
        message: str,
        *,
        session: str = "main",
        context: str = "",
        budget: int | None = None,
        remember: bool = True,
        hear: Callable[[str], None] | None = None,
    ) -> Answer:
        """The answer of the language model to a message, with the memories it stands on; the turn is remembered.

        `context` is text from outside, which is not trusted; `hear` gets the answer piece by piece. See `chat.Chat`.
        """
        with self._opening:
            if session not in self._chats:
                self._chats[session] = import_module("atlas.chat").Chat(self, session)
            chat = self._chats[session]
        return chat.say(message, context=context, budget=budget, remember=remember, hear=hear)

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
        return past.memory_at(self._under_git(), name, as_of, self._card, self.config.scope)

    def history(self, name: str | None = None, *, limit: int = 50) -> list[Entry]:
        """Commits that touched the vault, or one memory (which may be gone by now), newest first; raises NotFound."""
        scope = self.config.scope
        most = past.MOST if scope.prefix else limit
        found = past.within(past.entries(self._under_git(), name, self._card, most), scope)[:limit]
        if name is not None and not found:
            self._card(name)  # one that lies outside this engine's scope is none; a new one has no commit yet
        return found

    def changed(self, since: str) -> list[Entry]:
        """Commits after a date or a revision."""
        return past.within(past.changed(self._under_git(), since), self.config.scope)

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
