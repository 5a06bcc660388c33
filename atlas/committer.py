"""Committing for the hand: what became of a set of changes, and what must be in Git before it is replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from atlas import commits, git
from atlas.config import now
from atlas.errors import AtlasError, GitRefused, NotCommitted
from atlas.memory import Applied, Change, Record
from atlas.survey import blob_id

if TYPE_CHECKING:
    from atlas.config import Config

#: Operations that put other words in the place of a person's; the rest add to them.
_REPLACING = frozenset({"undo", "restore", "import", "join"})


class Committer:
    """Makes the commits of one vault. `repository` is asked anew each time: a person may run `git init` meanwhile."""

    def __init__(self, config: Config, repository: Callable[[], git.Repository | None]) -> None:
        self._config, self._repository = config, repository
        self._limits = commits.Limits(signing=config.git_seconds)

    def commit(self, changes: Sequence[Change], record: Record) -> tuple[Applied, bool]:
        """Commit the changes; what became of them, and whether that is settled or to be tried again later."""
        paths = tuple(change.path for change in changes)
        if not self._config.commit:
            return Applied(paths, note="committing is switched off in atlas.toml"), True
        try:
            repository = self._repository()
            if repository is None:
                note = "the vault is not under Git: run `git init` in it, then `git add -A`"
                return Applied(paths, note=note), True
            return self._made(repository, changes, record), True
        except NotCommitted as err:
            return Applied(paths, note=err.reason), False
        except AtlasError as err:
            return Applied(paths, note=str(err)), False

    def _made(self, repository: git.Repository, changes: Sequence[Change], record: Record) -> Applied:
        paths = tuple(change.path for change in changes)
        private = repository.ignored(paths)
        files = {change.path: change.data for change in changes if change.path not in private}
        if not files:
            return Applied(paths, note="Git was told to ignore this file")
        return Applied(paths, commits.commit(repository, files, record, now(), self._limits))

    def keep(self, present: Mapping[str, bytes], record: Record, *, stuck: str = "") -> None:
        """Commit those of the files as they are now that HEAD does not hold: an import over edits lost them for good.

        Where that cannot be done (`stuck` says that it was just tried in vain), a record that only adds goes on, and
        one that replaces raises GitRefused.
        """
        if not present:
            return
        try:
            self._keep(present, record, stuck)
        except (NotCommitted, GitRefused) as err:
            if record.op in _REPLACING:
                why = err.reason if isinstance(err, NotCommitted) else err.said
                raise GitRefused("keep what this would replace, so nothing was written", why) from None

    def _keep(self, present: Mapping[str, bytes], record: Record, stuck: str) -> None:
        repository = self._repository() if self._config.commit else None
        if repository is None:
            raise NotCommitted("the vault is not under Git, or committing is switched off")
        held = repository.tree("HEAD") if repository.head() else {}
        private = repository.ignored(present)
        loose = {p: data for p, data in present.items() if held.get(p) != blob_id(data) and p not in private}
        if loose and stuck:
            raise NotCommitted(stuck)
        if loose:
            kept = Record("keep", f"Keep {', '.join(loose)} as found", f"before: {record.subject}")
            commits.commit(repository, loose, kept, now(), self._limits)
