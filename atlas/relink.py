"""Links that follow their notes: what a note moved, renamed or retitled means for every link of the vault. Plans only.

A link is rewritten when, after the change, it would lead to another note than before, or would have to be guessed.
It keeps the manner it was written in: a bare name stays one while no other note answers to it, a path from the top
stays one, a relative address stays one. Nothing but the target is touched. Either all links follow, or nothing is
changed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Protocol

from atlas import markdown
from atlas.errors import AtlasError, NotText, Unparsable
from atlas.keys import handle, path_handles
from atlas.memory import WHOLE_VAULT, Change, Finding, Scope
from atlas.note import split
from atlas.resolver import ALIAS, ID, TITLE, Answer, Known, Names
from atlas.source import Source, decode, encode
from atlas.spots import Spot, bare_name, exchanged, spots, written
from atlas.survey import blob_id
from atlas.yamledit import reason_of

Read = Callable[[str], bytes]
#: From the path and anchor a link led to, to those it shall lead to.
Goal = Callable[[str, str], tuple[str, str]]

_RELATIVE = re.compile(r"\.{1,2}/")


class Linked(Protocol):
    """What has to be known of the vault as it is."""

    def known(self) -> list[Known]:
        """What every note answers to."""
        ...

    def linking(self, handles: Collection[int]) -> list[str]:
        """The notes that link to any of these names."""
        ...


class Finder(Protocol):
    """Whatever says where a link leads."""

    def find(self, target: str, source: str, *, address: bool = False) -> Answer | None:
        """The note that a target in the note `source` leads to."""
        ...


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A link that follows: where it stands, and its target as typed before and after."""

    path: str
    line: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written, the links rewritten by it, and those that could not be (`left`)."""

    changes: tuple[Change, ...]
    links: tuple[Rewritten, ...] = ()
    left: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Shift:
    """The vault's names before and after a change; `places` are the notes that lie elsewhere then."""

    before: Finder
    after: Names
    places: Mapping[str, str] = field(default_factory=dict)
    goal: Goal = lambda path, anchor: (path, anchor)
    exists: Callable[[str], bool] = lambda _path: False

    def text(self, text: str, source: str, there: str = "") -> tuple[str, list[Rewritten], list[Finding]]:
        """The text of the note `source` with its links following; which did, and which could not in place.

        `there` is the path it is to stand at, if that is not the note's own. Raises AtlasError if a link can be spelled
        in no way, Unparsable if one follows and the metadata cannot be read.
        """
        there = there or self.places.get(source, source)
        wanted = [(spot, new) for spot in spots(text) if (new := self._new(spot, source, there)) is not None]
        left = [_left(there, spot) for spot, _ in wanted if spot.fixed]
        chosen = [(spot, new) for spot, new in wanted if not spot.fixed]
        if not chosen:
            return text, [], left
        head = split(text)
        for _, problem in head.faults:
            reason = f"it links to what is to be renamed, and its metadata cannot be read: {reason_of(problem)}"
            raise Unparsable(source, head.place(problem.index)[0], reason)
        done = exchanged(text, chosen)
        if not _reads_back(done, text, chosen):  # a value of the metadata that the new name would break
            values = [spot for spot, _ in chosen if spot.manner in {"value", "bare"}]
            left += [_left(there, spot) for spot in values]
            chosen = [(spot, new) for spot, new in chosen if spot not in values]
            done = exchanged(text, chosen)
            if not _reads_back(done, text, chosen):
                raise AtlasError(f"The links of {source} cannot be rewritten safely: nothing was changed.")
        return done, [Rewritten(there, spot.line, spot.shown, new) for spot, new in chosen], left

    def _new(self, spot: Spot, source: str, there: str) -> str | None:
        """How a link is to be spelled; None if it stays."""
        is_address = spot.manner == "address"
        found = self.before.find(spot.target, source, address=is_address) if spot.note else None
        if found is None:
            return self._file(spot, source, there)
        path, anchor = self.goal(found.path, spot.anchor)
        anchor = "" if spot.manner == "bare" else anchor
        path = self.places.get(path, path)
        now = self.after.find(spot.target, there, address=is_address)
        if anchor == spot.anchor and now and now.path == path and not _worse(now, found):
            # A note that moved back shall have the addresses it had, and not the way round by another folder.
            short = not found.near or spot.target != _from(source, bare_name(found.path), spot.target)
            if there == source or short or spot.target == _from(there, bare_name(path), spot.target):
                return None
        best = ""
        for target in self._spellings(spot, found, path, there):
            answer = self.after.find(target, there, address=is_address)
            new = written(spot, target, posixpath.splitext(path)[1], anchor)
            if new is None or answer is None or answer.path != path:
                continue
            if not _worse(answer, found):
                return new
            best = best or new
        if not best:
            raise AtlasError(
                f"{source}:{spot.line}: the link {spot.shown!r} cannot be written so that it leads to {path}: nothing "
                "was changed; choose a name without brackets, `|` and `#`."
            )
        return best

    def _file(self, spot: Spot, source: str, there: str) -> str | None:
        """The address of a picture or another file, as it is from where the note lies then."""
        near = spot.manner == "address" or _RELATIVE.match(spot.target)
        if posixpath.dirname(source) == posixpath.dirname(there) or not near or spot.target.startswith("/"):
            return None
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), spot.target))
        if not self.exists(place):
            return None
        return written(spot, _from(there, place, spot.target), "", spot.anchor)

    def _spellings(self, spot: Spot, found: Answer, path: str, there: str) -> Iterator[str]:
        """Ways to name the note, in the manner of the link first and the shortest first."""
        whole = bare_name(path)
        parts = whole.split("/")
        deep = "/" in spot.target.strip("/")
        note = self.after.notes.get(path)
        if path == there and not spot.target:
            yield ""
        if note and found.rank in {TITLE, ALIAS}:
            yield note.title
        if note and found.rank == ID:
            yield note.id
        if found.near:
            yield _from(there, whole, spot.target)
        elif deep and bare_name(found.path).count("/") == spot.target.strip("/").count("/"):
            yield ("/" if spot.target.startswith("/") else "") + whole
        for length in range(min(2 if deep else 1, len(parts)), len(parts) + 1):
            yield "/".join(parts[-length:])
        yield _from(there, whole, "./")


