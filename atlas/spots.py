r"""Where the links of a note stand, in its text and its metadata, and their targets exchanged in place. Pure.

    wiki       [[Boiler#Valve|it]]     ![[Boiler]]     [[Boiler\|it]]
    address    [it](../folder/Boiler%20Room.md#valve)     ![](<plan of it.png>)
    value      up: "[[Boiler]]"        lists of these
    bare       superseded_by: Boiler

None in code fences and code spans. Comments (`%% … %%`) are a person's words like any other: links in them count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from atlas import body
from atlas.memory import Link
from atlas.note import Head, split
from atlas.yamltext import Entry

#: Keys whose values name a memory without brackets too.
NAMING_KEYS = ("superseded_by", "supersedes", "derived_from")

_ENDING = re.compile(r"\.(?:md|markdown)$", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_BEFORE_ANCHOR = re.compile(r"\\?\||#")
_BAR = re.compile(r"\\?\|")
#: What no target of a wikilink can hold.
_NOT_WIKI = re.compile(r"[\[\]|#\r\n]|\\$|^\s|\s$")
#: What an address outside angle brackets must not hold as it is; inside them, fewer.
_NOT_BARE, _NOT_ANGLED = re.compile(r"[\s%#?<>()\\\x00-\x1f\x7f]"), re.compile(r"[\r\n%#?<>\\]")


@dataclass(frozen=True, slots=True)
class Spot:
    """One link. `start` to `end` is its target as typed, `end` to `stop` its anchor (`#heading`, or nothing).

    `target` is what the typed text means: decoded, without the ending of a note. `note` is false for the address of
    another file. `fixed` says that the text cannot be exchanged in place. `style` is how its YAML value is quoted.
    `line` counts from 1 in the file.
    """

    manner: str
    target: str
    typed: str
    anchor: str
    start: int
    end: int
    stop: int
    line: int
    style: str = ""
    note: bool = True
    fixed: bool = False

    @property
    def shown(self) -> str:
        """The target with its anchor, as typed."""
        return self.typed + self.anchor

    @property
    def ending(self) -> bool:
        """Whether the ending of the file is typed too."""
        return bool(_ENDING.search(self.typed))


def spots(text: str) -> tuple[Spot, ...]:
    """Every link in the text of a note, in order. Metadata that cannot be read has none."""
    head = split(text)
    found = [*_values(head), *_in_body(text, head)]
    return tuple(sorted(found, key=lambda spot: spot.start))


def bare_name(path: str) -> str:
    """A path or a target without the ending of a note."""
    return _ENDING.sub("", path)


def exchanged(text: str, new: Iterable[tuple[Spot, str]]) -> str:
    """The text with these targets, anchors included, in the place of the old ones; nothing else is touched."""
    out, seen = [], 0
    for spot, typed in sorted(new, key=lambda pair: pair[0].start):
        out += [text[seen : spot.start], typed]
        seen = spot.stop
    return "".join([*out, text[seen:]])


def written(spot: Spot, target: str, ending: str, anchor: str) -> str | None:
    """A target (without ending) and its anchor, as this link would spell them; None if it cannot hold them."""
    if spot.manner == "address":
        return _address(spot, target + ending if target and spot.note else target, anchor)
    full = target + (ending if spot.ending and target else "")
    if spot.manner in {"wiki", "value"} and (_NOT_WIKI.search(full) or _BAR.search(anchor)):
        return None
    return _quoted(full + anchor, spot.style)


def _address(spot: Spot, place: str, anchor: str) -> str | None:
    if spot.style == "angled":
        special = _NOT_ANGLED
    else:
        special = _NOT_BARE
        if "%" in spot.typed and re.search(r"%[89A-Fa-f]", spot.typed):
            return quote(place, safe="/!$&'*+,;=:@~") + re.sub(r"[\s<>()]", _percent, anchor)  # other scripts too
        anchor = re.sub(r"[\s<>()]", _percent, anchor)
    encoded = special.sub(_percent, place)
    return encoded + anchor if encoded or anchor else None


def _percent(match: re.Match[str]) -> str:
    return quote(match.group(), safe="")


def _quoted(text: str, style: str) -> str:
    if style == "single":
        return text.replace("'", "''")
    if style == "double":
        return text.replace("\\", "\\\\").replace('"', '\\"')
    return text


def _unquoted(text: str, style: str) -> str:
    """What a text means that `_quoted` wrote."""
    if style == "single":
        return text.replace("''", "'")
    return re.sub(r'\\(["\\])', r"\1", text) if style == "double" else text


# ------------------------------------------------------------------------------ the body


def _in_body(text: str, head: Head) -> Iterator[Spot]:
    """The links of the body; offsets count from the start of the file."""
    code_free = body.plain(head.body)
    shift, lines = len(head.head), _Lines(body.lined(text))
    for link in body.links(code_free):
        yield _wiki(head.body, link, shift, lines)
    for start, end, angled in body.address_spans(code_free):
        spot = _addressed(head.body[start:end], start + shift, lines, angled=angled)
        if spot is not None:
            yield spot


def _wiki(text: str, link: Link, shift: int, lines: _Lines, style: str = "", manner: str = "wiki") -> Spot:
    inner = text[link.start + 2 : link.end - 2]
    named = _BEFORE_ANCHOR.split(inner, maxsplit=1)[0]
    typed = named.strip()
    start = link.start + 2 + (len(named) - len(named.lstrip()) if typed else 0)
    whole = _BAR.split(inner, maxsplit=1)[0].rstrip()
    anchor = whole[len(named) :] if len(whole) > len(named) else ""
    stop = link.start + 2 + len(named) + len(anchor) if anchor else start + len(typed)
    end = link.start + 2 + len(named) if anchor else start + len(typed)
    typed = text[start:end]
    place = start + shift
    return Spot(
        manner, bare_name(typed.strip()), typed, anchor, place, end + shift, stop + shift, lines.of(place), style
    )  # fmt: skip


def _addressed(raw: str, start: int, lines: _Lines, *, angled: bool) -> Spot | None:
    """The spot of an address, unless it leads out of the vault."""
    if _SCHEME.match(raw):
        return None
    typed = re.split(r"[#?]", raw, maxsplit=1)[0]
    target = unquote(typed).strip()
    is_note = bool(_ENDING.search(target)) or not target
    return Spot(
        "address", bare_name(target) if is_note else target, typed, raw[len(typed) :], start, start + len(typed),
        start + len(raw), lines.of(start), "angled" if angled else "", note=is_note,
    )  # fmt: skip


class _Lines:
    """Line numbers of offsets, from 1."""

    def __init__(self, lined: str) -> None:
        self._lined, self._at, self._line = lined, 0, 1

    def of(self, place: int) -> int:
        if place < self._at:
            self._at, self._line = 0, 1
        self._line += self._lined.count("\n", self._at, place)
        self._at = place
        return self._line


# ------------------------------------------------------------------------- the metadata


def _values(head: Head) -> Iterator[Spot]:
    """The links in values of the metadata: text, and lists of texts."""
    if head.block is None or head.faults:
        return
    shift, lines = len(head.fences[0]), _Lines(body.lined(head.head))
    for entry in head.block.entries:
        for value, start, end, style in _texts(entry, head.raw):
            raw = head.raw[start:end]
            inner, offset = (raw[1:-1], 1) if style in {"single", "double"} else (raw, 0)
            if "[[" in value:
                typed, meant = (body.links(body.plain(part)) for part in (inner, value))
                # An escape inside a link may stand for another letter than is written: known, and not edited.
                for link, real in zip(typed, meant, strict=False) if len(typed) == len(meant) else ():
                    spot = _wiki(inner, link, shift + start + offset, lines, style, "value")
                    yield replace(
                        spot, target=bare_name(real.target), fixed=_unquoted(link.target, style) != real.target
                    )
            elif entry.key in NAMING_KEYS and value.strip():
                place = shift + start + offset
                name = bare_name(value.strip())
                yield Spot(
                    "bare", name, inner, "", place, place + len(inner), place + len(inner), lines.of(place), style,
                    fixed=_unquoted(inner, style) != value.strip(),
                )  # fmt: skip


def _texts(entry: Entry, raw: str) -> Iterator[tuple[str, int, int, str]]:
    """(value, start, end, style) of each text of an entry."""
    if isinstance(entry.value, str):
        yield entry.value, entry.start, entry.end, entry.style
    elif entry.style in {"flow", "block"}:
        for item in entry.items:
            if isinstance(item.value, str):
                style = {"'": "single", '"': "double"}.get(raw[item.start : item.start + 1], "plain")
                yield item.value, item.start, item.end, style
