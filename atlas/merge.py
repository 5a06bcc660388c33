"""Two versions of a memory file, and what they both came from, made one.

    bytes ──► text ──┬─► metadata, by key ───┐
                     └─► body, by section ───┴─► text ──► bytes, and what is in conflict

A pure function of three contents. It gives the same bytes whichever side is called ours: the two are put in the order
of their content first. What one side alone changed is taken as it stands, to the byte; what both changed differently
is kept twice and marked (see `markers`). Encoding, byte-order mark, kind of newline and the newline at the end of the
file are values like any other: whoever changed one wins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from atlas import markers, mergebody, mergemeta, threeway
from atlas.errors import NotText
from atlas.memory import Finding
from atlas.note import Head, split
from atlas.source import NEWLINE, Source, decode, encode

_MIXED = "mixed"
#: A carriage return alone, which is a line end to some readers and text to others.
_LONE = re.compile(r"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class Merged:
    """What came of a merge: the file's bytes, and each conflict in it by line."""

    data: bytes
    conflicts: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class _Version:
    """One version as text with line feeds and one at the end, and what it took to make it so."""

    source: Source
    text: str
    newline: str
    ended: bool

    @property
    def empty(self) -> bool:
        return not self.text


def merge(base: bytes, ours: bytes, theirs: bytes, path: str) -> Merged:
    """The merge of two versions of the note at `path`; an empty `base` is that of a note both sides added.

    Never raises. Of content that is not text, ours is kept and a conflict said.
    """
    plain = threeway.chosen(base, ours, theirs)
    if plain is not None:
        return Merged(plain)
    try:
        sources = [decode(data) for data in (base, min(ours, theirs), max(ours, theirs))]
    except NotText as err:
        return Merged(ours, (Finding(path, 0, "binary", f"both sides changed it, and it is not text ({err.reason})"),))
    mixed = any(_newline(source.text) == _MIXED for source in sources)
    old, first, second = (_version(source, mixed=mixed) for source in sources)
    text, conflicts = texts(old.text, first.text, second.text, path)
    return Merged(_bytes(text, old, first, second), tuple(conflicts))


def repaired(data: bytes, path: str, base: bytes | None = None) -> Merged | None:
    """The note without the marks of a merge that slipped in: both sides taken from them, and merged again.

    `base` is what both came from; without one, the base that the marks hold, else nothing, so that only what can be
    joined without it is. A block of which one side is empty may be a deletion or an addition, and stays as it is.
    None where there are no marks. Raises NotText.
    """
    source = decode(data)
    version = _version(source, mixed=_newline(source.text) == _MIXED)
    head = len(split(version.text).head)
    blocks = markers.hunks(version.text, head=head)
    if base is None:
        blocks = tuple(h for h in blocks if h.base is not None or (h.one and h.two) or h.start < head)
    if not blocks:
        return None
    one, two = (_with(version.text, blocks, side) for side in ("one", "two"))
    if base is None:
        old = _with(version.text, blocks, "base")
    else:
        came = decode(base)
        old = _version(came, mixed=_newline(came.text) == _MIXED or version.newline == _MIXED).text
    text, _ = texts(old, min(one, two), max(one, two), path)
    return Merged(_bytes(text, version, version, version), tuple(standing(text, path)))


def standing(text: str, path: str) -> list[Finding]:
    """Every conflict that stands in a text: blocks of marks, and values of metadata that have another beside them."""
    head = split(text)
    blocks = [hunk.start for hunk in markers.hunks(text, head=len(head.head))]
    values = [len(head.fences[0]) + at for at in markers.comments(head.raw)]
    return [
        Finding(path, text.count("\n", 0, at) + 1, kind, said)
        for kind, said, places in (
            ("conflict-value", "a key has two values; keep one and remove the comment", values),
            ("conflict-markers", "two versions; keep what is right and remove the marks", blocks),
        )
        for at in places
    ]


def texts(base: str, first: str, second: str, path: str) -> tuple[str, list[Finding]]:
    """The same of texts with line feeds, each empty or with one at its end."""
    size = markers.size_for((base, first, second))
    heads = [split(text) for text in (base, first, second)]
    if not any(head.faults for head in heads) and not any(map(_LONE.search, (base, first, second))):
        found = _parted(heads, size)
        if found is not None:
            text, keys, names = found
            return text, [*_values(text, keys, path), *_blocks(text, names, size, path)]
    text, names = mergebody.whole(base, first, second, size)
    conflicts = _blocks(text, names, size, path)
    if not conflicts and split(text).faults and not any(head.faults for head in heads[1:]):
        conflicts = [Finding(path, 1, "frontmatter", "merged line by line, the metadata no longer reads")]
    return text, conflicts


