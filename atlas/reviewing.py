"""The verbs of whoever reviews: what waits, and what becomes of it. Each decision is one commit."""

from __future__ import annotations

from collections.abc import Callable

from atlas import review
from atlas.carrying import CarryingEngine
from atlas.catalog import Catalog
from atlas.memory import Applied, Change, Record
from atlas.profiles import Profile


class ReviewingEngine(CarryingEngine):
    """The part of the façade that reviews."""

    def queue(self, name: str | None = None) -> tuple[review.Waiting, ...]:
        """What waits for a person: skills not approved, what is contested, what bears the tag `review`.

        Or one memory, whether it waits or not, with the digest that `approve` wants. Raises NotFound, Ambiguous.
        """
        with self._catalog() as catalog:
            if name is None:
                return tuple(review.queue(catalog.profiles(), self._read_or_none))
            one = _profile(catalog, name)
            return (review.waiting(one, self._read_bytes(one.path)),)

    def approve(self, name: str, digest: str) -> Applied:
        """Verify a memory as it was shown; `digest` says what was. Raises AtlasError if something else stands there."""
        return self._decided(name, "Approve", digest, lambda one, data: review.approved(one, data, digest))

    def reject(self, name: str, reason: str = "") -> Applied:
        """Reject a memory: it stays in the vault, and no view shows it."""
        return self._decided(name, "Reject", reason, review.rejected)

    def _decided(self, name: str, verb: str, reason: str, plan: Callable[[Profile, bytes], Change]) -> Applied:
        with self._hand.lock():
            with self._index.reader() as reader:
                one = _profile(Catalog(reader.con, self.config.scope), name)
                data = self._read_bytes(one.path)
                change = plan(one, data)
                passed = self._hand.checked([change], reader)
            if change.data == data:
                return Applied(())
            record = Record("review", f"{verb} {one.label}", reason, self.config.actor, memories=(one.id,))
            return self._hand.apply(passed, record)


def _profile(catalog: Catalog, name: str) -> Profile:
    """What the index knows of the memory of this name."""
    card = catalog.find(name)
    return next(one for one in catalog.profiles() if one.path == card.path)
