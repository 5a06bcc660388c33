"""YAML as text from strangers: every scalar the string a person typed, every value with its place.

Read from parser events, one after the other, so no nesting, alias or date can raise or recurse. PyYAML's loaders
would turn `no` into False and `12:30` into 750, raise a bare ValueError for `2026-02-30`, and RecursionError for
2,000 brackets. The marks of the events are offsets in characters, also behind an emoji or CRLF.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

#: libyaml is ten times faster and gives the same marks; the pure parser stands in where it is not built.
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
#: The type stubs know no attributes of events.
_Event: TypeAlias = Any
#: A value as read: text, or lists and mappings of it.
Tree: TypeAlias = "str | list[Tree] | dict[str, Tree]"

#: Longest metadata that is read, in characters: far beyond any person's, short enough to stay instant.
MAX_LENGTH = 256 * 1024
#: Deepest nesting, and most values counted after aliases are followed: nine lines of aliases can mean 10^9 values.
MAX_DEPTH = 64
MAX_VALUES = 20_000

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_STYLES = {"'": "single", '"': "double", "|": "literal", ">": "folded"}
_SHAPES = {(False, True): "flow", (False, False): "block", (True, True): "flow map", (True, False): "map"}
_DEEP = f"nested more than {MAX_DEPTH} deep"
_ODD_KEY = ("a key that is itself a list or a mapping", "put the key in quotes")
#: What to do about the line where the parser stopped; the first that fits.
_HINTS = (
    (re.compile(r"^ *\t"), "indent with spaces, not tabs"),
    (re.compile(r"^(<{7}|={7}|>{7})"), "finish the merge: both sides are still there"),
    (re.compile(r"[\[,-]\s*\[\[.*\]\]"), "put the link in quotes"),
    (re.compile(r"""[:\[,-]\s*(?:"[^"]*"|'[^']*')[^\s,\]}#]"""), "quotes inside quotes: put the other kind around"),
    (re.compile(r"[:\[,-]\s*#"), "put words that begin with # in quotes"),
    (re.compile(r"[:-]\s+[`*&!%@|>]"), "put the value in quotes"),
    (re.compile(r":\s+[^\s\[{].*:(\s|$)"), "put a value that holds a colon in quotes"),
    (re.compile(r"[\[{]"), "close every bracket, or put the value in quotes"),
    (re.compile(r"""[:-]\s+["']"""), "close the quote"),
    (re.compile(r"^-(?: |$)"), "a key has either a value or a list"),
)


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a list. `start`, `end` are its own characters; equal when nothing is written."""

    value: Any
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One top-level key and its value.

    `start`, `end` span the value as written, up to its last character that counts: no trailing comment, blank line
    or newline. `style` is plain, single, double, literal, folded, alias, flow, block, flow map or map. `items` are
    those of a list.
    """

    key: str
    value: Any
    key_start: int
    key_end: int
    start: int
    end: int
    style: str
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Why metadata is not to be trusted, and where: an offset into the text. `hint` may be empty."""

    index: int
    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """Metadata as read. `kind` is mapping, empty (comments at most), other (a list, prose) or broken.

    `problem` is set when broken. `repeated` are second values under one key: such metadata is read, not written.
    `inline` says that all of it is one `{…}`.
    """

    text: str
    kind: str
    entries: tuple[Entry, ...] = ()
    problem: Problem | None = None
    repeated: tuple[Problem, ...] = ()
    inline: bool = False

    @property
    def meta(self) -> dict[str, Any]:
        """Key to value. A key written twice with different values is left out: neither is picked."""
        out: dict[str, Any] = {}
        torn = {entry.key for entry in self.entries if out.setdefault(entry.key, entry.value) != entry.value}
        return {key: value for key, value in out.items() if key not in torn} if torn else out

    def entry(self, key: str) -> Entry | None:
        """The entry of a key, or None."""
        return next((e for e in self.entries if e.key == key), None)


def read(text: str) -> Block:
    """The metadata in `text`, which has no fences. Never raises: what cannot be read is a Block with a problem."""
    if len(text) > MAX_LENGTH:
        return _broken(text, Problem(0, f"metadata longer than {MAX_LENGTH // 1024} KiB is not read"))
    reader = _Reader(text)
    try:
        reader.run(yaml.parse(text, Loader=_LOADER))
    except _Stop as stop:
        return _broken(text, stop.problem)
    except yaml.reader.ReaderError as error:
        return _broken(text, Problem(min(int(error.position), len(text)), "a control character", "remove it"))
    except yaml.MarkedYAMLError as error:
        return _broken(text, _explain(error, text, reader))
    except (yaml.YAMLError, ValueError) as error:  # a lone surrogate cannot be handed to libyaml
        return _broken(text, Problem(0, f"not readable as YAML ({type(error).__name__})"))
    return reader.block()


def words(value: Tree | None, *, spaces: bool = False) -> tuple[str, ...]:
    """The strings of a list in any of its spellings, in order, empty ones left out.

    A list gives its items, nested lists theirs; a string is cut at commas, and at spaces too if `spaces`.
    """
    if isinstance(value, list):
        found = (words(item) if isinstance(item, list) else (_word(item),) for item in value)
        return tuple(word for nested in found for word in nested if word)
    parts = re.split(r"[,\s]+" if spaces else ",", _word(value))
    return tuple(part.strip() for part in parts if part.strip())


def _word(value: Tree | None) -> str:
    return value.strip() if isinstance(value, str) else ""


def _broken(text: str, problem: Problem) -> Block:
    return Block(text, "broken", problem=problem)


def _explain(error: yaml.MarkedYAMLError, text: str, reader: _Reader) -> Problem:
    """The parser's complaint, where the person has to look, and what to do.

    An unclosed quote or bracket is noticed lines later: the place is where it opens.
    """
    mark: Any = error.problem_mark or error.context_mark
    if error.context_mark is not None and "quoted" in (error.context or ""):
        mark = error.context_mark
    index = min(mark.index, len(text)) if mark else 0
    if isinstance(error, yaml.parser.ParserError):
        index = next((frame.start for frame in reader.stack if frame.flow), index)
    line = text[text.rfind("\n", 0, index) + 1 :][:500].partition("\n")[0].rstrip("\r")
    hint = next((hint for pattern, hint in _HINTS if pattern.search(line)), "")
    return Problem(index, error.problem or "not readable as YAML", hint)


class _Stop(Exception):
    def __init__(self, index: int, reason: str, hint: str = "") -> None:
        self.problem = Problem(index, reason, hint)


@dataclass(frozen=True, slots=True)
class _Node:
    """A finished value: its place, how many values it stands for, how deep it goes."""

    value: Any
    start: int
    end: int
    style: str
    size: int = 1
    height: int = 0
    items: tuple[Item, ...] = ()


class _Frame:
    """A list or mapping being read. `before` is how many values were counted when it opened."""

    __slots__ = ("anchor", "before", "flow", "height", "items", "key", "seen", "start", "value")

    def __init__(self, event: _Event, before: int) -> None:
        self.value: Any = {} if type(event) is yaml.MappingStartEvent else []
        self.start: int = event.start_mark.index
        self.anchor: str | None = event.anchor
        self.flow, self.before = bool(event.flow_style), before
        self.height = 0
        self.key: tuple[str, int, int] | None = None
        self.seen: dict[str, int] = {}
        self.items: list[Item] = []

    @property
    def wants_key(self) -> bool:
        return self.key is None and isinstance(self.value, dict)


class _Reader:
    """Builds values from events with a stack of its own. `last` is the end of the last thing written."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.stack: list[_Frame] = []
        self.entries: list[Entry] = []
        self.repeated: list[Problem] = []
        self.anchors: dict[str, _Node] = {}
        self.kind, self.inline = "empty", False
        self.documents = self.count = self.last = 0

    def run(self, events: Iterable[_Event]) -> None:
        take: dict[type, Callable[[_Event], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._open,
            yaml.SequenceStartEvent: self._open,
            yaml.MappingEndEvent: self._close,
            yaml.SequenceEndEvent: self._close,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._document,
        }
        for event in events:
            act = take.get(type(event))
            if act:
                act(event)

    def block(self) -> Block:
        entries, repeated = tuple(self.entries), tuple(self.repeated)
        return Block(self.text, self.kind, entries, repeated=repeated, inline=self.inline)

    def _document(self, event: _Event) -> None:
        self.documents += 1
        if self.documents > 1:
            raise _Stop(event.start_mark.index, "a second YAML document begins here", "keep one block of metadata")

    def _scalar(self, event: _Event) -> None:
        start, end, value = event.start_mark.index, event.end_mark.index, event.value
        style = _STYLES.get(event.style, "plain")
        if style in {"literal", "folded"}:  # its mark stands behind the blank lines that follow
            end = max(len(self.text[:end].rstrip(" \t\r\n")), start + 1)
        frame = self.stack[-1] if self.stack else None
        if frame is not None and frame.wants_key:
            self._key(frame, value, start, end)
            return
        if style == "plain" and value in _NULLS and not (frame and isinstance(frame.value, list)):
            value = ""
        node = _Node(value, start, end, style)
        if event.anchor:
            self.anchors[event.anchor] = node
        self._put(node, new=1)

    def _key(self, frame: _Frame, key: str, start: int, end: int) -> None:
        if key in frame.seen:
            line = self.text.count("\n", 0, frame.seen[key]) + 1
            reason = f"{key!r} is written twice, first on line {line} of the metadata"
            self.repeated.append(Problem(start, reason, "keep one of them"))
        frame.seen.setdefault(key, start)
        frame.key = (key, start, end)

    def _open(self, event: _Event) -> None:
        start = event.start_mark.index
        if len(self.stack) >= MAX_DEPTH:
            raise _Stop(start, _DEEP)
        if self.stack and self.stack[-1].wants_key:
            raise _Stop(start, *_ODD_KEY)
        self.anchors.pop(event.anchor, None)
        self.stack.append(_Frame(event, self.count))

    def _close(self, event: _Event) -> None:
        frame = self.stack.pop()
        end = event.end_mark.index if frame.flow else max(self.last, frame.start)
        style = _SHAPES[isinstance(frame.value, dict), frame.flow]
        size = self.count - frame.before + 1
        node = _Node(frame.value, frame.start, end, style, size, frame.height + 1, tuple(frame.items))
        if frame.anchor:
            self.anchors[frame.anchor] = node
        if not self.stack and isinstance(frame.value, dict):
            self.kind, self.inline = "mapping", frame.flow
        self._put(node, new=1)

    def _alias(self, event: _Event) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        known = self.anchors.get(event.anchor)
        if known is None:
            raise _Stop(start, f"*{event.anchor} stands for nothing", "put the value in quotes")
        frame = self.stack[-1]
        if not frame.wants_key:
            self._put(_Node(known.value, start, end, "alias", known.size, known.height), new=known.size)
        elif isinstance(known.value, str):
            self._key(frame, known.value, start, end)
        else:
            raise _Stop(start, *_ODD_KEY)

    def _put(self, node: _Node, *, new: int) -> None:
        """Hand a finished value to what holds it; `new` values are counted."""
        self.last, self.count = node.end, self.count + new
        if self.count > MAX_VALUES:
            raise _Stop(node.start, f"it stands for more than {MAX_VALUES} values")
        if not self.stack:
            self.kind = "other" if self.kind == "empty" else self.kind
            return
        frame = self.stack[-1]
        frame.height = max(frame.height, node.height)
        if len(self.stack) + node.height > MAX_DEPTH:  # aliases stack what no bracket shows
            raise _Stop(node.start, _DEEP)
        if isinstance(frame.value, list):
            frame.value.append(node.value)
            frame.items.append(Item(node.value, node.start, node.end))
        elif frame.key is not None:
            key, key_start, key_end = frame.key
            frame.value.setdefault(key, node.value)
            frame.key = None
            if len(self.stack) == 1:
                entry = Entry(key, node.value, key_start, key_end, node.start, node.end, node.style, node.items)
                self.entries.append(entry)
