"""The file format of Atlas, as the rest of the package uses it: decode, parse, render, edit, compose.

Pure functions on text. Reading never raises; writing raises Unparsable rather than guess. Behind this door:
`source` (bytes and text), `yamltext`, `scalars`, `splice`, `yamledit` (metadata), `body`, `sections` (Markdown) and
`note` (what a file says).
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler

from atlas import sections, yamledit
from atlas.body import Heading, addresses, links, plain, retarget
from atlas.dates import when
from atlas.errors import NotText, Unparsable
from atlas.memory import Finding, Link
from atlas.note import Head, Note, importance, parse, pinned, second_block, split
from atlas.scalars import Scalar, kind_of, spelled, written
from atlas.source import NEWLINE, Source, decode, encode, newline_of
from atlas.splice import Value

__all__ = [
    "Finding",
    "Heading",
    "Link",
    "Note",
    "Scalar",
    "Source",
    "Value",
    "add_to_list",
    "compose",
    "decode",
    "edit",
    "encode",
    "importance",
    "joined",
    "original",
    "parse",
    "pinned",
    "remove_from_list",
    "remove_section",
    "render",
    "replace_section",
    "retarget_links",
    "semantic_key",
    "targets",
    "targets_of",
    "text_key",
    "unstack",
    "when",
]

#: Keys whose value is a list in any spelling; `a, b` and `[a, b]` mean the same there.
_LIST_KEYS = ("tags", "tag", "aliases", "alias", "entities")


def render(note: Note) -> str:
    """The text of a note, exactly as it was parsed."""
    return note.head + note.body


def edit(text: str, changes: Mapping[str, Value | None], *, path: str = "note") -> str:
    """The text with metadata keys set, or removed (None); every line that is not theirs stays as it was typed.

    A comment behind a value, the quotes around it and the style of a list survive. A file without metadata gets a
    block at its top. Raises Unparsable when the metadata cannot be read, stands twice, or cannot hold the value.
    """
    return _edited(text, lambda raw, nl: yamledit.set_keys(raw, changes, newline=nl, path=path), path)


def add_to_list(text: str, key: str, items: Sequence[str], *, path: str = "note") -> str:
    """The text with items added to a list of the metadata, in the style it is written in; unchanged if they are there.

    Tags are there under `tags` or `tag`, with or without `#`, in any case. Raises Unparsable.
    """
    return _edited(text, lambda raw, nl: yamledit.add_items(raw, key, items, newline=nl, path=path), path)


def remove_from_list(text: str, key: str, items: Sequence[str], *, path: str = "note") -> str:
    """The text with items taken out of a list of the metadata; an emptied list becomes `[]`. Raises Unparsable."""
    return _edited(text, lambda raw, nl: yamledit.remove_items(raw, key, items, newline=nl, path=path), path)


def replace_section(text: str, heading: str, content: str, *, path: str = "note") -> str:
    """The text with what stands under `## heading` exchanged, or the section added.

    A new section stands before `## Detail`, which runs to the end of the file, else last. Outer blank lines of
    `content` are dropped, its newlines become the file's. Raises Unparsable.
    """
    note = _readable(text, path)
    newline = newline_of(text)
    new = note.head + sections.replaced(note.body, heading, content, newline)
    after = parse(new, path)
    got = sections.content(after.body, after.headings, heading)
    want = sections.newlined(sections.trimmed(content), newline)
    if not after.readable or after.head != note.head or got != want:
        raise Unparsable(path, 1, f"the section {heading!r} cannot be written; a code fence is open, or it spans lines")
    return new


def remove_section(text: str, heading: str, *, path: str = "note") -> str:
    """The text without `## heading` and what stands under it. Raises Unparsable."""
    note = _readable(text, path)
    new = note.head + sections.removed(note.body, heading)
    after = split(new)
    if after.faults or after.head != note.head:
        raise Unparsable(path, 1, f"without the section {heading!r} the text would be taken for metadata")
    return new


def retarget_links(text: str, choose: Callable[[Link], str | None]) -> str:
    """The text with the targets of its wikilinks exchanged where `choose` gives a new one; code is left alone."""
    head = split(text)
    return head.head + retarget(head.body, choose)


def targets(note: Note) -> list[str]:
    """The notes that the body leads to, as they are named there: wikilinks, embeds and Markdown links to notes."""
    return [*(link.target for link in note.links), *(addresses(plain(note.body)) if "](" in note.body else ())]


def targets_of(text: str) -> list[str]:
    """The same of a value of the metadata."""
    return [link.target for link in links(plain(text))] if "[[" in text else []


def unstack(text: str, *, path: str = "note") -> str:
    """The text with a second block of metadata merged into the first; no key is lost.

    Raises Unparsable when there are not two readable blocks, or when they disagree about a key.
    """
    head = split(text)
    found = second_block(head.body)
    if head.block is None or found is None:
        raise Unparsable(path, 1, "there are no two blocks of metadata to merge")
    above, (below, end) = head.block.meta, found
    torn = [key for key, value in below.meta.items() if above.get(key, value) != value]
    if torn:
        raise Unparsable(path, 1, f"the two blocks of metadata disagree about {torn[0]!r}")
    extra = yamledit.set_keys(below.text, dict.fromkeys((key for key in below.meta if key in above), None), path=path)
    opening, closing = head.fences
    new = opening + head.raw + extra + closing + head.body[end:]
    after = parse(new, path)
    if not after.readable or after.meta != {**below.meta, **above}:
        raise Unparsable(path, 1, "the two blocks of metadata cannot be merged without loss")
    return new


def compose(*, meta: Mapping[str, Any], label: str, summary: str, detail: str) -> str:
    """A new memory file. Parsed, it gives back exactly these texts, but for blank lines around them.

    A label is one line: newlines in it become spaces. Keys stand in the order given, None is left out, lists stand
    in brackets. Without `detail` there is no Detail section. Raises Unparsable when `meta` cannot be written.
    """
    label = NEWLINE.sub(" ", label).strip()
    shown, rest = sections.trimmed(summary), sections.trimmed(detail)
    parts = [_h1(label)] if label else []
    if shown or "summary" in rest.casefold():  # else a heading in the detail would be taken for the summary
        parts.append(sections.written("Summary", shown))
    if rest:
        parts.append(sections.written("Detail", rest))
    post = frontmatter.Post("\n\n".join(parts) + "\n", None)
    post.metadata = {key: value for key, value in meta.items() if value is not None}
    try:
        text = frontmatter.dumps(post, _Handler())
    except yaml.YAMLError as error:
        raise Unparsable("new memory", 1, f"the metadata cannot be written as YAML: {error}") from error
    note = parse(text, "new memory")
    if not note.readable or set(note.meta) != set(post.metadata):
        raise Unparsable("new memory", 1, "the metadata holds a value that YAML cannot give back")
    return text


def joined(meta: Mapping[str, Any], body: str) -> str:
    """A file of this metadata and this body, character for character; raises Unparsable if YAML cannot hold `meta`."""
    try:
        head = _Handler().export(dict(meta))
    except yaml.YAMLError as error:
        raise Unparsable("note", 1, f"the metadata cannot be written as YAML: {error}") from error
    return f"---\n{head}---\n{body}" if head else body


def semantic_key(note: Note) -> str:
    """A hash of what a note means: the same for another YAML style, order of keys or newline, and without comments.

    Empty values count as absent. Metadata that cannot be read counts as it is typed.
    """
    meta: Any = _meaning(note.meta) if note.readable else note.raw_head
    said = json.dumps([meta, sections.newlined(note.body, "\n")], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


def original(note: Note) -> str:
    """The words that were remembered, without Atlas's own layout: the detail, else the summary, else the title."""
    length = len(note.body)
    if sections.find(note.headings, "detail", length):
        said = note.detail
    elif sections.find(note.headings, "summary", length):
        said = note.summary
    else:
        first = next(iter(note.headings), None)
        opens = first is not None and first.level == 1 and not note.body[: first.start].strip()
        said = note.body[first.end :] if first and opens else note.body
    return sections.trimmed(said) or note.summary or note.title


