"""A note moved, or given another title: checked, and planned with every link that leads to it."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace

from slugify import slugify

from atlas import markdown
from atlas.config import ENDINGS
from atlas.errors import AtlasError, UsageError
from atlas.ingest import SLUG_CHARS
from atlas.memory import Change
from atlas.paths import RESERVED, check_path
from atlas.relink import Draft, Plan, Room, Shift, follow, handles
from atlas.resolver import Known, Names
from atlas.source import NEWLINE, decode
from atlas.survey import blob_id

#: What a file name cannot hold on some system, or a wikilink cannot name.
_NOT_IN_NAMES = re.compile(r'[\\/:*?"<>|#^\[\]\x00-\x1f\x7f]+')


def target(old: str, path: str, *, is_folder: bool) -> str:
    """Where a note goes: the path, or the same name in it if it is a folder. Raises OutsideVault, UsageError."""
    if is_folder or path.endswith(("/", "\\")):
        path = f"{path.rstrip('/' + chr(92))}/{posixpath.basename(old)}"
    elif not path.lower().endswith(ENDINGS):
        path += posixpath.splitext(old)[1]
    new = check_path(path)
    if new == old:
        raise UsageError(f"{old} lies there already.")
    return new


def refuse_taken(old: str, new: str, names: Names, taken: Callable[[str], bool]) -> None:
    """Raise AtlasError where the new path, as any system would read it, is that of another file."""
    others = {_folded(path): path for path in names.notes if path != old}
    if _folded(new) in others:
        raise AtlasError(f"{others[_folded(new)]} is there already: nothing was moved; choose another name.")
    if _folded(new) != _folded(old) and taken(new):
        raise AtlasError(f"{new} is there already: nothing was moved; choose another name.")


def move(room: Room, names: Names, note: Known, path: str, *, written_id: bool, retitled: str = "") -> Plan:
    """The note at another path, with another title if `retitled`, and every link following."""
    old, data = note.path, room.read(note.path)
    text = decode(data).text
    renamed = replace(note, path=path)
    if retitled:
        text, renamed = _retitled(text, retitled, old), replace(renamed, title=retitled)
    after = names.changed({old: renamed})
    shift = Shift(names, after, {old: path} if path != old else {}, exists=room.exists)
    sources = room.linked.linking(handles([note, renamed]))
    draft = Draft(text, path, moved=path != old, id="" if written_id else note.id)
    plan = follow(room, shift, sources, {old: draft})
    if path == old:
        return plan
    gone = Change(old, None, blob_id(data))
    # Created before the old one goes: killed in between, there are two. Where the names are one file, it cannot be.
    first, last = ((gone,), ()) if _folded(path) == _folded(old) else ((), (gone,))
    return replace(plan, changes=(*first, *plan.changes, *last))


def file_name(note: Known, title: str) -> str:
    """The path in the same folder that goes with a title, in the manner of the present file name."""
    folder, name = posixpath.split(note.path)
    stem, ending = posixpath.splitext(name)
    if stem == _slug(note.title or stem):
        stem = _slug(title)
    else:
        stem = " ".join(_NOT_IN_NAMES.sub(" ", title).split()).strip(". ")
        while len(stem.encode()) > 200:
            stem = stem[:-1].rstrip()
    if not stem or stem.split(".")[0].casefold() in RESERVED:
        raise UsageError(f"No file can be named after {title!r}: name it by `atlas mv ID PATH`.")
    return check_path(posixpath.join(folder, stem + ending))


def clean_title(title: str) -> str:
    """A title on one line; raises UsageError if it is empty."""
    clean = " ".join(NEWLINE.sub(" ", title).split())
    if not clean:
        raise UsageError("A title has at least one letter.")
    return clean


def _retitled(text: str, title: str, path: str) -> str:
    """The text with another label: in `title` if that gives it, else the first H1, else a new `title`."""
    note = markdown.parse(text, path)
    first = next((h for h in note.headings if h.level == 1 and h.text), None)
    written = note.meta.get("title")
    if not note.readable or first is None or (isinstance(written, str) and written.strip()):
        return markdown.edit(text, {"title": title}, path=path)
    line = note.body[first.start : first.end]
    at = first.start + line.index(first.text, len(line) - len(line.lstrip(" #")))
    body = note.body[:at] + title + note.body[at + len(first.text) :]
    new = note.head + body
    if markdown.parse(new, path).title != title:
        raise UsageError(f"{title!r} cannot be a heading of {path}: choose other words.")
    return new


def _slug(title: str) -> str:
    return slugify(re.sub("['’]", "", title), max_length=SLUG_CHARS, word_boundary=True, save_order=True).strip("-")


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
