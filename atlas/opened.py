"""An opened vault that can be written to: what all verbs that write have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ulid import ULID

from atlas import git, vault
from atlas.catalog import Card, Catalog
from atlas.errors import NotFound, UsageError
from atlas.memory import Scope
from atlas.reading import ReadingEngine

if TYPE_CHECKING:
    from atlas.hand import Hand


class OpenedVault(ReadingEngine):
    """The hand that writes, and look-ups for planners. The verbs are added by those that build on it."""

    _hand: Hand

    @contextmanager
    def _catalog(self, scope: str | None = None) -> Iterator[Catalog]:
        with self._index.reader() as reader:
            yield Catalog(reader.con, self.config.scope if scope is None else Scope(scope))

    def _card(self, name: str) -> Card:
        with self._catalog() as catalog:
            return catalog.find(name)

    def _read_bytes(self, path: str) -> bytes:
        return vault.read(self.config, path)

    def _read_or_none(self, path: str) -> bytes | None:
        try:
            return vault.read(self.config, path)
        except NotFound:
            return None

    def _repository(self) -> git.Repository | None:
        return git.find(self.config.root)

    def _under_git(self) -> git.Repository:
        repository = git.find(self.config.root)
        if repository is None:
            raise UsageError("This vault is not under Git, so it has no history: run `git init` in it.")
        return repository


def new_id() -> str:
    """The id of a memory that is about to be written."""
    return str(ULID())
