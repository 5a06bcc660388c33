"""The verbs that judge memories: what was of use, what is wrong, what is let go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from atlas import config, edits, feedback, forgetting, journal, upkeep, vault
from atlas.catalog import Card, Catalog
from atlas.errors import Outdated, UsageError
from atlas.ingest import Draft, Request, plan_batch
from atlas.memory import Applied, Change, Record
from atlas.opened import new_id
from atlas.overview import Overview
from atlas.planning import Row
from atlas.tending import TendingEngine


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of feedback: the memory, and the id of the one that took its place, "" if none did."""

    id: str
    corrected_by: str
    applied: Applied


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What forgetting did, or would do: a row per memory. `stops` says why nothing was done before somebody says yes.

    `left` are files that were edited meanwhile, so that their memories stay; `notes` what a person should know.
    """

    plan: tuple[Row, ...]
    applied: Applied
    stops: str = ""
    left: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class JudgingEngine(TendingEngine):
    """The part of the façade that judges memories."""

    def feedback(self, name: str, *, good: bool, correction: str = "", version: str = "") -> Judged:
        """Say of a memory that it was of use, or that it is wrong, and perhaps what is right.

        Praise makes it more important; a complaint less, and contested. A correction becomes a memory of its own that
        takes the other's place, in the same commit. Raises UsageError for a correction of what is good, and Outdated if
        the memory is not at `version` any more, where one is named.
        """
        if good and correction:
            raise UsageError("What is good needs no correction: say it is wrong, or leave the text out.")
        made: list[str] = []

        def attempt() -> Applied:
            with self._hand.lock():
                with self._index.reader() as reader:
                    catalog = Catalog(reader.con, self.config.scope)
                    card = catalog.find(name)
                    changes, made[:] = self._verdict(catalog, card, good=good, correction=correction)
                    _same_version(changes, card.path, version)
                    passed = self._hand.checked(changes, reader)
                subject = f"{'Praise' if good else 'Correct' if correction else 'Doubt'} {card.label}"
                reason, about = "good" if good else "wrong", tuple(made)
                return self._hand.apply(passed, Record("feedback", subject, reason, self.config.actor, memories=about))

        applied = edits.retried(attempt)
        journal.note(self.config, journal.GOOD if good else journal.WRONG, made[:1])
        return Judged(made[0], made[1] if made[1:] else "", applied)

    def _verdict(self, catalog: Catalog, card: Card, *, good: bool, correction: str) -> tuple[list[Change], list[str]]:
        """The changes that feedback makes, and the ids of the memory and of the one that takes its place."""
        data = self._read_bytes(card.path)
        if not correction:
            return [feedback.praised(card, data) if good else feedback.contested(card, data)], [card.id]
        draft = self._drafted(catalog, card, correction)
        return [*feedback.corrected(card, data, draft, config.now())], [card.id, draft.id]

    def _drafted(self, catalog: Catalog, card: Card, text: str) -> Draft:
        """The memory a correction becomes: of the kind and tags of the one it corrects, beside it in its scope."""
        head, found, _ = f"/{card.path}".partition("/memories/")
        request = Request(text, kind=card.kind, tags=card.tags, scope=head.strip("/") if found else None, whole=True)
        plan = plan_batch(
            [replace(request, scope=self._scope(request.scope))],
            now=config.now(),
            new_id=new_id,
            taken=vault.names_taken(self.config),
            stored=catalog.with_text,
            related=lambda _: (),
            total=catalog.count(),
        )
        if not plan.drafts:
            raise UsageError(f"This is remembered already: see `atlas show {plan.duplicates[0]}`.")
        return plan.drafts[0]

    def forget(
        self,
        names: Sequence[str] = (),
        *,
        policy: str | None = None,
        limit: int | None = None,
        dry_run: bool = False,
        yes: bool = False,
        version: str = "",
    ) -> Forgotten:
        """Let the least active memories, or those named, step down one rung, in one commit.

        `yes` also does what would stop and ask. `version` is that of the one memory named; raises Outdated if it is
        another by now. Raises Protected if one that is named must stay, GitRefused where no
        commit can be made now, Unavailable while upkeep runs.
        """
        look = Overview(self.config, self._index, self._tended(), self._read_or_none)
        with upkeep.alone(self.config.state):
            paths = [self._card(name).path for name in names]
            if version and len(paths) != 1:
                raise UsageError("A version is that of one memory: name that one alone.")
            plan = forgetting.plan(look.view(), names=paths, policy=policy, limit=limit)
            _same_version(plan.changes, paths[0] if version else "", version)
            stops = "" if yes else plan.stops
            if dry_run or stops or not plan.changes:
                return Forgotten(plan.rows, Applied(()), stops, notes=plan.notes)
            applied, left = upkeep.applied(plan, self._tend)
        return Forgotten(plan.rows, applied, left=left, notes=plan.notes)

    def _brought_back(self, changes: Sequence[Change], record: Record) -> tuple[Applied, list[str]]:
        """Make what brings memories back; what became of that, and their ids.

        It counts as reading them: else upkeep would forget the next day what somebody has just asked for.
        """
        applied = self._tend(changes, record)
        paths = {change.path for change in changes if change.data is not None}
        with self._catalog() as catalog:
            journal.note(self.config, journal.SHOW, [card.id for card in catalog.cards() if card.path in paths])
        return applied, list(record.memories)


def _same_version(changes: Sequence[Change], path: str, version: str) -> None:
    """Raise Outdated if a change is not made to this version of the file at `path`; "" is any.

    What was planned is compared, not the file: an editor's save in between is then caught by compare-and-write.
    """
    for change in changes:
        if version and change.path == path and change.before not in (None, version):
            raise Outdated(path, version, change.before or "")
