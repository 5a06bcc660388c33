"""Which commit a name or a date means, asked of Git only when the answer may have changed.

Git takes 10 ms to start and say it; a search in memory takes 4.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from atlas.head import common_dir, git_dir, head_commit

if TYPE_CHECKING:
    from atlas.lineage import Moment

#: A commit, a day or moment in ISO 8601, a plain name of a ref, or so many commits before one: what means the same
#: until a ref moves.
_PLAIN = re.compile(r"(\w[\w./:+-]*)((?:[~^]\d*)*)")
_KEPT = 64

#: What the answer depends on: HEAD's commit, and size and time of every file that could hold a ref of that name.
_State = tuple[str, tuple[tuple[int, int] | None, ...]]


class Revisions:
    """The moments that were asked for of one vault."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, tuple[_State, Moment]] = {}

    def moment(self, name: str) -> Moment:
        """The commit that a revision, tag or date means; raises NotFound, GitRefused, UsageError."""
        state = self._state(name)
        known = self._known.get(name)
        if known is not None and known[0] == state:
            return known[1]
        found: Moment = import_module("atlas.lineage").moment(self._root, name)
        if state is not None:
            self._known[name] = state, found
            while len(self._known) > _KEPT:
                del self._known[next(iter(self._known))]
        return found

    def _state(self, name: str) -> _State | None:
        """What the meaning of the name depends on; None if on something else too, such as the hour."""
        own = git_dir(self._root)
        plain = _PLAIN.fullmatch(name)
        if own is None or plain is None or ".." in name:
            return None
        ref, common = plain[1], common_dir(own)
        places = (own / ref, *(common / "refs" / kind / ref for kind in ("tags", "heads", "remotes")))
        files = tuple(map(_stat, (*places, common / "packed-refs")))
        if not (ref[0].isdigit() or re.fullmatch(r"[0-9a-f]{7,64}", ref) or any(files[:-1])):
            return None
        return head_commit(self._root), files


def _stat(place: Path) -> tuple[int, int] | None:
    try:
        found = place.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
