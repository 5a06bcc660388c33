"""A Markdown file as a memory: its metadata, and its three levels of detail. Reading only; never raises.

**What counts as metadata.** The first line is `---`, a later line is `---` or `...`, and what stands between reads as
a YAML mapping, or is empty, or holds comments only. A key of more than five words is a sentence with a colon, and
then, as with prose or a list, the two lines are rules around text: the file has no metadata and all of it is body.
Text that does not read as YAML is damaged metadata if it shows a key Atlas knows at the margin (`title:`, `tags:`) or
has more lines that are keys than lines that are not; damaged metadata is never rewritten, and the text below it is
still the body. Anything else is prose between rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from atlas import markers, sections
from atlas.body import Heading, Plain, headings, links, normal_tag, plain, tags
from atlas.dates import when
from atlas.memory import Finding, Link
from atlas.source import NEWLINE
from atlas.yamledit import TAG_KEYS, members, reason_of
from atlas.yamltext import Block, Problem, read, words

#: Keys that tell metadata from prose with a colon.
KNOWN_KEYS = frozenset(
    (
        *(
            "id",
            "kind",
            "tags",
            "tag",
            "created",
            "updated",
            "importance",
            "pinned",
            "tier",
            "scope",
            "trust",
            "source",
        ),
        *("valid_from", "valid_to", "recorded_at", "supersedes", "superseded_by", "derived_from", "aliases", "alias"),
        *("entities", "title", "summary", "description", "name", "permalink"),
    )
)
#: What a memory that has stepped down says of that (see `ladder`); without `rung`, these are a person's own words.
STEP_KEYS = frozenset(("rung", "forgotten", "full"))
#: Keys that hold a date or a time.
DATE_KEYS = ("created", "updated", "valid_from", "valid_to", "recorded_at")
_CHECKED = frozenset((*DATE_KEYS, *TAG_KEYS, "importance"))
#: The importance of a note that names none.
DEFAULT_IMPORTANCE = 0.5

_OPEN = re.compile(r"\ufeff?---[ \t]*(?:\r\n|\n|\r|\Z)")
_CLOSE = re.compile(r"(?<=[\n\r])(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
#: A line that is `key: …` at the margin, the key of at most five words.
_KEY_LINE = re.compile(r"""^("[^"\n]+"|'[^'\n]+'|\w[\w./-]*(?: [\w./-]+){0,4})[ \t]*:(?=[ \t\r\n]|$)""", re.MULTILINE)
_MARGIN_LINE = re.compile(r"^(?![ \t#\-\]}]|[<=>]{7})[^\r\n]+", re.MULTILINE)
_ID_LINE = re.compile(r"""^id:[ \t]*["']?([0-9A-Za-z]{26})["']?[ \t]*\r?$""", re.MULTILINE)
#: The marks around what Atlas keeps up to date in a page: no words of the page.
MARK = re.compile(r"^[ \t]*<!-- /?atlas:[a-z]+ -->[ \t]*(?:\r\n|\n|\r|\Z)", re.MULTILINE)
_HASH_VALUE = re.compile(r"(?::|-)[ \t]+#\w")


