"""Which note a link leads to, over all notes of a vault. Pure.

The most exact answer wins, in this order: the place from the note's own folder (`../a.md`, and every Markdown address),
the whole path from the top, the end of a path (a bare name is the shortest end), the title, an alias, the id. Among
equals: the one spelled so, the one in the same folder, the shortest path, the first by name. Obsidian chooses so too
among files; titles, and names without their accents, are Atlas's own and stand behind.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from atlas.keys import plain
from atlas.spots import bare_name as stem

#: How a note can be meant, the most exact first.
PATH, TITLE, ALIAS, ID = range(4)

_RELATIVE = re.compile(r"\.{1,2}/")
_STEPS = re.compile(r"^(?:\.{0,2}/)+")


@dataclass(frozen=True, slots=True)
class Known:
    """What one note answers to. `title` is the one written in it, "" if its file name is all it has."""

    path: str
    title: str = ""
    aliases: tuple[str, ...] = ()
    id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Where a link leads. `equals`: the notes that answer as well. `near`: meant from the note's own folder."""

    path: str
    rank: int = PATH
    near: bool = False
    equals: tuple[str, ...] = ()

    @property
    def clear(self) -> bool:
        """Whether no other note answers to the link as well."""
        return len(self.equals) < 2


class Names:
    """All notes by what they answer to."""

    def __init__(self, notes: Iterable[Known]) -> None:
        self.notes: Mapping[str, Known] = {note.path: note for note in notes}
        self._places: dict[str, list[str]] = {}
        self._answering: dict[str, list[tuple[int, str, str]]] = {}
        for note in self.notes.values():
            self._take(note)

    def changed(self, new: Mapping[str, Known | None]) -> Names:
        """The same with some notes, by their old paths, as they are to be; None leaves one out."""
        kept = [note for path, note in self.notes.items() if path not in new]
        return Names([*kept, *(note for note in new.values() if note)])

    def find(self, target: str, source: str, *, address: bool = False) -> Answer | None:
        """The note that a link's target (decoded, without ending) in the note `source` leads to, None if there is none.

        `address` is for Markdown links, which begin in the folder of their note. No target is the note itself.
        """
        if not target:
            return Answer(source, near=address)
        wanted = target.replace("\\", "/")
        if address or _RELATIVE.match(wanted):
            near = self._at(posixpath.normpath(posixpath.join(posixpath.dirname(source), wanted)))
            if near and not wanted.startswith("/"):
                return Answer(near, near=True)
        return self._named(sought(wanted), source)

    def _take(self, note: Known) -> None:
        parts = stem(note.path).split("/")
        self._places.setdefault(plain(note.path), []).append(note.path)
        for first in range(len(parts)):
            self._answer(PATH, "/".join(parts[first:]), note.path)
        self._answer(TITLE, note.title, note.path)
        for alias in note.aliases:
            self._answer(ALIAS, alias, note.path)
        self._answer(ID, note.id, note.path)

    def _answer(self, rank: int, name: str, path: str) -> None:
        if name.strip():
            self._answering.setdefault(plain(name), []).append((rank, name, path))

    def _at(self, place: str) -> str:
        """The note at this place, in whatever case, or ""."""
        found = self._places.get(plain(place), ())
        same = [path for path in found if _spelling(stem(path)) == _spelling(place)]
        return min(same, key=lambda path: (_composed(stem(path)) != _composed(place), path), default="")

    def _named(self, name: str, source: str) -> Answer | None:
        folder = posixpath.dirname(source)

        def order(one: tuple[int, str, str]) -> tuple[bool, int, bool, bool, bool, int, str]:
            rank, spelled, path = one
            whole = rank == PATH and spelled == stem(path)
            return (
                _spelling(spelled) != _spelling(name), rank, not whole, _composed(spelled) != _composed(name),
                posixpath.dirname(path) != folder, len(path), path,
            )  # fmt: skip

        ordered = sorted(self._answering.get(plain(name), ()), key=order)
        if not ordered:
            return None
        first = ordered[0]
        # A whole path leads to its note and to no other, however many paths end so.
        depth = 3 if not order(first)[2] else 2
        equals = dict.fromkeys(one[2] for one in ordered if order(one)[:depth] == order(first)[:depth])
        return Answer(first[2], first[0], equals=tuple(equals))


def sought(target: str) -> str:
    """The name that a target is looked up by, without the steps (`../`) in front."""
    return _STEPS.sub("", target)


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", stem(name))


def _spelling(name: str) -> str:
    """A name without its case and spacing; accents count here."""
    return " ".join(_composed(name).casefold().split())