def encoded(source: Source, text: str, path: str) -> bytes:
    """The bytes of a text in the encoding of its file; raises AtlasError if that cannot hold it."""
    try:
        return encode(source, text)
    except NotText as err:
        raise AtlasError(
            f"{path} cannot be written in its encoding ({err.reason}): nothing was changed; save it as UTF-8 first."
        ) from None


def _worse(now: Answer, found: Answer) -> bool:
    """Whether a link leads to its note less surely than before: by its title, from afar, or as one of several."""
    return now.rank > found.rank or (found.near and not now.near) or (found.clear and not now.clear)


def _from(source: str, place: str, typed: str) -> str:
    """A place as it is from the folder of a note; `./` in front where it was typed so."""
    near = posixpath.relpath(place, posixpath.dirname(source) or ".")
    return near if near.startswith("../") or not typed.startswith("./") else "./" + near


def _left(path: str, spot: Spot) -> Finding:
    return Finding(path, spot.line, "link", f"the link {spot.shown!r} is written in a form that is not edited")


def _reads_back(done: str, text: str, chosen: Sequence[tuple[Spot, str]]) -> bool:
    """Whether the new text, read anew, has the same links but for those exchanged."""
    new = {spot.start: shown for spot, shown in chosen}
    expected = [(spot.manner, new.get(spot.start, spot.shown)) for spot in spots(text)]
    return [(spot.manner, spot.shown) for spot in spots(done)] == expected


# --------------------------------------------------------------------------- the vault


def handles(notes: Iterable[Known]) -> set[int]:
    """Every name these notes answer to."""
    found: set[int] = set()
    for note in notes:
        found |= {*path_handles(note.path), *map(handle, filter(None, (note.title, *note.aliases, note.id)))}
    return found


@dataclass(frozen=True)
class Room:
    """The vault that is planned for. `linked` knows all of it, whatever the scope; `exists` is asked of any file."""

    linked: Linked
    reading: Read
    exists: Callable[[str], bool]
    scope: Scope = WHOLE_VAULT

    @cached_property
    def read(self) -> Read:
        """The bytes of a note, the same for the whole plan.

        Read twice, a save between would pass for what was planned on, and be replaced.
        """
        return cache(self.reading)


def follow(room: Room, shift: Shift, sources: Iterable[str], texts: Mapping[str, Draft]) -> Plan:
    """The plan that lets the links of these notes follow.

    `texts` are notes that are written in any case, by their path before. Raises AtlasError, naming the note, if one
    cannot be edited: all links follow, or nothing is changed.
    """
    changes: list[Change] = []
    links: list[Rewritten] = []
    left: list[Finding] = []
    for source in sorted({*sources, *texts}):
        data = room.read(source)
        draft = texts.get(source)
        try:
            decoded = decode(data)
            new, followed, missed = shift.text(decoded.text if draft is None else draft.text, source)
            links, left = links + followed, left + missed
            if draft is not None:
                changes.append(draft.change(decoded, data, new))
            elif new != decoded.text:
                changes.append(Change(source, encode(decoded, new), blob_id(data)))
        except NotText as err:
            raise AtlasError(
                f"{source} links to what is to be renamed and cannot be edited ({err.reason}): nothing was changed; "
                "save it as UTF-8, then try again."
            ) from None
    outside = sum(not room.scope.contains(change.path) for change in changes)
    if outside:
        notes = "1 note" if outside == 1 else f"{outside} notes"
        raise AtlasError(
            f"Links in {notes} outside {room.scope.prefix} would break: nothing was changed; "
            "do it with the whole vault open."
        )
    return Plan(tuple(changes), tuple(links), tuple(left))


@dataclass(frozen=True, slots=True)
class Draft:
    """A note to be written: its text so far, the path it gets, and its id if none is written in it.

    A note that moves and changes at once is known by nothing but a written id, so then it is written.
    """

    text: str
    path: str
    moved: bool = False
    id: str = ""

    def change(self, decoded: Source, data: bytes, text: str) -> Change:
        """The change that writes `text`, in the encoding of the old file. Raises NotText, Unparsable."""
        if self.moved and self.id and text != decoded.text:
            text = markdown.edit(text, {"id": self.id}, path=self.path)
        written_as = data if text == decoded.text else encode(decoded, text)
        return Change(self.path, written_as, None if self.moved else blob_id(data))
