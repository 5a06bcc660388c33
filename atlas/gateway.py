"""The one gate for every write, from whatever door: API, command line, import, hook or background work.

It refuses; it never mends. Nothing is written unless every change of the set passes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from atlas import markdown
from atlas.credentials import find_secrets
from atlas.errors import DuplicateId, OutsideVault, SecretFound
from atlas.memory import Change, Scope
from atlas.paths import check_path


class Known(Protocol):
    """What the gate has to know of the vault as it is."""

    def owners(self, ids: Collection[str]) -> Mapping[str, str]:
        """The paths that have these ids, by id."""
        ...


def check(changes: Sequence[Change], scope: Scope, known: Known, read: Callable[[str], bytes | None]) -> None:
    """Raise OutsideVault, SecretFound or DuplicateId if any change may not be made; `read` gives the bytes on disk."""
    leaving = frozenset(change.path for change in changes if change.data is None)
    ids: dict[str, str] = {}
    for change in changes:
        check_path(change.path, existing=change.before is not None)
        if not scope.contains(change.path):
            raise OutsideVault(change.path, f"this engine may only write below {scope.prefix}")
        if change.data is not None:
            text = markdown.decode(change.data).text
            _check_secrets(change, text, read)
            id = markdown.parse(text, change.path).meta.get("id")
            ids[change.path] = id if isinstance(id, str) else ""
    _check_ids(ids, known, leaving)


def _check_secrets(change: Change, text: str, read: Callable[[str], bytes | None]) -> None:
    """No new secret. One that a person wrote there before is for the hook and `status` to report, not for an edit."""
    found = find_secrets(text)
    if not found:
        return
    before = read(change.path) if change.before is not None else None
    kept = {kind for _, kind in find_secrets(markdown.decode(before).text)} if before is not None else set()
    for line, kind in found:
        if kind not in kept:
            raise SecretFound(change.path, line, kind)


def _check_ids(ids: Mapping[str, str], known: Known, leaving: Collection[str]) -> None:
    """No id twice; a file that leaves gives its id to the one it becomes. `ids` are those to be written, by path."""
    claimed: dict[str, str] = {}
    owners = known.owners({id for id in ids.values() if id})  # at once: one by one, 2,000 take longer than to write
    for path, id in ids.items():
        for other in (claimed.get(id, ""), owners.get(id, "")):
            if id and other and other != path and other not in leaving:
                raise DuplicateId(id, [other])
        claimed[id] = path