def written_id(data: bytes) -> str:
    """The id that stands in a file, "" if there is none, or the file is not text."""
    try:
        id = parse(decode(data).text, "").meta.get("id", "")
    except NotText:
        return ""
    return id if isinstance(id, str) else ""


def text_key(text: str) -> str:
    """A hash of a text that ignores Unicode form and how it is spaced: for telling a repeat from news.

    Case counts: `git branch -d` and `git branch -D` are two things to know.
    """
    said = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def _edited(text: str, change: Callable[[str, str], str], path: str) -> str:
    """The text with its metadata changed, once it is seen that the body is as before."""
    head = split(text)
    _refuse_faults(head, path)
    newline = newline_of(text)
    mark = "\ufeff" if text.startswith("\ufeff") and not head.head else ""
    body = head.body[len(mark) :]
    opening, closing = head.fences if head.head else (mark + "---" + newline, "---" + newline)
    raw = change(head.raw, newline)
    if raw == head.raw:
        return text
    new = opening + raw + closing + body
    after = split(new)
    if after.faults or after.body != body:
        raise Unparsable(path, 1, "metadata cannot be put above a text that begins like this one")
    return new


def _readable(text: str, path: str) -> Note:
    _refuse_faults(split(text), path)
    return parse(text, path)


def _refuse_faults(head: Head, path: str) -> None:
    for _, problem in head.faults:
        raise Unparsable(path, head.place(problem.index)[0], yamledit.reason_of(problem))


def _h1(label: str) -> str:
    """The label as a heading; a `#` at its end is no closing sign if one more follows."""
    bare = label.rstrip("#")
    return f"# {label} #" if bare != label and bare[-1:] in {"", " ", "\t"} else f"# {label}"


def _meaning(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata without its manner: lists in one spelling, empty values left out."""
    out = {}
    for key, value in meta.items():
        meant: Any = list(yamledit.members(key, value)) if key in _LIST_KEYS else value
        if isinstance(meant, dict):
            meant = _meaning(meant)
        if meant not in ("", [], {}):
            out[key] = meant
    return out


class _Dumper(yaml.SafeDumper):
    """Writes new metadata as `scalars` spells it, lists in brackets, nothing sorted or folded."""


def _represent_text(dumper: _Dumper, value: Scalar) -> yaml.ScalarNode:
    shown = written(str(value) if isinstance(value, str) else value)
    if shown.startswith('"'):
        return dumper.represent_scalar("tag:yaml.org,2002:str", spelled(value), style='"')
    return dumper.represent_scalar(kind_of(shown), shown)


def _represent_list(dumper: _Dumper, value: Sequence[Any]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=True)


_Dumper.add_multi_representer(str, _represent_text)
_Dumper.add_multi_representer(date, _represent_text)
_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(date, _represent_text)
_Dumper.add_representer(datetime, _represent_text)
_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(tuple, _represent_list)


class _Handler(YAMLHandler):
    """Puts metadata and text together without stripping either, which python-frontmatter's own format does."""

    def export(self, metadata: dict[str, object], **_: object) -> str:
        """The metadata as YAML."""
        if not metadata:
            return ""
        return yaml.dump(metadata, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 30)

    def format(self, post: frontmatter.Post, **_: object) -> str:
        """The whole file."""
        head = self.export(post.metadata)
        return f"---\n{head}---\n{post.content}" if head else str(post.content)
