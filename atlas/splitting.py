"""A section as a note of its own: taken out, a link left in its place, every link to it following."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from datetime import datetime

from atlas import markdown
from atlas.body import Heading, plain
from atlas.errors import AtlasError, NotFound, UsageError
from atlas.joining import Part, anchor_of, anchor_parts, block_ids, definitions, levelled
from atlas.memory import Change
from atlas.relink import Goal, Plan, Room, Shift, encoded, follow, handles
from atlas.resolver import Known, Names
from atlas.source import NEWLINE, Source, decode, newline_of
from atlas.spots import bare_name
from atlas.survey import blob_id

#: What a new note takes over: where its words come from, how far they may be relied on, when they hold.
_CARRIED = ("kind", "trust", "source", "valid_from", "valid_to")
_LAYOUT = frozenset({"summary", "detail"})


@dataclass(frozen=True, slots=True)
class Section:
    """What is taken out: its heading, and where it begins and ends in the body."""

    heading: Heading
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Newcomer:
    """The note to be made."""

    path: str
    id: str
    created: datetime


def section(part: Part, name: str) -> Section:
    """The section with this heading; raises NotFound, and UsageError if it cannot be taken out."""
    found = [h for h in part.note.headings if anchor_parts(f"#{h.text}") == anchor_parts(f"#{anchor_of(name)}")]
    if not found:
        raise NotFound("heading", name, f"`atlas show {part.known.path}` shows those there are.")
    heading = found[0]
    if len(found) > 1:
        raise UsageError(f"{part.known.path} has {len(found)} headings {name!r}: rename one, then try again.")
    if heading.level == 1 or (heading.level == 2 and heading.text.casefold() in _LAYOUT):
        raise UsageError(f"{name!r} is what the note itself is made of: name a section of it, or use `atlas mv`.")
    rest = part.note.headings[part.note.headings.index(heading) + 1 :]
    end = next((h.start for h in rest if h.level <= heading.level), len(part.note.body))
    return Section(heading, heading.start, end)


def split(room: Room, names: Names, part: Part, cut: Section, new: Newcomer) -> Plan:
    """The section in a new note, a link in its place, and every link to it or out of it following."""
    old, note, newline = part.known.path, part.note, newline_of(part.note.text)
    taken, rest = note.body[cut.start : cut.end], note.body[: cut.start] + note.body[cut.end :]
    _refuse_torn(taken, rest)
    title = cut.heading.text
    after = names.changed({old: part.known, new.path: Known(new.path, title, (), new.id)})
    shift = Shift(names, after, goal=_goal(old, new.path, cut, part, taken), exists=room.exists)
    moved, links, left = shift.text(taken, old, new.path)
    # The link left behind is no link of before: it is put in last.
    mark = f"section {new.id} goes here"
    body = note.body[: cut.start] + mark + newline + (newline if note.body[cut.end :] else "") + note.body[cut.end :]
    kept, more, missed = shift.text(note.head + body, old)
    kept = kept.replace(mark, _link(after, old, new.path, title), 1)
    data = room.read(old)
    decoded = decode(data)
    sources = set(room.linked.linking(handles([part.known, after.notes[new.path]]))) - {old}
    plan = follow(room, shift, sources, {})
    changes = (
        Change(new.path, encoded(Source(""), _text(part, moved, new, newline), new.path), None, new.id, title),
        Change(old, encoded(decoded, kept, old), blob_id(data)),
        *plan.changes,
    )
    return Plan(changes, (*links, *more, *plan.links), (*left, *missed, *plan.left))


def _text(part: Part, moved: str, new: Newcomer, newline: str) -> str:
    """The new note: its metadata, the heading as its title, the text below."""
    meta = {key: part.note.meta[key] for key in _CARRIED if isinstance(part.note.meta.get(key), str)}
    facts = {"id": new.id, **meta, "created": new.created, "derived_from": part.known.id}
    text = NEWLINE.sub(newline, levelled(moved, 1)).rstrip("\r\n") + newline
    return markdown.edit(text, facts, path=new.path)


def _link(after: Names, source: str, path: str, title: str) -> str:
    """The link that is left in the place of the section."""
    whole = bare_name(path)
    for name in (posixpath.basename(whole), whole):
        found = after.find(name, source)
        if found and found.path == path and found.clear:
            break
    shown = "" if name == title or re.search(r"[\[\]|]", title) else f"|{title}"
    return f"[[{name}{shown}]]"


def _goal(old: str, new: str, cut: Section, part: Part, taken: str) -> Goal:
    """Links to the section, to a heading or a block in it lead to the new note."""
    inside: dict[str, bool] = {}
    for heading in part.note.headings:
        for name in anchor_parts(f"#{anchor_of(heading.text)}"):
            inside.setdefault(name, cut.start <= heading.start < cut.end)  # of several, a link leads to the first
    own = anchor_parts(f"#{anchor_of(cut.heading.text)}")[0]
    blocks = block_ids(taken)

    def goal(path: str, anchor: str) -> tuple[str, str]:
        if path != old or not anchor.startswith("#"):
            return path, anchor
        if anchor[1:].casefold() in blocks:
            return new, anchor
        typed, named = anchor.split("#")[1:], anchor_parts(anchor)
        if own in named:
            below = typed[named.index(own) + 1 :]
            return new, "".join(f"#{heading}" for heading in below)
        if inside.get(named[-1]):
            return new, anchor
        return path, anchor

    return goal


def _refuse_torn(taken: str, rest: str) -> None:
    """Raise AtlasError if one part uses a footnote or a reference that the other defines."""
    for here, there in ((taken, rest), (rest, taken)):
        prose = plain(here).prose.casefold()
        for name in sorted(definitions(there) - definitions(here)):
            if (name if name.startswith("[^") else f"]{name}") in prose:
                raise AtlasError(f"The section and the rest share {name}: nothing was split; give each its own first.")
