"""The verbs that carry memories out of a vault and into it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, cast

from atlas import bundle, config, exports, importers, intake, tokens, turns, vault
from atlas.bundle import HERE
from atlas.catalog import Card
from atlas.errors import AtlasError, UsageError
from atlas.importers import File, Skipped, Talk
from atlas.importers.given import Given, opened
from atlas.ingest import Request
from atlas.intake import FATAL, Ground, Report, Tally
from atlas.memory import Applied, Change, Finding, Record, Scope
from atlas.remembering import Ingested, RememberingEngine, conversing, holdings
from atlas.survey import survey, text_id

FORMATS = ("bundle", "json", "markdown")


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: memories `imported`, what was `skipped` and why, the same grouped in `report`."""

    imported: int
    skipped: tuple[Finding, ...]
    applied: Applied
    report: Report


@dataclass(frozen=True, slots=True)
class _Wish:
    """How an import is to be made. `prefix` is the folder that files go into, `scope` that of all else.

    `moved` goes before the paths that memories of a vault had there.
    """

    overwrite: bool
    dry_run: bool
    untrusted: bool
    scope: str
    prefix: str
    moved: str
    expected: frozenset[str]


class CarryingEngine(RememberingEngine):
    """The part of the façade that exports and imports."""

    def export_memories(self, file: str | os.PathLike[str], *, format: str = "bundle", scope: str | None = None) -> int:
        """Write the memories to a file; how many. A `bundle` has them byte for byte, `json` as plain records.

        `markdown` makes a folder of the files themselves, or a zip archive if the name ends in `.zip`.
        """
        if format not in FORMATS:
            raise UsageError(f"The format of an export is one of {', '.join(FORMATS)}.")
        wanted, place = Scope(self._scope(scope)), Path(file)
        with self._catalog(wanted.prefix) as catalog:
            ids = {card.path: card.id for card in catalog.cards()}
        paths = [path for path in sorted(survey(self.config).files) if wanted.contains(path)]
        items = (bundle.Item(path, ids.get(path, ""), self._read_bytes(path)) for path in paths)
        if format == "bundle":
            text = bundle.dump(items, config.now().isoformat())
            vault.write_elsewhere(place, text.encode("utf-8", "surrogatepass"))
        elif format == "json":
            vault.made_elsewhere(place, lambda stream: exports.write_json(items, stream))
        elif place.suffix.lower() == ".zip":
            vault.made_elsewhere(place, lambda stream: exports.write_zip(items, stream))
        else:
            exports.check_folder(place, self.config.root)
            vault.folder_elsewhere(place, ((item.path, item.data) for item in items))
        return len(paths)

    def import_memories(
        self,
        file: str | os.PathLike[str],
        *,
        mode: str = "merge",
        source: str = "auto",
        scope: str | None = None,
        columns: Mapping[str, str] | None = None,
        untrusted: bool = False,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Imported:
        """Read what another tool or another vault exported: a file, a zip archive or a folder, a commit per batch.

        `source` is its format (by itself if "auto"). `merge` leaves what is here alone, `overwrite` replaces it.
        """
        if mode not in ("merge", "overwrite"):
            raise UsageError("The mode of an import is merge or overwrite.")
        with opened(Path(file), columns) as given:
            self._refuse_itself(given)
            name = importers.detected(given) if source == "auto" else source
            if columns and name not in ("csv", "jsonl"):
                raise UsageError(f"Columns can be named for tables and records, and this is {name}.")
            tally = Tally(name)
            wish = self._wish(given, scope, overwrite=mode == "overwrite", untrusted=untrusted, dry_run=dry_run)
            if name == importers.BUNDLE:
                self._take_placed(bundle.load(Path(file).read_bytes()), wish, tally)
            else:
                for batch in intake.batches(importers.reader(name).read(given), tally):
                    self._take(batch, wish, tally)
                    if progress:
                        progress(given.consumed, given.size)
        return Imported(tally.imported, tuple(tally.findings), tally.outcome(), tally.report())

    def _refuse_itself(self, given: Given) -> None:
        place, root = given.place.resolve(), self.config.root.resolve()
        if not given.is_file and (place.is_relative_to(root) or root.is_relative_to(place)):
            raise UsageError(f"{given.place} lies in this vault, or holds it: its notes are memories already.")

    def _wish(self, given: Given, scope: str | None, *, overwrite: bool, untrusted: bool, dry_run: bool) -> _Wish:
        """Files go into the scope that was named, else into a folder called as theirs."""
        inner = self._scope(scope)
        called = PurePosixPath(given.place.resolve().name)
        name = (called.stem if called.suffix.lower() == ".zip" else called.name).lstrip(".") or "imported"
        prefix = inner if scope is not None else f"{inner}{name}/"
        expected = frozenset(prefix + name for name in given.files)
        moved = inner if scope is not None else ""
        return _Wish(overwrite, dry_run, untrusted, inner, prefix, moved, expected)

    def _take(self, batch: Sequence[importers.Found], wish: _Wish, tally: Tally) -> None:
        """Store one batch: its conversations, its records or its files, in one commit."""
        if isinstance(batch[0], Talk):
            self._take_talks(cast("Sequence[Talk]", batch), wish, tally)
        elif isinstance(batch[0], Request):
            self._take_requests(cast("Sequence[Request]", batch), wish, tally)
        else:
            files = cast("Sequence[File]", batch)
            if files[0].placed:
                self._take_placed([bundle.Item(one.path, one.id, one.data) for one in files], wish, tally)
            else:
                self._take_files([replace(one, path=wish.prefix + one.path) for one in files], wish, tally)

    # ------------------------------------------------------- conversations

    def _take_talks(self, talks: Sequence[Talk], wish: _Wish, tally: Tally) -> None:
        options = {"scope": wish.scope, **({"trust": "untrusted"} if wish.untrusted else {})}
        make = conversing().Conversation
        asked = [make(talk.messages, talk.name, options) for talk in talks]
        if wish.dry_run:
            tally.imported += self._worth_keeping(asked, wish)
            return
        names = [turns.named(talk.name, talk.messages) for talk in talks]
        before = self._threads(names, wish)
        try:
            done = self.ingest_conversations(asked)
        except FATAL:
            raise
        except AtlasError as err:
            if len(talks) == 1:
                tally.leave(names[0], intake.reason_of(err), "refused")
                return
            for half in (talks[: len(talks) // 2], talks[len(talks) // 2 :]):
                self._take_talks(half, wish, tally)
            return
        self._count(done, tally)
        tally.hear(done.said)
        after = self._threads(names, wish)
        for name in names:
            if after.get(name, 0) == before.get(name, 0):
                tally.leave(name, HERE if name in after else intake.EMPTY, "here")

    def _worth_keeping(self, asked: Sequence[Any], wish: _Wish) -> int:
        """How many memories would be made of these conversations."""
        count = tokens.load(self.config.tokenizer, self.config.root).count
        with self._index.reader() as reader:
            held = holdings().Holdings(reader, Scope(wish.scope))
            heard = [conversing().heard(conversing().opened(one), held, count) for one in asked]
        return sum(len(group) for one in heard for group in one.groups)

    def _threads(self, names: Sequence[str], wish: _Wish) -> dict[str, int]:
        with self._catalog(wish.scope) as catalog:
            return catalog.threads(names)

    # ------------------------------------------------------------- records

    def _take_requests(self, requests: Sequence[Request], wish: _Wish, tally: Tally) -> None:
        asked = [replace(one, scope=wish.scope, trust="untrusted" if wish.untrusted else one.trust) for one in requests]
        with self._hand.lock():
            with self._catalog(wish.scope) as catalog:
                known = catalog.with_source([one.source for one in asked if one.source])
            most = self.config.max_note_bytes
            fresh, changed = intake.told_apart(asked, known, tally, overwrite=wish.overwrite, most=most)
            if wish.dry_run:
                tally.imported += len(fresh) + len(changed)
                return
            self._store(fresh, tally)
            self._replace(changed, tally)

    def _store(self, requests: Sequence[Request], tally: Tally) -> None:
        """Store the records together; where one of them is refused after all, the others without it."""
        try:
            done = self.ingest_many(requests)
        except FATAL:
            raise
        except AtlasError as err:
            if len(requests) == 1:
                tally.leave(intake.name_of(requests[0]), intake.reason_of(err), "refused")
                return
            for half in (requests[: len(requests) // 2], requests[len(requests) // 2 :]):
                self._store(half, tally)
            return
        self._count(done, tally)
        new = {memory.id for memory in done.memories}
        for request, id in zip(requests, done.per_text, strict=True):
            if id not in new:
                tally.leave(intake.name_of(request), HERE, "here")
            new.discard(id)

    def _replace(self, changed: Sequence[tuple[Request, Card]], tally: Tally) -> None:
        now = config.now()
        changes = [intake.replacing(one, card, self._read_bytes(card.path), now) for one, card in changed]
        self._write(changes, "Update", tally)

    # --------------------------------------------------------------- files

    def _take_files(self, files: Sequence[File], wish: _Wish, tally: Tally) -> None:
        with self._hand.lock():
            with self._catalog() as catalog:
                ground = Ground(
                    read=self._read_or_none,
                    taken=vault.names_taken(self.config),
                    owner=catalog.owner,
                    lying=catalog.with_blob([text_id(file.data) for file in files]),
                    expected=wish.expected,
                    most=self.config.max_note_bytes,
                )
                marked = self._marked(files, wish, tally)
                changes = intake.placed(marked, ground, tally, overwrite=wish.overwrite)
            self._write(changes, "Import", tally, dry_run=wish.dry_run)

    def _take_placed(self, items: Sequence[bundle.Item], wish: _Wish, tally: Tally) -> None:
        """Memories of a vault, to the paths they had there."""
        files = [File(wish.moved + item.path, item.data, placed=True, id=item.id) for item in items]
        tally.found = max(tally.found, len(items))
        with self._hand.lock():
            with self._catalog() as catalog:
                plan = bundle.plan(
                    [bundle.Item(one.path, one.id, one.data) for one in self._marked(files, wish, tally)],
                    overwrite=wish.overwrite,
                    by_id=catalog.owner,
                    read=self._read_or_none,
                    taken=vault.names_taken(self.config),
                )
            tally.findings += plan.skipped
            self._write(plan.changes, "Import", tally, dry_run=wish.dry_run)

    def _marked(self, files: Sequence[File], wish: _Wish, tally: Tally) -> list[File]:
        """The files, as untrusted where that is wished; what cannot be marked is left out then."""
        found = [intake.distrusted(file) if wish.untrusted else file for file in files]
        for one in found:
            if isinstance(one, Skipped):
                tally.remark(one)
        return [one for one in found if isinstance(one, File)]

    def _write(self, changes: Sequence[Change], verb: str, tally: Tally, *, dry_run: bool = False) -> None:
        """Make the changes that pass the gate, as one commit."""
        passed, refused = self._sifted(changes)
        tally.findings += refused
        tally.imported += len(passed)
        if passed and not dry_run:
            subject = f"{verb} {len(passed)} memories" + (
                "" if tally.source == importers.BUNDLE else f" from {tally.source}"
            )
            record = Record("import", subject, actor=self.config.actor)
            tally.applied.append(self._hand.apply(passed, record))

    def _sifted(self, changes: Sequence[Change]) -> tuple[Sequence[Change], Sequence[Finding]]:
        """The changes that pass the gate. All at once, and one by one only where one does not: that takes 2 ms each."""
        if not changes:
            return (), ()
        try:
            with self._index.reader() as reader:
                return self._hand.checked(changes, reader).changes, ()
        except FATAL:
            raise
        except AtlasError:
            return self._hand.sifted(changes)

    @staticmethod
    def _count(done: Ingested, tally: Tally) -> None:
        tally.imported += len(done.memories)
        tally.applied.append(done.applied)
