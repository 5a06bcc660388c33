"""From a file's bytes to the rows the index keeps of it. Pure: the same bytes always give the same rows."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from atlas import approval, chunks, drift, markdown, words
from atlas.credentials import masked
from atlas.keys import handle, joined, key, term_hash
from atlas.memory import Memory
from atlas.survey import blob_id


@dataclass(slots=True)
class Rows:
    """The rows of a batch of notes, column by column, ready for the database."""

    notes: list[tuple[Any, ...]] = field(default_factory=list)
    handles: list[tuple[int, int]] = field(default_factory=list)
    links: list[tuple[int, int, bool]] = field(default_factory=list)
    chunk: list[tuple[Any, ...]] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    term: array[int] = field(default_factory=lambda: array("Q"))
    where: array[int] = field(default_factory=lambda: array("i"))
    tf: array[int] = field(default_factory=lambda: array("H"))


NOTE_COLUMNS = (
    "note", "blob", "id", "label", "summary", "kind", "created", "thread_key", "source", "trust", "importance",
    "pinned", "valid_from", "valid_to", "readable", "text_key", "tags", "entities", "aliases", "links", "findings",
    "meta", "stale",
)  # fmt: skip
CHUNK_COLUMNS = ("chunk", "note", "seq", "heading", "line", "text", "words")


class Deriver:
    """Numbers notes and passages, and gathers their rows. `next_note` and `next_chunk` are the first free numbers."""

    def __init__(self, next_note: int, next_chunk: int) -> None:
        self.rows = Rows()
        self._note, self._chunk = next_note, next_chunk

    def take(self) -> Rows:
        """The rows gathered since the last call."""
        rows, self.rows = self.rows, Rows()
        return rows

    def note(self, blob: str, data: bytes) -> int:
        """Derive one file's content, whatever path holds it; its note number. Raises NotText."""
        # One blob, one set of rows: those of the text as Git keeps it, whichever line ends it has on this disk.
        note, findings = read(data.replace(b"\r\n", b"\n"), "", mask=True)
        number, self._note = self._note, self._note + 1
        self.rows.notes.append(_note_row(number, blob, note, [*findings, *drift.findings(note, "")]))
        self.rows.handles += [(number, name) for name in _handles(note)]
        self.rows.links += [(number, *link) for link in _links(note)]
        for chunk in chunks.split(note):
            self._add(number, chunk.seq, chunk.heading, chunk.line, chunk.text, chunk.searched)
        return number

    def name(self, stem: str) -> int:
        """Derive a file name as a passage of its own; its chunk number."""
        return self._add(-1, -1, "", 1, stem, stem)

    def _add(self, note: int, seq: int, heading: str, line: int, text: str, searched: str) -> int:
        number, self._chunk = self._chunk, self._chunk + 1
        counts = Counter(words.terms(searched))
        self.rows.chunk.append((number, note, seq, heading, line, text, sum(counts.values())))
        self.rows.hashes.append(hashlib.blake2b(searched.encode("utf-8", "replace"), digest_size=16).hexdigest())
        self.rows.searched.append(searched)
        self.rows.term.extend(map(term_hash, counts))
        self.rows.where.extend([number] * len(counts))
        self.rows.tf.extend(min(n, 65535) for n in counts.values())
        return number


def read(data: bytes, path: str, *, mask: bool = False) -> tuple[markdown.Note, tuple[markdown.Finding, ...]]:
    """The parsed note and what is to be said about it; raises NotText. `mask` blots out credentials.

    What is searched is handed to agents and models: a key that a person keeps in a note must not travel with it.
    """
    source = markdown.decode(data)
    text, secrets = masked(_storable(source.text)) if mask else (_storable(source.text), [])
    note = markdown.parse(text, path)
    said = [
        markdown.Finding(path, line, "secret", f"looks like a credential ({kind}); search leaves it out")
        for line, kind in secrets
    ]
    if source.encoding not in {"utf-8", "utf-16-le", "utf-16-be"}:
        said.append(markdown.Finding(path, 0, "encoding", f"not UTF-8; read as {source.encoding}"))
    return note, (*note.findings, *said)


def memory(id: str, path: str, data: bytes) -> Memory:
    """The memory a file holds; raises NotText."""
    note = markdown.parse(markdown.decode(data).text, path)
    label = note.title or PurePosixPath(path).stem
    return Memory(id, path, label, note.summary, note.body, note.meta, note.tags, note.links, blob_id(data))


def _storable(text: str) -> str:
    """The text as a database takes it: lone surrogates, which no UTF-8 can hold, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8") if _has_surrogate(text) else text


def _has_surrogate(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _note_row(number: int, blob: str, note: markdown.Note, findings: Iterable[markdown.Finding]) -> tuple[Any, ...]:
    meta = note.meta
    source = _text(meta.get("source"))
    return (
        number, blob, _text(meta.get("id")), note.title, note.summary, _text(meta.get("kind")) or "note",
        _micros(meta.get("created")), key(source.partition("#")[0]) if "#" in source else None, source,
        str(approval.trust(note)), markdown.importance(meta), markdown.pinned(meta),
        _micros(meta.get("valid_from")), _micros(meta.get("valid_to")), note.readable,
        markdown.text_key(markdown.original(note)), joined(note.tags), joined(note.entities), joined(note.aliases),
        json.dumps([(link.target, link.heading, link.alias, link.embed) for link in note.links], ensure_ascii=False),
        json.dumps([[f.line, f.kind, f.message] for f in findings], ensure_ascii=False),
        json.dumps(meta, ensure_ascii=False, default=str), drift.state(note) is drift.State.STALE,
    )  # fmt: skip


def _handles(note: markdown.Note) -> tuple[int, ...]:
    """What the content answers to: title, aliases, written id. The names of its file are the listing's matter."""
    names = (note.title, *note.aliases, _text(note.meta.get("id")))
    return tuple(dict.fromkeys(handle(name) for name in names if name.strip()))


def _links(note: markdown.Note) -> tuple[tuple[int, bool], ...]:
    """What the content leads to, each once: its handle, and whether that is said to have taken the note's place.

    Links in the values of metadata count as Obsidian counts them.
    """
    found = [(target, False) for target in markdown.targets(note)]
    for name, value in note.meta.items():
        values = [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str)]
        linked = [target for v in values for target in markdown.targets_of(v)]
        found += [(target, False) for target in linked]
        found += [(target, True) for target in linked or values if name == "superseded_by"]
    return tuple(dict.fromkeys((handle(target), replaced) for target, replaced in found if target.strip()))


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _micros(value: object) -> int | None:
    """Microseconds since 1970 of a date a person wrote, or None."""
    when = markdown.when(value) if isinstance(value, str) else None
    return int(when.timestamp() * 1_000_000) if when else None


def columns(names: Iterable[str], rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    """Rows as NumPy columns: whole numbers (None masked) as int64, anything else as objects."""
    out: dict[str, Any] = {}
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        if all(v is None or type(v) is int for v in values):
            gaps = [v is None for v in values]
            out[name] = np.ma.array([v or 0 for v in values], mask=gaps, dtype=np.int64)
        else:
            out[name] = np.array(values, dtype=object)
    return out
