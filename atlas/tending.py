"""The verbs that keep a vault sound: conflicts merged and repaired, upkeep, the vault's own checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from atlas import config, duplicates, evals, git, reconcile, upkeep, vault
from atlas.curating import CuratingEngine
from atlas.errors import GitRefused, UsageError
from atlas.memory import Applied, Change, Hit, Record
from atlas.overview import Overview
from atlas.survey import blob_id


class TendingEngine(CuratingEngine):
    """The part of the façade that keeps a vault sound."""

    def evaluate(self, files: Sequence[str] = ()) -> list[evals.Verdict]:
        """Run the vault's own checks in `evals/`, or those of these files; raises UsageError if one cannot be read."""

        def search(query: str, k: int, scope: str) -> Sequence[Hit]:
            return self._found(query, self._filters(scope=scope or None), k=k).hits

        return evals.judge(evals.load(self.config.root, files), search, lambda name: self._card(name).id)

    def maintain(
        self, *, dry_run: bool = False, all_tasks: bool = False, yes: bool = False, unasked: bool = False
    ) -> list[upkeep.Ran]:
        """Run the upkeep that is due (or all tasks), each task as a commit.

        `yes` also does what would stop and ask; `unasked` is for a run that a hook or the watcher begins. Raises
        Unavailable while another upkeep runs, GitRefused where no commit can be made now.
        """
        repository = self._tended()
        asked = upkeep.Asked(all_tasks, dry_run, yes, self.config.upkeep_seconds)
        look = Overview(self.config, self._index, repository, self._read_or_none, unasked=unasked, dry_run=dry_run)
        with upkeep.alone(self.config.state):
            return upkeep.run(look, self._tend, upkeep.Log(self.config.state), asked, config.now())

    def duplicates(self) -> tuple[duplicates.Pair, ...]:
        """The pairs of memories that say nearly the same, nearest first, each with what only one of them says."""
        view = Overview(self.config, self._index, self._under_git(), self._read_or_none).view()
        inside = self.config.scope.contains
        return tuple(pair for pair in duplicates.pairs(view) if inside(pair.a) and inside(pair.b))

    def _tended(self) -> git.Repository:
        """The repository, once upkeep can work on it."""
        repository = self._under_git()
        if self.config.scope.prefix or not self.config.commit:
            raise UsageError("Upkeep works on the whole vault and by commits: open it without a scope, committing on.")
        blocked = repository.blocked()
        if blocked:
            raise GitRefused("run upkeep", blocked)
        return repository

    def _tend(self, changes: Sequence[Change], record: Record) -> Applied:
        return self._hand.apply(changes, replace(record, actor=self.config.actor))

    def merge(self, paths: Sequence[str] = (), *, dry_run: bool = False) -> reconcile.Reconciled:
        """Merge notes that Git left in conflict (all, or those named), and stage those that merged cleanly.

        Nothing is committed: the merge, rebase or cherry-pick under way is the person's to end.
        """
        repository = self._under_git()
        with self._hand.lock():
            stages = {p: s for p, s in repository.unmerged().items() if self._named(p, paths)}
            plans, left = reconcile.unmerged(repository, stages, self._read_or_none)
            for plan in plans if not dry_run else ():
                vault.write(self.config, plan.path, plan.merged.data, blob_id(plan.before))
                if not plan.merged.conflicts:
                    repository.run("add", "--", repository.full(plan.path))
        return reconcile.outcome(plans, left, Applied(()))

    def repair(self, paths: Sequence[str] = (), *, dry_run: bool = False) -> reconcile.Reconciled:
        """Rebuild both sides of conflict marks that slipped into notes, and merge them again, in one commit.

        What conflicts still keeps both texts, marked.
        """
        with self._hand.lock():
            with self._catalog() as catalog:
                torn = {f.path for f in catalog.findings() if f.kind in reconcile.KINDS}
                ids = {card.path: card.id for card in catalog.cards()}
            wanted = list(paths) or sorted(path for path in torn if self._named(path, ()))
            plans, left = reconcile.repairs(self._repository(), wanted, self._read_bytes)
            asked = [
                Change(plan.path, plan.merged.data, blob_id(plan.before), ids.get(plan.path, ""))
                for plan in plans
                if plan.merged.data != plan.before
            ]
            passed, refused = self._hand.sifted(asked)
            about = tuple(change.memory for change in passed if change.memory)
            record = Record("repair", f"Repair {len(passed)} half-merged notes", "conflict marks", self.config.actor,
                            memories=about)  # fmt: skip
            applied = self._hand.apply(passed, record) if passed and not dry_run else Applied(())
        stopped = {finding.path for finding in refused}
        done = [plan for plan in plans if plan.path not in stopped]
        return reconcile.outcome(done, [*left, *refused], applied)

    def _named(self, path: str, paths: Sequence[str]) -> bool:
        return self.config.scope.contains(path) and (not paths or path in paths)
