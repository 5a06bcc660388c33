"""Links that lead nowhere since their note was renamed outside Atlas: found, and mended on demand.

Only a link whose note is known to live elsewhere now is a stray: the file that went carried the id of one that is here,
or Git pairs the two by their content. A link to what never was, or was deleted, is nobody's mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from atlas import git, history, lineage, markdown
from atlas.catalog import Card, Catalog
from atlas.config import ENDINGS
from atlas.errors import NotFound, NotText, UsageError
from atlas.identity import derived_id
from atlas.keys import handle, path_handles
from atlas.memory import Finding
from atlas.relink import Plan, Read, Room, Shift, follow
from atlas.resolver import Answer, Known, Names, sought
from atlas.source import decode
from atlas.spots import spots


@dataclass(frozen=True)
class Strays:
    """The links that are the name of no file, by note and handle; and where gone paths live now ("": nowhere)."""

    dead: Mapping[str, set[int]] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)
    known: tuple[Known, ...] = ()

    @cached_property
    def here(self) -> Names:
        """The notes there are."""
        return Names(self.known)

    @cached_property
    def _gone(self) -> Names:
        return Names(Known(path) for path in self.homes)

    def find(self, target: str, source: str, *, address: bool = False) -> Answer | None:
        """The path that a link meant, if all that it can have meant is one note now.

        A link by the old file name that is still the title leads there in Atlas, and nowhere in Obsidian.
        """
        if handle(sought(target)) not in self.dead[source]:
            return None
        here = self.here.find(target, source, address=address)
        answer = self._gone.find(target, source, address=address)
        homes = {self.homes[path] for path in (answer.path, *answer.equals)} if answer else {""}
        return answer if len(homes) == 1 and "" not in homes and (not here or {here.path} == homes) else None

    def findings(self, read: Read) -> Iterator[Finding]:
        """Every stray, with the line it stands on."""
        for source in self._sources:
            try:
                text = decode(read(source)).text
            except (NotFound, NotText):
                continue  # gone since the folder was looked at
            for spot in spots(text):
                found = self.find(spot.target, source, address=spot.manner == "address") if spot.target else None
                if found:
                    said = f"{spot.shown!r} now lives at {self.homes[found.path]}: run `atlas mv --repair`"
                    yield Finding(source, spot.line, "moved", said)

    def plan(self, room: Room) -> Plan:
        """What mends them all. Raises AtlasError as `relink.follow` does, UsageError if there are none."""
        shift = Shift(self, self.here, goal=lambda path, anchor: (self.homes[path], anchor))
        made = follow(room, shift, self._sources, {})
        if not made.links and not made.left:
            raise UsageError("No link leads to a note that was renamed outside Atlas: there is nothing to repair.")
        return made

    @property
    def _sources(self) -> list[str]:
        """The notes that may hold strays, by path."""
        names: set[int] = set()
        for path, home in self.homes.items():
            names |= set(path_handles(path)) if home else set()
        return sorted(path for path, wanted in self.dead.items() if wanted & names)


def find(catalog: Catalog, repository: git.Repository | None) -> Strays:
    """The strays among the notes of a catalog. Git is asked only if some link is the name of no file."""
    dead = catalog.leading_to_no_file() if repository else {}
    if not dead or repository is None:
        return Strays()
    wanted = set[int]().union(*dead.values())
    cards = catalog.cards()
    here = {card.path for card in cards}
    went = {path: ids for path, ids in _went(repository, here).items() if wanted.intersection(path_handles(path))}
    if not went:
        return Strays()
    return Strays(dead, _homes(repository, went, cards), tuple(catalog.known()))


def _went(repository: git.Repository, here: set[str]) -> dict[str, tuple[str, ...]]:
    """Every path that once held a note and holds none now, with the blobs it had last, newest first."""
    found = {path: ids for path, ids in lineage.removed(repository).items() if path not in here}
    for path, blob in repository.tree("HEAD", ENDINGS).items() if repository.head() else ():
        if path not in here:
            found[path] = (blob, *found.get(path, ()))
    return found


def _homes(repository: git.Repository, went: Mapping[str, tuple[str, ...]], cards: Iterable[Card]) -> dict[str, str]:
    """Where each note that went lives now, "" if nowhere or in several places."""
    ids, blobs = dict[str, str](), dict[str, list[str]]()
    for card in cards:
        ids[card.id] = card.path
        blobs.setdefault(card.blob, []).append(card.path)
    held = {
        blob: markdown.written_id(data)
        for blob, data in repository.blobs(blob for ids in went.values() for blob in ids[:1])
    }
    heirs = _heirs(repository, set(ids.values()))
    homes = {}
    for path, (blob, *_) in went.items():
        same = blobs.get(blob, [])
        by_content = same[0] if len(same) == 1 else ""
        homes[path] = ids.get(held.get(blob, "")) or ids.get(derived_id(path)) or heirs.get(path) or by_content
    return homes


def _heirs(repository: git.Repository, here: set[str]) -> dict[str, str]:
    """Where renames with unchanged content led each path, as far as a note is there."""
    heirs: dict[str, str] = {}
    for rename in history.renames(repository):
        home = rename.new if rename.new in here else heirs.get(rename.new, "")
        if home:
            heirs.setdefault(rename.old, home)
    return heirs
