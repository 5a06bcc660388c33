"""The metadata of two versions merged key by key. What comes out is YAML that reads, whatever the conflict.

A key one side changed has that side's very text. Lists merge as sets, `updated` is the later one. A value that both
changed stays as the first side has it, and the other side's stands above it as a comment (`markers.COMMENT`). No
comment of a person is lost: one whose line is gone stands above its key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from atlas import markers, threeway, yamledit
from atlas.dates import when
from atlas.errors import Unparsable
from atlas.threeway import Clash
from atlas.yamltext import Block, Tree, read

#: Keys whose value is a list in any spelling, `a, b` too.
LIST_KEYS = ("tags", "tag", "aliases", "alias", "entities")
#: Keys of which the later time holds.
LATER_KEYS = ("updated", "recorded_at")
#: Keys that are made of the rest of the note: of two, either is as good, and which no longer fits shows by itself.
DERIVED_KEYS = ("digest",)

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_REMARK = re.compile(r"(?:^|[ \t])(#[^\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Field:
    """One key: the comment and blank lines above it, its own lines, its value."""

    key: str
    above: tuple[str, ...]
    text: str
    value: Tree


@dataclass(frozen=True, slots=True)
class Fields:
    """Metadata taken apart: its keys in order, and the lines below the last."""

    entries: Mapping[str, Field]
    below: tuple[str, ...] = ()


@dataclass(slots=True)
class _Made:
    """Metadata in the making. `want` is what a reader must get back; `clashes` are keys with two values."""

    parts: dict[str, str] = field(default_factory=dict)
    want: dict[str, Tree] = field(default_factory=dict)
    clashes: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)


def merge(base: str, first: str, second: str) -> tuple[str, list[str]]:
    """The merged metadata, without fences, and the keys that have two values. Each text reads as YAML."""
    if threeway.chosen(base, first, second) is not None:
        return str(threeway.chosen(base, first, second)), []
    taken = [fields(read(text)) for text in (base, first, second)]
    if None not in taken:
        made = _by_key(*(t for t in taken if t is not None))
        if made is not None:
            return made
    return _side_by_side(base, first, second)


def fields(block: Block) -> Fields | None:
    """Metadata as keys with their lines; None where a key does not stand on lines of its own."""
    if block.kind not in {"mapping", "empty"} or block.inline or block.repeated:
        return None
    text, at = block.text, 0
    found: dict[str, Field] = {}
    for entry in block.entries:
        start = text.rfind("\n", 0, entry.key_start) + 1
        if start < at or text[start : entry.key_start].strip(" "):
            return None
        end = text.find("\n", max(entry.end, entry.key_end)) + 1 or len(text)
        own = text[start:end]
        own += "" if own.endswith("\n") else "\n"
        if read(own).meta != {entry.key: entry.value}:  # an alias of another key, or a value that ends elsewhere
            return None
        found[entry.key] = Field(entry.key, tuple(_LINE.findall(text[at:start])), own, entry.value)
        at = end
    return Fields(found, tuple(_LINE.findall(text[at:])))


def _by_key(base: Fields, first: Fields, second: Fields) -> tuple[str, list[str]] | None:
    """The merge of metadata taken apart, or None where what came of it does not say what it should."""
    made = _Made()
    for key in dict.fromkeys([*first.entries, *second.entries, *base.entries]):
        _key(made, key, base.entries.get(key), first.entries.get(key), second.entries.get(key))
    keys = threeway.order(list(base.entries), list(first.entries), list(second.entries), made.parts, lambda _: 0)
    below = _remarks(base.below, first.below, second.below)
    text = "".join([*(made.parts[key] for key in keys), *made.loose, *below])
    after = read(text)
    if after.problem or after.repeated or after.meta != made.want:
        return None
    return text, [key for key in keys if key in made.clashes]


def _key(made: _Made, key: str, base: Field | None, first: Field | None, second: Field | None) -> None:
    """Decide one key: what it is, what stands above it, whether it is in conflict."""
    sides = [side for side in (first, second) if side]
    above = _remarks(*(side.above if side else () for side in (base, first, second)))
    text, other = _decide(key, base, first, second)
    if text is None:
        old = base.above if base else ()
        made.loose += [line for side in sides for line in side.above if line not in old and line.strip()]
        return
    lost = _lost("".join([*above, text, other or ""]), base.text if base else "", [side.text for side in sides])
    if other is not None:
        made.clashes.append(key)
        lost += [markers.COMMENT + line for line in _LINE.findall(other)]
    made.parts[key] = "".join([*above, *lost, text])
    made.want[key] = read(text).meta[key]


def _decide(key: str, base: Field | None, first: Field | None, second: Field | None) -> tuple[str | None, str | None]:
    """The text of a key, None if it goes; and the text it stands against, None if all agree."""
    was, one, two = (side.text if side else None for side in (base, first, second))
    if one in (two, was):
        return two, None
    if two == was:
        return one, None
    agreed = _agreed(key, base, first, second)
    if agreed is not None:
        return agreed, None
    # Changed by one side and deleted by the other: what is there stays, against nothing.
    return (one, two) if one and two else (one or two, f"{key}\n")


def _agreed(key: str, base: Field | None, first: Field | None, second: Field | None) -> str | None:
    """The text of a key that both sides changed, where that is no conflict."""
    was, one, two = values = [side.value if side else None for side in (base, first, second)]
    later = _later(first, second) if key in LATER_KEYS else None
    if later:
        return later.text
    if key in DERIVED_KEYS and first and second:
        return min(first.text, second.text)
    merged = _set(key, base, first, second) if _are_lists(key, values) else None
    if merged is not None or not first or not second:
        return merged
    same = threeway.chosen(was, one, two)  # one side, or both, only wrote it another way
    return None if same is None else (first if one == same else second).text


def _later(first: Field | None, second: Field | None) -> Field | None:
    """The side with the later time, of one if the other has none; None where a value is no time."""
    if not first or not second:
        return first or second
    times = [when(side.value) if isinstance(side.value, str) else None for side in (first, second)]
    if times[0] is None or times[1] is None:
        return None
    return first if times[0] >= times[1] else second


def _are_lists(key: str, values: Sequence[Tree | None]) -> bool:
    """Whether a key is a list of words wherever it is there."""
    there = [value for value in values if value is not None]
    return all(
        (isinstance(value, list) and all(isinstance(item, str) for item in value))
        or (key in LIST_KEYS and isinstance(value, str))
        for value in there
    ) and (key in LIST_KEYS or any(there))


def _set(key: str, base: Field | None, first: Field | None, second: Field | None) -> str | None:
    """The list with what either added and without what either removed; None where it cannot be written so.

    Written as the side with more comments has it, else the first.
    """
    sides = [side for side in (first, second) if side]
    sides.sort(key=lambda side: -side.text.count("#"))
    lead = sides[0]
    rest = second if lead is first else first
    old = _words(key, base)
    theirs = _words(key, rest)
    gone = [word for name, word in old.items() if name not in theirs]
    new = [word for name, word in theirs.items() if name not in old]
    try:
        text = yamledit.add_items(lead.text, key, new) if new else lead.text
        return yamledit.remove_items(text, key, gone) if gone else text
    except Unparsable:
        return None


def _words(key: str, side: Field | None) -> dict[str, str]:
    """The items of a list by what they are compared by, each as it is written."""
    return {yamledit.same(key, word): word for word in yamledit.members(key, side.value if side else None)}


def _remarks(base: Sequence[str], first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Lines between keys merged; where both sides changed them, both stay: comments are no conflict."""
    out: list[str] = []
    for part in threeway.lines(base, first, second):
        if isinstance(part, Clash):
            out += [*part.first, *(line for line in part.second if line not in part.first)]
        else:
            out.append(part)
    return out


def _lost(text: str, base: str, sides: Iterable[str]) -> list[str]:
    """The comments that a side wrote on the lines of a key and that are not in its text now."""
    found = dict.fromkeys(remark.rstrip() for side in sides for remark in _REMARK.findall(side))
    return [f"{remark}\n" for remark in found if remark not in text and remark not in base]


def _side_by_side(base: str, first: str, second: str) -> tuple[str, list[str]]:
    """Metadata that is not a key per line: the first side's, with what the second has beyond it as comments."""
    if not first.strip():  # deleted by one side, changed by the other: what is there stays
        first, second = second, first
    mine, old = set(_LINE.findall(first)), set(_LINE.findall(base))
    other = [line for line in _LINE.findall(second) if line not in mine and (line not in old or not line.strip())]
    rows = [markers.COMMENT + line.rstrip("\n") + "\n" for line in other if line.strip()]
    return "".join([*rows, first]), ["metadata"]