def _with(text: str, blocks: Sequence[markers.Hunk], side: str) -> str:
    """The text with one side of each block in its place."""
    out, seen = [], 0
    for hunk in blocks:
        out += [text[seen : hunk.start], getattr(hunk, side) or ""]
        seen = hunk.end
    return "".join([*out, text[seen:]])


def _parted(heads: Sequence[Head], size: int) -> tuple[str, list[str], list[str]] | None:
    """Metadata and body merged apart: the text, keys and sections in conflict. None if the two do not go together."""
    old, one, two = heads
    raw, keys = mergemeta.merge(old.raw, one.raw, two.raw)
    opening, closing = _fences(heads)
    there = threeway.chosen(*(bool(head.head) for head in heads))
    shown = opening + raw + ("" if not raw or raw.endswith("\n") else "\n") + closing if raw or there else ""
    body, names = mergebody.merge(old.body, one.body, two.body, size)
    if len(markers.openings(shown + body, size, head=len(shown))) < len(names):
        # A code block that is open in one version has swallowed marks of a later section, and nobody would see them.
        body, names = markers.block(one.body, two.body, size), [""]
    text = shown + body
    after = split(text)
    if after.faults or after.head != shown:
        return None
    return text, keys, names


def _fences(heads: Sequence[Head]) -> tuple[str, str]:
    """The lines around metadata, of whoever changed them."""
    olds, ones, twos = (head.fences for head in heads)
    pick = [threeway.chosen(*trio) for trio in zip(olds, ones, twos, strict=True)]
    both = [pick[n] or ones[n] or twos[n] or olds[n] or "---\n" for n in range(2)]
    return both[0], both[1] if both[1].endswith("\n") else both[1] + "\n"


def _values(text: str, keys: Sequence[str], path: str) -> list[Finding]:
    """The conflicts of metadata, each on the line of the comment that holds the other value."""
    raw = split(text)
    start = len(raw.fences[0])
    lines = [text.count("\n", 0, start + at) + 1 for at in markers.comments(raw.raw)]
    found = {key: next((n for n in lines if _names(text, n, key)), 1) for key in keys}
    return [Finding(path, line, "conflict-value", f"{key} has two values; keep one") for key, line in found.items()]


def _names(text: str, line: int, key: str) -> bool:
    said = text.split("\n", line)[line - 1].strip().removeprefix(markers.COMMENT).strip()
    return re.split(r"[ \t]*:", said.strip("\"'"), maxsplit=1)[0].strip("\"'") == key


def _blocks(text: str, names: Sequence[str], size: int, path: str) -> list[Finding]:
    """The conflicts of the text, each on the line where its marks begin."""
    mark = re.compile(rf"^<{{{size}}} {markers.ONE}$", re.MULTILINE)
    lines = [text.count("\n", 0, found.start()) + 1 for found in mark.finditer(text)]
    where = [f"in {name!r}" if name else "above the first heading" for name in names]
    return [
        Finding(path, line, "conflict-markers", f"two versions {place}; keep what is right and remove the marks")
        for line, place in zip(lines, where, strict=True)
    ]


def _newline(text: str) -> str:
    """The newline of a text, "" if it has none, `_MIXED` if it has several kinds."""
    kinds = set(NEWLINE.findall(text)) if "\r" in text else {"\n"} if "\n" in text else set()
    return _MIXED if len(kinds) > 1 else next(iter(kinds), "")


def _version(source: Source, *, mixed: bool) -> _Version:
    """A version made ready. Where one mixes its newlines, they stay as they are in all, as part of the lines."""
    newline = "\n" if mixed else _newline(source.text)
    text = source.text if mixed else NEWLINE.sub("\n", source.text)
    ended = text.endswith("\n") or not text
    return _Version(source, text if ended else text + "\n", newline, ended)


def _bytes(text: str, base: _Version, first: _Version, second: _Version) -> bytes:
    """The merged text as a file: newlines, end and encoding of whoever changed them."""
    ended = (
        True if base.empty and first.ended != second.ended else threeway.chosen(base.ended, first.ended, second.ended)
    )
    out = text if ended else text.removesuffix("\n")
    newline = _agreed(base.newline, first.newline, second.newline) or "\n"
    out = out if newline == "\n" else out.replace("\n", newline)
    ways = [(version.source.encoding, version.source.bom) for version in (base, first, second)]
    if base.empty:
        ways[0] = ways[1]
    way = threeway.chosen(*ways) or ("utf-8", b"")
    try:
        return encode(replace(first.source, encoding=way[0], bom=way[1]), out)
    except NotText:
        # One side's letters have no place in the other's encoding: UTF-8 has one for each.
        return out.encode("utf-8", "surrogatepass")


def _agreed(base: str, first: str, second: str) -> str:
    """The newline of a merge; a version without any has no say."""
    if not first or not second:
        return first or second or base
    return threeway.chosen(base, first, second) or min(first, second)
