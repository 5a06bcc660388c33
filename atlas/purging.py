"""The verb that erases: a memory, for good, with a receipt of what is proven and what is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

from atlas import config, erase, past, proof, receipt, upkeep, versions
from atlas.errors import GitRefused, NotFound, UsageError
from atlas.git import Repository
from atlas.history import resolve
from atlas.judging import JudgingEngine
from atlas.memory import Change, Record
from atlas.receipt import Moved, Receipt
from atlas.revision import Revisions
from atlas.rewriting import Rewritten
from atlas.versions import Past, Version, Versions


class PurgingEngine(JudgingEngine):
    """The part of the façade that erases."""

    def purge(self, name: str, *, yes: bool = False, dry_run: bool = False, with_derived: bool = False) -> Receipt:
        """Erase a memory from the folder, from history and from all that is derived; what of it is proven.

        Without `yes`, and with `dry_run`, nothing is done: the receipt says what would be. `with_derived` also takes
        what says that it was derived from the memory. What a purge that was killed left is done first. Raises
        GitRefused where history must not be rewritten now, NotFound, Ambiguous, Unavailable.
        """
        repository = self._under_git()
        if self.config.scope.prefix or not self.config.commit:
            raise UsageError("A purge works on the whole vault and by commits: open it without a scope, committing on.")
        with upkeep.alone(self.config.state), self._hand.lock():
            left = erase.unfinished(self.config)
            doing = yes and not dry_run
            last = self._erase(repository, left) if left and doing else None
            before = versions.look(repository)
            try:
                found = self._versions(repository, before, name, with_derived=with_derived)
            except NotFound:
                if last is not None:
                    return last
                raise
            told = erase.case(repository, before, found, self._here(repository, found))
            erase.refuse(repository, self._hand.waiting(), lambda path, blob: told.mark(path, blob) in told.marks)
            if not doing:
                done = erase.rewritten(repository, before, told, writes=False)
                return replace(self._receipt(repository, told, done), paths=found.paths)
            told.save(self.config)
            return self._erase(repository, told)

    # ------------------------------------------------------------------ which

    def _versions(self, repository: Repository, before: Past, name: str, *, with_derived: bool) -> Versions:
        """Every version of the memory of this name, be it here, archived, or in history alone."""
        ids, here = self._named_by(repository, before, name)
        found = versions.find(repository, before, ids, here)
        while with_derived:
            with self._catalog() as catalog:
                cards = catalog.cards()
            more = {card for card in cards if card.id not in ids and self._derived(card.path) & ids}
            if not more:
                break
            ids |= {card.id for card in more}
            here |= {v for card in more for v in self._places(repository, card.path)}
            found = versions.find(repository, before, ids, here)
        if not found.contents:
            path = self._card(name).path
            raise UsageError(f"{path} is in no commit: delete the file, then run `atlas index --rebuild`.")
        return found

    def _here(self, repository: Repository, found: Versions) -> list[bytes]:
        """What lies in the folder of it."""
        tree = repository.tree() if repository.head() else {}
        paths = [path for path, blob in tree.items() if (repository.full(path), blob) in found.found]
        return [data for path in paths if (data := self._read_or_none(path)) is not None]

    def _named_by(self, repository: Repository, before: Past, name: str) -> tuple[set[str], set[Version]]:
        try:
            card = self._card(name)
            return {card.id}, self._places(repository, card.path)
        except NotFound:
            if versions.find(repository, before, {name}).contents:
                return {name}, set()
            gone = past.find_gone(repository, name)
            blob = repository.tree(resolve(repository, gone.commit)).get(gone.path, "")
            return {gone.id}, {(repository.full(gone.path), blob)}

    def _places(self, repository: Repository, path: str) -> set[Version]:
        blob = repository.tree().get(path) if repository.head() else None
        return {(repository.full(path), blob)} if blob else set()

    def _derived(self, path: str) -> set[str]:
        said = versions.meta(self._read_or_none(path) or b"").get("derived_from", ())
        return set(said) if isinstance(said, list) else {str(said)}

    # ------------------------------------------------------------------ doing

    def _erase(self, repository: Repository, told: erase.Case) -> Receipt:
        """All steps; each is one that a killed purge may have done already."""
        erase.refuse(repository, self._hand.waiting(), lambda path, blob: told.mark(path, blob) in told.marks)
        changes = erase.removal(repository, told, self._read_or_none)
        if changes:
            record = Record("purge", f"Purge {told.digest}", "", self.config.actor, memories=told.ids)
            applied = self._hand.apply(changes, record)
            if not applied.committed:
                raise GitRefused("commit the removal, so history was not touched", applied.note)
        done = self._rewritten(repository, told)
        erase.clean(repository, told)
        erase.forget(self.config, told)
        self._revisions = Revisions(self.config.root)
        for session in list(self._sessions.values()):
            session.renew()
        self._index.refresh(rebuild=True, embed=True)
        made = self._receipt(repository, told, done)
        made = replace(made, done=True, places=tuple(proof.search(told, self.config, repository, self._index.texts())))
        made = self._kept(told, made)
        erase.finished(self.config)
        return made

    def _rewritten(self, repository: Repository, told: erase.Case) -> Rewritten:
        """History rewritten; tried again if a ref moved meanwhile."""
        for _ in range(3):
            try:
                return erase.rewrite(repository, told)
            except GitRefused as err:
                problem = err
        raise problem

    def _receipt(self, repository: Repository, told: erase.Case, done: Rewritten) -> Receipt:
        named = repository.call("config", "--get", "user.name").out.decode("utf-8", "replace").strip()
        return Receipt(
            ids=told.ids,
            digest=told.digest,
            when=config.now().astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            by=self.config.actor or named,
            done=False,
            blobs=told.blobs,
            commits=len(done.commits),
            refs=tuple(Moved(told.safe(ref.name), ref.id, new) for ref, new in done.refs.items()),
            stashes=done.stashes,
            signatures=done.signatures,
            runs=len(told.traces),
            shared=len(told.shared),
            quoted=told.quotes,
        )

    def _kept(self, told: erase.Case, made: Receipt) -> Receipt:
        """The receipt as a file of the vault, in a commit of its own."""
        day, number, path = made.when[:10], 1, f"{receipt.FOLDER}/{made.when[:10]}-{told.digest}.json"
        while (self.config.root / path).exists():
            number += 1
            path = f"{receipt.FOLDER}/{day}-{told.digest}-{number}.json"
        data = receipt.dump(made)
        assert not told.traces.found(data) - told.shared, "a receipt must not say what is gone"
        record = Record("purge", f"Keep the receipt of purge {told.digest}", "", self.config.actor, memories=told.ids)
        self._hand.apply([Change(path, data)], record)
        return replace(made, file=path)
