"""A refresh while others write: what is in doubt is held, what cannot be taken in is passed by."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module

from atlas import git, models, note, source
from atlas.config import ENDINGS, Config
from atlas.errors import AtlasError
from atlas.head import head_commit
from atlas.identity import Lineage
from atlas.lineage import lineage
from atlas.listing import Diff, Report
from atlas.sightings import Sightings
from atlas.snapshot import Index
from atlas.survey import Fields, Survey, read_listed

#: Seconds after which a note that could not be taken in is tried again, though it did not change.
_BARRED = 55.0


class Stopped(Exception):
    """Raised by `progress` to end a refresh in the middle; what was done stays."""


class CatchUp:
    """Refreshes the index of one vault. It is opened for each refresh, and never held."""

    def __init__(self, config: Config, progress: Callable[[int, int], None]) -> None:
        self._config, self._progress = config, progress
        self._index = Index(config, self._lineage)
        self._known: tuple[tuple[str, str], tuple[Lineage, bool]] | None = None
        self._sightings = Sightings(self._deleted, self._half_written)
        self._head = ""
        self.why = ""
        #: Notes at which a refresh failed, with their stat then, and when: they stay as they were for a while.
        self.barred: dict[str, tuple[Fields, float]] = {}

    def refresh(self, look: Survey, now: float) -> Report:
        """Bring the index up to a look; `now` is monotonic. Raises what stands in the way of all notes."""
        self._sightings.now = now
        head = head_commit(self._config.root)
        try:
            report = self._index.refresh(look=look, hold=self._hold, progress=self._progress)
        except (AtlasError, OSError, Stopped):
            raise
        except Exception as err:  # noqa: BLE001 - one note that cannot be taken in must not keep the others out
            self._pass_by(look, now, err)
            report = self._index.refresh(look=look, hold=self._hold, progress=self._progress)
        self._head = head
        return report

    @property
    def waited(self) -> float:
        """Seconds for which another process had the index when it was last wanted."""
        return self._index.waited

    def is_current(self, look: Survey) -> bool:
        """Whether somebody else has brought the index up to this look already."""
        if not self._index.is_current(look):
            return False
        self._head = head_commit(self._config.root)
        return True

    def warm(self) -> None:
        """Load what the first refresh would wait for, half a second long."""
        for name in ("atlas.index", "atlas.shelf"):
            import_module(name)
        git.look(self._config.root)
        if self._config.embedding == "static":
            with suppress(AtlasError):
                self._index.embedder()

    def embed(self, progress: Callable[[int, int], None]) -> None:
        """Let a slow model embed what waits for it."""
        if self._index.model()["waiting"]:
            self._index.refresh(embed=True, hold=self._hold, progress=progress)

    def said(self) -> list[str]:
        """What the person should know of repairs made since the last call."""
        return self._index.said()

    def close(self) -> None:
        """Give back the memory of index and model. The next refresh takes what it needs again."""
        self._index.close()
        self._known = None
        models.release()
        gc.collect()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
        if trim is not None:  # glibc keeps what was freed for the process: 10 MB and more
            trim(0)

    def _hold(
        self, look: Survey, known: Mapping[str, Fields], changes: Diff, unreadable: Callable[[], frozenset[str]]
    ) -> Diff:
        alike = {p: was for p, was in self.barred.items() if changes.to_read.get(p) == was[0]}
        self.barred = {p: was for p, was in alike.items() if self._sightings.now < was[1] + _BARRED}
        barred = self.barred
        kept = {path: stat for path, stat in changes.to_read.items() if path not in barred}
        changes = replace(changes, to_read=kept, held=(*changes.held, *sorted(barred)))
        return self._sightings.sift(look, known, changes, unreadable)

    def _lineage(self, since: str) -> tuple[Lineage, bool]:
        """What Git knows of renames; asked once for each HEAD. An edit would wait 40 ms for five answers it had."""
        asked = (head_commit(self._config.root), since)
        if self._known is None or self._known[0] != asked or not asked[0]:
            self._known = (asked, lineage(self._config.root, since))
        return self._known[1]

    def _pass_by(self, look: Survey, now: float, err: Exception) -> None:
        """Find the notes at which a refresh fails, by halves, taking in the others; raises if it fails at all."""
        parts = list(self._changed(look))
        failed: dict[str, Fields] = {}
        taken = 0
        while parts:
            part = list(parts.pop().items())
            try:
                self._index.refresh(look=look, hold=partial(_only, dict(part)), progress=self._progress)
                taken += len(part)
            except (AtlasError, OSError, Stopped):
                raise
            except Exception as why:  # noqa: BLE001 - as above
                if len(part) > 1:
                    parts += [dict(part[: len(part) // 2]), dict(part[len(part) // 2 :])]
                    continue
                failed.update(part)
                self.why = f"{type(why).__name__}: {why}"
        if not failed or (len(failed) > 1 and not taken):
            raise err
        self.barred.update({path: (stat, now) for path, stat in failed.items()})

    def _changed(self, look: Survey) -> Iterator[dict[str, Fields]]:
        """The notes a refresh would read."""
        found: list[dict[str, Fields]] = []

        def gather(_look: Survey, _known: object, changes: Diff, _unreadable: object) -> Diff:
            found.append({path: stat for path, stat in changes.to_read.items() if path not in self.barred})
            return Diff({}, (), (*changes.to_read, *changes.gone))

        self._index.refresh(look=look, hold=gather)
        return (part for part in found if part)

    def _deleted(self, paths: Sequence[str]) -> Collection[str]:
        """Which of these missing notes Git has deleted: HEAD has or had them, and Git's index has them no more.

        A checkout takes away hundreds at once, and nobody should wait to see whether it means them.
        """
        try:
            repository, _ = git.look(self._config.root)
            if repository is None:
                return ()
            heads = {head for head in (self._head, head_commit(self._config.root)) if head}
            had = {path for head in heads for path in repository.tree(head, ENDINGS)}
            return had.intersection(paths).difference(repository.tracked())
        except AtlasError:
            return ()  # then they wait for the second sighting

    def _half_written(self, path: str) -> bool:
        try:
            data = read_listed(self._config, path)
            return data is not None and note.is_half_written(source.decode(data).text)
        except (OSError, AtlasError):
            return False


def _only(part: Mapping[str, Fields], _look: Survey, _known: object, changes: Diff, _unreadable: object) -> Diff:
    """The changes of these paths alone; all else is held."""
    kept = {path: stat for path, stat in changes.to_read.items() if path in part}
    rest = (path for path in changes.to_read if path not in part)
    return Diff(kept, (), (*rest, *changes.gone))
