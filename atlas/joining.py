"""Several notes as one: the others' texts appended under headings, nothing lost, every link following.

Of the others' metadata, lists are united with those of the note that stays, titles become aliases, ids stand in
`supersedes`; what else differs is written down in their section. What could not stand in one note is refused: two
blocks or footnotes of one name, another trust, metadata that does not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from atlas import markdown
from atlas.body import Heading, headings, plain
from atlas.errors import AtlasError, Unparsable
from atlas.memory import Change, Finding
from atlas.note import Note
from atlas.relink import Plan, Rewritten, Room, Shift, encoded, follow, handles
from atlas.resolver import Known, Names
from atlas.source import NEWLINE, decode, newline_of
from atlas.survey import blob_id
from atlas.yamledit import members

#: Lists that are united, and keys that one note can have one of.
UNITED = ("tags", "aliases", "entities")
_SPELLED = {"tag": "tags", "alias": "aliases"}
_OWN = ("id", "title", "trust", *UNITED, *_SPELLED)
_BLOCK = re.compile(r"(?:^|\s)(\^[\w-]+)[ \t]*(?=\n|\Z)")
_DEFINED = re.compile(r"^ {0,3}(\[\^?[^\]\n]+\]):", re.MULTILINE)
#: What Obsidian leaves out of a link to a heading.
_NOT_IN_ANCHORS = re.compile(r"[#|^\[\]\\:%]+")


@dataclass(frozen=True, slots=True)
class Part:
    """One of the notes: what is known of it, its text as it is, and the heading it is to stand under."""

    known: Known
    note: Note
    label: str
    headings: frozenset[str]
    section: str = ""

    @classmethod
    def read(cls, known: Known, data: bytes) -> Part:
        """The part in these bytes; raises NotText, Unparsable."""
        note = markdown.parse(decode(data).text, known.path)
        if not note.readable:
            found = next(f for f in note.findings if f.kind in {"frontmatter", "stacked-frontmatter"})
            raise Unparsable(known.path, found.line, f"its metadata cannot be read: {found.message}")
        return cls(known, note, note.title, frozenset(_anchor_key(h.text) for h in note.headings))


def join(room: Room, names: Names, keep: Known, others: Sequence[Known]) -> Plan:
    """The others appended to `keep` and removed, every link following. Raises AtlasError if that is not clean."""
    kept, parts = Part.read(keep, room.read(keep.path)), [Part.read(o, room.read(o.path)) for o in others]
    _refuse_clashes([kept, *parts])
    parts = _sections(kept, parts)
    titles = dict.fromkeys(word for part in parts for word in (part.label, *part.note.aliases))
    united = replace(keep, aliases=tuple(dict.fromkeys([*keep.aliases, *titles])))
    after = names.changed({keep.path: united, **dict.fromkeys((o.path for o in others), None)})
    shift = Shift(names, after, goal=_goal(kept, parts), exists=room.exists)
    text, links, left = shift.text(kept.note.text, keep.path)
    newline = newline_of(text)
    for part in parts:
        moved, more, missed = shift.text(part.note.text, part.known.path, keep.path)
        text = appended(text, _section(kept.note, markdown.parse(moved, part.known.path), part), newline)
        links, left = links + more, left + missed
    text = _united(text, kept, parts)
    _check(kept.note, markdown.parse(text, keep.path), parts)
    return _plan(room, shift, (keep, *others), text, links, left)


def _plan(
    room: Room, shift: Shift, notes: Sequence[Known], text: str, links: list[Rewritten], left: list[Finding]
) -> Plan:
    paths = [note.path for note in notes]
    sources = set(room.linked.linking(handles([*notes, shift.after.notes[paths[0]]]))) - set(paths)
    rest = follow(room, shift, sources, {})
    data = {path: room.read(path) for path in paths}
    whole = encoded(decode(data[paths[0]]), text, paths[0])
    changes = (
        Change(paths[0], whole, blob_id(data[paths[0]])),
        *rest.changes,
        *(Change(path, None, blob_id(data[path])) for path in paths[1:]),
    )
    return Plan(changes, (*links, *rest.links), (*left, *rest.left))


def anchor_of(text: str) -> str:
    """A heading as a link names it."""
    return " ".join(_NOT_IN_ANCHORS.sub(" ", text).split())


def _anchor_key(text: str) -> str:
    return anchor_of(unquote(text)).casefold()


def anchor_parts(anchor: str) -> list[str]:
    """The headings that an anchor names, each as it is compared: `#A#B` is B below A."""
    return [_anchor_key(part) for part in anchor.split("#")[1:]]


def block_ids(text: str) -> set[str]:
    """The blocks that can be linked to: `^v7`."""
    return {found.casefold() for found in _BLOCK.findall(plain(text).prose)}


def definitions(text: str) -> set[str]:
    """The footnotes and references that a text defines, with their brackets."""
    return {found.casefold() for found in _DEFINED.findall(plain(text).prose)}


def _goal(kept: Part, parts: Sequence[Part]) -> _Goal:
    return _Goal(kept.known.path, {part.known.path: part for part in parts}, [kept, *parts])


@dataclass(frozen=True, slots=True)
class _Goal:
    """Where links lead then: to the section of the note they led to, or to what they named in it."""

    path: str
    parts: Mapping[str, Part]
    everyone: Sequence[Part]

    def __call__(self, path: str, anchor: str) -> tuple[str, str]:
        part = self.parts.get(path)
        if part is None:
            return path, anchor
        section = f"#{anchor_of(part.section)}"
        named = anchor_parts(anchor) if anchor.startswith("#") else []
        if not named or not named[0]:
            return self.path, section
        if named[0] == _anchor_key(part.label):
            return self.path, section + "".join(f"#{below}" for below in anchor.split("#")[2:])
        shared = sum(named[0] in (*other.headings, _anchor_key(other.section)) for other in self.everyone) > 1
        return self.path, section + anchor if shared and named[0] in part.headings else anchor


def _sections(kept: Part, parts: Sequence[Part]) -> list[Part]:
    """The parts, each with a heading that no other has: two notes of one title would be one for links."""
    taken, out = set(kept.headings), []
    for part in parts:
        names = (part.label, *(f"{part.label} ({number})" for number in range(2, len(taken) + len(parts) + 3)))
        section = next(name for name in names if _anchor_key(name) not in taken)
        taken.add(_anchor_key(section))
        out.append(replace(part, section=section))
    return out


def _refuse_clashes(parts: Sequence[Part]) -> None:
    first = parts[0].known.path
    blocks, defined = dict[str, str](), dict[str, str]()
    for part in parts:
        path, body = part.known.path, part.note.body
        trust = {str(p.note.meta.get("trust") or "candidate") for p in (parts[0], part)}
        if len(trust) > 1:
            raise AtlasError(f"{path} is trusted otherwise than {first} ({', '.join(sorted(trust))}): joined, that "
                             "would be lost; settle it first.")  # fmt: skip
        for seen, found in ((blocks, block_ids(body)), (defined, definitions(body))):
            for name in sorted(found):
                if seen.setdefault(name, path) != path:
                    raise AtlasError(f"{seen[name]} and {path} both have {name}: nothing was joined; rename one first.")


def _section(kept: Note, note: Note, part: Part) -> str:
    """The section a note becomes: its label, what its metadata says otherwise, its text one or more levels down."""
    body = note.body
    first = next(iter(note.headings), None)
    if first and first.level == 1 and first.text == part.label and not body[: first.start].strip():
        body = body[first.end :]
    facts = _facts(kept, note)
    text = levelled(body, 3, down=True).strip("\r\n")
    return "\n\n".join(piece for piece in (f"## {part.section}", facts, text) if piece)


def _facts(kept: Note, note: Note) -> str:
    """The keys that say something else than those of the note that stays, as a list."""
    lines = []
    for key, value in note.meta.items():
        if key in _OWN or value in ("", [], {}) or kept.meta.get(key) == value:
            continue
        shown = value if isinstance(value, str) else ", ".join(value) if _is_words(value) else repr(value)
        lines.append(f"- {key}: {' '.join(NEWLINE.sub(' ', shown).split())}")
    return "\n".join(lines)


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _united(text: str, kept: Part, parts: Sequence[Part]) -> str:
    """The text with the lists of all in its metadata, and the ids that it stands for."""
    path = kept.known.path
    for key in UNITED:
        words = [w for part in parts for k in (key, *(o for o, n in _SPELLED.items() if n == key))
                 for w in members(k, part.note.meta.get(k))]  # fmt: skip
        if key == "aliases":
            known = {kept.label.casefold(), *(alias.casefold() for alias in kept.note.aliases)}
            words = [word for word in [*(part.label for part in parts), *words] if word.casefold() not in known]
        if words:
            text = markdown.add_to_list(text, key, list(dict.fromkeys(words)), path=path)
    ids = [word for part in parts for word in (part.known.id, *members("supersedes", part.note.meta.get("supersedes")))]
    return markdown.add_to_list(text, "supersedes", list(dict.fromkeys(ids)), path=path)


def appended(text: str, section: str, newline: str) -> str:
    """The text with a section at its end, apart by a blank line."""
    kept = text.rstrip("\r\n")
    return kept + (newline * 2 if kept else "") + NEWLINE.sub(newline, section) + newline


def levelled(text: str, level: int, *, down: bool = False) -> str:
    """The text with all its headings moved together, so that the highest is of this level; none goes below 6.

    `down`: headings that stand lower already stay.
    """
    code_free = plain(text)
    found = headings(code_free)
    step = level - min((heading.level for heading in found), default=level)
    step = max(step, 0) if down else step
    out, seen = [], 0
    for heading in found if step else ():
        out += [text[seen : heading.start], _at_level(text, heading, max(1, min(6, heading.level + step)))]
        seen = heading.end
    return "".join([*out, text[seen:]])


def _at_level(text: str, heading: Heading, level: int) -> str:
    line = text[heading.start : heading.end]
    if line.lstrip(" ").startswith("#") and not _underlined(line):
        return re.sub(r"^( *)#+", lambda m: m.group(1) + "#" * level, line)
    return f"{'#' * level} {heading.text}{newline_of(line)}"


def _underlined(line: str) -> bool:
    return len(NEWLINE.split(line.rstrip("\r\n"))) > 1


def _check(before: Note, after: Note, parts: Iterable[Part]) -> None:
    """Raise AtlasError if the text does not read as it was meant: an open code fence would swallow what follows."""
    sections = {heading.text for heading in after.headings if heading.level == 2}
    whole = all(" ".join(part.section.split()) in sections for part in parts)
    if not whole or not after.readable or (after.title, after.summary) != (before.title, before.summary):
        raise AtlasError("The texts cannot stand in one note (is a code fence or a title open?): nothing was joined.")