@dataclass(frozen=True, slots=True)
class Note:
    """One parsed file. `head + body == text`; `raw_head` is what stands between the fences, readable or not.

    `meta`: every scalar the string the person typed; empty and `null` values are "". `readable` is False when
    metadata is there but cannot be trusted: such a file is searched, and never rewritten.
    `title`, `summary`, `detail` are L0, L1 (as written in the file, or "") and L2.
    `tags`: those of `tags` and `tag` (lists, or strings cut at commas and spaces), then the inline ones (see
    `body.tags`); NFC, without `#`, each once whatever its case.
    Offsets of links and headings count characters of the body; lines count from 1 in the file.
    """

    text: str
    head: str
    body: str
    raw_head: str
    meta: Mapping[str, Any]
    readable: bool
    title: str
    summary: str
    detail: str
    tags: tuple[str, ...]
    links: tuple[Link, ...]
    aliases: tuple[str, ...]
    entities: tuple[str, ...]
    headings: tuple[Heading, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Head:
    """A text split. `faults`: (kind, why the metadata cannot be trusted), its index counted in `raw`."""

    head: str
    raw: str
    body: str
    block: Block | None = None
    faults: tuple[tuple[str, Problem], ...] = ()

    @property
    def fences(self) -> tuple[str, str]:
        """The opening and the closing line around `raw`."""
        opening = _OPEN.match(self.head)
        start = opening.end() if opening else 0
        return self.head[:start], self.head[start + len(self.raw) :]

    def place(self, index: int) -> tuple[int, int]:
        """Line and column in the file, from 1, of an offset into `raw`."""
        before = self.raw[:index]
        line = _lines(before) + 2 if self.head else 1
        return line, len(before) - max(before.rfind("\n"), before.rfind("\r"))


def parse(text: str, path: str, *, encoding: str = "utf-8") -> Note:
    """The memory in a text. `path` names it in findings and gives the title if nothing else does."""
    head = split(text)
    meta = _meta(head)
    torn = markers.hunks(text, head=len(head.head))
    code_free = plain(markers.blanked(head.body) if torn else head.body)
    first_line = _lines(head.head) + 1
    found = headings(code_free, first_line)
    detail = sections.content(head.body, found, "detail")
    return Note(
        text=text,
        head=head.head,
        body=head.body,
        raw_head=head.raw,
        meta=meta,
        readable=not head.faults,
        title=_title(meta, _settled(found, torn, len(head.head)), path),
        summary=_summary(head.body, found, meta),
        detail=head.body if detail is None else detail,
        tags=_tags(meta, code_free),
        links=links(code_free),
        aliases=_names(meta, "aliases", "alias"),
        entities=_names(meta, "entities"),
        headings=found,
        findings=(*_text_findings(head, torn, encoding, path), *_value_findings(head, path)),
    )


def split(text: str) -> Head:
    """Where the metadata ends and the body begins, by the rule at the top of this file."""
    opening = _OPEN.match(text)
    if not opening:
        return _without_head(text)
    closing = _CLOSE.search(text, opening.end())
    if not closing:
        reason = Problem(0, "the metadata is never closed", "add a line --- below it")
        opened = _means_metadata(re.split(r"\n[ \t\r]*\n", text[opening.end() :].lstrip(), maxsplit=1)[0])
        return Head("", "", text, faults=(("frontmatter", reason),) if opened else ())
    raw = text[opening.end() : closing.start()]
    block = read(raw)
    head, body = text[: closing.end()], text[closing.end() :]
    if block.kind == "broken" and block.problem and _means_metadata(raw):
        return Head(head, raw, body, block, (("frontmatter", block.problem),))
    if block.kind == "empty" or (block.kind == "mapping" and not any(map(_is_sentence, block.meta))):
        twice = tuple(("frontmatter", problem) for problem in block.repeated)
        return Head(head, raw, body, block, twice + _stacked(body, len(raw)))
    return Head("", "", text)


def is_half_written(text: str) -> bool:
    """Whether a text ends within its metadata: what a look sees that comes in the middle of a save."""
    opening = _OPEN.match(text)
    if not opening or _CLOSE.search(text, opening.end()):
        return False
    return "\n" not in text[opening.end() :].strip() or bool(split(text).faults)


def importance(meta: Mapping[str, Any]) -> float:
    """The importance from 0 to 1; a note without one, or with an impossible one, has 0.5."""
    value = _importance(meta.get("importance"))
    return DEFAULT_IMPORTANCE if value is None else value


def pinned(meta: Mapping[str, Any]) -> bool:
    """Whether the note is pinned: `true`, `yes`, `on`, `y` or `1`, in any case."""
    value = meta.get("pinned")
    return isinstance(value, str) and value.strip().lower() in {"true", "yes", "on", "y", "1"}


def _without_head(text: str) -> Head:
    """A text whose first line is not a fence. Metadata below blank lines is seen by no reader: said, not guessed."""
    start = len(text) - len(text.lstrip())
    late = start and text.startswith("---", start) and _stacked(text, 0)
    if late:
        problem = Problem(0, "the metadata does not begin on the first line", "remove the blank lines above it")
        return Head("", "", text, faults=(("frontmatter", problem),))
    return Head("", "", text)


def _stacked(body: str, index: int) -> tuple[tuple[str, Problem], ...]:
    """The fault of a second block of metadata right below the first."""
    if second_block(body) is None:
        return ()
    reason = "a second block of metadata follows the first"
    return (("stacked-frontmatter", Problem(index, reason, "merge them into one")),)


def second_block(body: str) -> tuple[Block, int] | None:
    """The metadata a body opens with and where it ends, if it plainly is some: a key Atlas knows, or two keys."""
    start = len(body) - len(body.lstrip())
    opening = _OPEN.match(body, start)
    closing = _CLOSE.search(body, opening.end()) if opening else None
    if not opening or not closing:
        return None
    raw = body[opening.end() : closing.start()]
    block = read(raw)
    if block.kind == "broken":
        return (block, closing.end()) if _means_metadata(raw) else None
    keys = list(block.meta)
    plainly = len(keys) > 1 or any(key in KNOWN_KEYS for key in keys)
    return (block, closing.end()) if plainly and not any(map(_is_sentence, keys)) else None


def _means_metadata(raw: str) -> bool:
    """Whether text that does not read as YAML was meant to be metadata."""
    keys = {match.group(1).strip("\"'") for match in _KEY_LINE.finditer(raw)}
    if not keys or keys & KNOWN_KEYS:
        return bool(keys)
    at_margin = [match.group() for match in _MARGIN_LINE.finditer(raw)]
    return 2 * sum(1 for line in at_margin if _KEY_LINE.match(line)) > len(at_margin)


def _is_sentence(key: str) -> bool:
    return len(key) > 64 or key.count(" ") > 4


def _meta(head: Head) -> dict[str, Any]:
    if head.block is None:
        return {}
    if head.block.kind == "broken":  # the id alone is taken, so that a typo elsewhere does not make a new memory
        ids = _ID_LINE.findall(head.raw)
        return {"id": ids[0]} if len(ids) == 1 else {}
    meta = head.block.meta
    if any(kind == "stacked-frontmatter" for kind, _ in head.faults):
        below = second_block(head.body)
        meta = {**(below[0].meta if below else {}), **meta}
    return meta


def _settled(found: tuple[Heading, ...], torn: tuple[markers.Hunk, ...], start: int) -> tuple[Heading, ...]:
    """The headings outside an unfinished merge: a title of one side only must not pass for the note's."""
    return tuple(h for h in found if not any(hunk.start <= start + h.start < hunk.end for hunk in torn))


def _title(meta: Mapping[str, Any], found: tuple[Heading, ...], path: str) -> str:
    title = meta.get("title")
    if isinstance(title, str) and title.strip():
        return " ".join(title.split())
    first = next((h.text for h in found if h.level == 1 and h.text), "")
    name = PurePosixPath(path).name
    return first or re.sub(r"\.(md|markdown)$", "", name, flags=re.IGNORECASE)


def _summary(body: str, found: tuple[Heading, ...], meta: Mapping[str, Any]) -> str:
    written = sections.content(body, found, "summary")
    if written and "<!-- " in written:
        written = sections.trimmed(MARK.sub("", written))
    if written:
        return written
    typed = (meta.get(key) for key in ("summary", "description"))
    return next((text.strip() for text in typed if isinstance(text, str) and text.strip()), "")


def _tags(meta: Mapping[str, Any], code_free: Plain) -> tuple[str, ...]:
    typed = [word for key in TAG_KEYS for word in members(key, meta.get(key))] if meta else []
    found: dict[str, str] = {}
    for word in (*typed, *tags(code_free)):
        tag = normal_tag(word)
        if tag:
            found.setdefault(tag.casefold(), tag)
    return tuple(found.values())


def _names(meta: Mapping[str, Any], *keys: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for key in keys for word in words(meta.get(key))))


