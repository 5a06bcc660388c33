"""The verbs that carry memories out of a vault and into it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from atlas import bundle, config, vault
from atlas.errors import UsageError
from atlas.memory import Applied, Finding, Record, Scope
from atlas.remembering import RememberingEngine
from atlas.survey import survey


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did."""

    imported: int
    skipped: tuple[Finding, ...]
    applied: Applied


class CarryingEngine(RememberingEngine):
    """The part of the façade that exports and imports."""

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
