"""Single values exchanged inside metadata text. Nothing here looks at what else the text says: `yamledit` does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TypeAlias

from atlas.errors import Unparsable
from atlas.scalars import Scalar, fitting, spelled, written
from atlas.yamltext import Block, Entry, Item, read, words

#: What a key can be set to.
Value: TypeAlias = Scalar | Sequence[Scalar]

#: The types that are one word rather than a list.
SCALARS = (str, int, float, date)

_COLON = re.compile(r"[ \t]*:")
_DASH = re.compile(r"[ \t]*-[ \t]*")
_COMMENT = re.compile(r"[ \t]+#.*")
_BREAK = re.compile(r"\r\n|\n|\r|\Z")
#: Styles that stand on the lines below their key; the others end at their last character.
_BELOW = frozenset({"block", "map", "literal", "folded"})


@dataclass(frozen=True, slots=True)
class Site:
    """Metadata under edit: as read, the newline to write, and the name to use in an error."""

    block: Block
    newline: str = "\n"
    path: str = "note"

    def refusal(self, index: int, reason: str) -> Unparsable:
        """The error for the line at `index`; the opening fence is line 1."""
        return Unparsable(self.path, self.block.text.count("\n", 0, index) + 2, reason)


def added(site: Site, key: str, value: Value) -> str:
    """The text with a new key on its last line, at the margin of the others."""
    text, entries = site.block.text, site.block.entries
    margin = _indent(text, entries[0]) if entries else ""
    gap = "" if not text or text[-1] in "\r\n" else site.newline
    new = " " + written(value) if isinstance(value, SCALARS) else _listed(site, value)
    return f"{text}{gap}{margin}{written(key)}:{new}{site.newline}"


def removed(site: Site, entry: Entry) -> str:
    """The text without the lines of one key. Comments above it and blank lines below it stay."""
    text = site.block.text
    return text[: _line_start(text, entry.key_start)] + text[_next_line(text, max(entry.end, entry.key_end)) :]


def replaced(site: Site, entry: Entry, value: Value) -> str:
    """The text with another value for one key: in the old quotes, or in the old style of list."""
    text = site.block.text
    if not isinstance(value, SCALARS):
        return _list_replaced(site, entry, value)
    if entry.style in _BELOW or entry.style in {"flow", "flow map", "alias"} or entry.start == entry.end:
        return _rewritten(site, entry, " " + written(value))
    return _cut(text, entry.start, entry.end, fitting(value, entry.style, text[entry.start : entry.end]))


def grown(site: Site, entry: Entry, new: Sequence[Scalar]) -> str:
    """The text with items at the end of a list that has some."""
    text = site.block.text
    if entry.style == "block":
        return _grown_block(site, entry, new)
    end = entry.items[-1].end
    return _cut(text, end, end, "".join(_comma(text, entry) + written(item, flow=True) for item in new))


def thinned(site: Site, entry: Entry, keep: Sequence[bool]) -> str:
    """The text with only the marked items of a list; each goes with its comma, or with its lines."""
    text, items = site.block.text, entry.items
    if not any(keep):
        return _rewritten(site, entry, " []")
    for at in reversed(range(len(items))):  # from the end, so that the offsets before stay true
        if keep[at]:
            continue
        if entry.style == "block":
            _dash(site, items[at])
            text = text[: _line_start(text, items[at].start)] + text[_next_line(text, items[at].end) :]
        elif any(keep[:at]):
            text = _cut(text, items[at - 1].end, items[at].end, "")
        else:
            text = _cut(text, items[at].start, items[at + 1].start, "")
    return text


def joined(site: Site, entry: Entry, new: Sequence[str], *, spaces: bool) -> str:
    """The text with items added to a value that is one string: with its own commas, else spaces, else in brackets."""
    text, old = site.block.text, entry.value.rstrip()
    if "," in old and not any("," in item for item in new):
        value = fitting(", ".join([old, *new]), entry.style, "")
    elif spaces and len(old.split()) > 1 and not any(re.search(r"[,\s]", item) for item in new):
        value = fitting(" ".join([old, *new]), entry.style, "")
    else:
        parts = words(entry.value, spaces=spaces)
        one = len(parts) == 1 and entry.style in {"single", "double"}
        first = [text[entry.start : entry.end]] if one else [written(part, flow=True) for part in parts]
        value = f"[{', '.join([*first, *(written(item, flow=True) for item in new)])}]"
    return _cut(text, entry.start, entry.end, value)


def _list_replaced(site: Site, entry: Entry, value: Sequence[Scalar]) -> str:
    """By taking items out, or by adding some at the end, if that is all: an item that stays keeps its comment."""
    want = [spelled(item) for item in value]
    keep = [item.end > item.start and item.value in want for item in entry.items]
    kept = [item.value for item, stays in zip(entry.items, keep, strict=True) if stays]
    if not kept or kept != want[: len(kept)]:
        return _rewritten(site, entry, _listed(site, value, entry))
    text, new = thinned(site, entry, keep), value[len(kept) :]
    again = replace(site, block=read(text))
    left = again.block.entry(entry.key)
    return grown(again, left, new) if new and left else text


def _listed(site: Site, value: Sequence[Scalar], entry: Entry | None = None) -> str:
    """A list in the style of the one it replaces, else of the first list of the block, else in brackets."""
    lists = [e for e in (entry, *site.block.entries) if e and e.style in {"flow", "block"} and e.items]
    if not value or not lists or lists[0].style == "flow":
        return " [" + ", ".join(written(item, flow=True) for item in value) + "]"
    first = lists[0].items[0]
    return "".join(f"{site.newline}{_dash(site, first)}{written(item)}" for item in value)


def _rewritten(site: Site, entry: Entry, new: str) -> str:
    """Everything after the colon exchanged for `new`. A comment behind the value, or behind the bare key, stays."""
    text = site.block.text
    colon = _COLON.match(text, entry.key_end)
    if colon is None:
        raise site.refusal(entry.key_start, f"{entry.key!r} is written in a form that is not edited")
    end = max(entry.end, colon.end())
    behind = colon.end() if entry.style in _BELOW else end
    comment = _COMMENT.search(text, behind, _line_end(text, behind))
    first, *more = re.split(r"(?=[\r\n])", new, maxsplit=1)
    tail = comment.group() if comment else ""
    return text[: colon.end()] + first + tail + "".join(more) + text[_line_end(text, end) :]


def _grown_block(site: Site, entry: Entry, new: Sequence[Scalar]) -> str:
    text, last = site.block.text, entry.items[-1]
    dash = _dash(site, last)
    lines = [dash + written(item) + site.newline for item in new]
    at = _next_line(text, last.end)
    if last.start == last.end:  # `- ` and nothing: a place somebody left to be filled
        rest = text[last.end : _line_end(text, last.end)]
        filled = text[_line_start(text, last.end) : last.end] + lines[0][len(dash) - 1 :].rstrip("\r\n")
        lines[0] = filled + (rest if rest.strip() else "") + site.newline
        return text[: _line_start(text, last.end)] + "".join(lines) + text[at:]
    gap = "" if text[:at][-1:] in {"\r", "\n"} else site.newline
    return text[:at] + gap + "".join(lines) + text[at:]


def _dash(site: Site, item: Item) -> str:
    """The `  - ` in front of an item of a block list."""
    text = site.block.text
    before = text[_line_start(text, item.start) : item.start]
    if not _DASH.fullmatch(before):
        raise site.refusal(item.start, "a list item that does not begin on the line of its dash is not edited")
    return before if before[-1] in " \t" else before + " "


def _comma(text: str, entry: Entry) -> str:
    """The separator of a flow list, as typed between its last two items."""
    typed = text[entry.items[-2].end : entry.items[-1].start] if len(entry.items) > 1 else ""
    return typed if re.fullmatch(r",[ \t]*", typed) else ", "


def _indent(text: str, entry: Entry) -> str:
    return text[_line_start(text, entry.key_start) : entry.key_start]


def _cut(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _line_end(text: str, at: int) -> int:
    found = _BREAK.search(text, at)
    return found.start() if found else len(text)


def _next_line(text: str, at: int) -> int:
    found = _BREAK.search(text, at)
    return found.end() if found else len(text)