def _importance(value: object) -> float | None:
    """A number from 0 to 1, or None."""
    try:
        number = float(value) if isinstance(value, str) else -1.0
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None


def _text_findings(head: Head, torn: tuple[markers.Hunk, ...], encoding: str, path: str) -> Iterator[Finding]:
    """What is wrong with the file as a whole."""
    text = head.head + head.body
    if encoding in {"cp1252", "latin-1"}:
        yield Finding(path, 0, "encoding", f"not UTF-8: read as {encoding}; save it as UTF-8 to be sure of its words")
    for kind, problem in head.faults:
        line, column = head.place(problem.index)
        where = f", column {column}" if kind == "frontmatter" and head.raw else ""
        yield Finding(path, line, kind, reason_of(problem) + where)
    if "\0" in text:
        yield Finding(path, _lines(text[: text.index("\0")]) + 1, "nul", "a NUL character; remove it")
    if torn:
        line = _lines(text[: torn[0].start]) + 1
        yield Finding(path, line, "conflict-markers", "an unfinished merge: both sides are in the file")
    for at in markers.comments(head.raw):
        said = head.raw[at:].split("\n", 1)[0].strip()
        yield Finding(path, head.place(at)[0], "conflict-value", f"an unfinished merge: {said[2:]}")


def _value_findings(head: Head, path: str) -> Iterator[Finding]:
    """What is wrong with single values of metadata that reads."""
    for entry in head.block.entries if head.block else ():
        key, value = entry.key, entry.value
        if key not in _CHECKED:
            continue
        line = head.place(entry.key_start)[0]
        if key in DATE_KEYS and value != "" and not (isinstance(value, str) and when(value)):
            yield Finding(path, line, "date", f"{key}: {value!r} is not a date; write it as 2026-05-01")
        if key == "importance" and value != "" and _importance(value) is None:
            yield Finding(path, line, "importance", f"importance: {value!r} is not a number from 0 to 1")
        if key in TAG_KEYS:
            written = head.raw[entry.key_end : entry.end] + NEWLINE.split(head.raw[entry.end :], maxsplit=1)[0]
            if _HASH_VALUE.search(written) and (value == "" or (isinstance(value, list) and "" in value)):
                yield Finding(
                    path, line, "tag", f"YAML takes what follows # in `{key}{written}` for a comment; drop the #"
                )
            if isinstance(value, dict):
                yield Finding(path, line, "tag", f"{key} is a mapping; write a list")


def _lines(text: str) -> int:
    return text.count("\n") if "\r" not in text else len(NEWLINE.findall(text))
