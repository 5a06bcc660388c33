"""Folders of Markdown: which files are notes, what of them is left behind, and keys set without touching the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from atlas import markdown
from atlas.config import ENDINGS
from atlas.errors import AtlasError, NotText
from atlas.importers import File, Skipped
from atlas.importers.given import Given
from atlas.yamltext import words

#: What only the way a memory came by may say of it, never its own text (its rank, its trust, how much of it is left).
CLAIMS = (
    *("trust", "reviewed", "stated", "pinned", "importance", "tier", "id", "supersedes"),
    *("rung", "forgotten", "full", "digest", "recorded_at"),
)
#: Bytes of the largest note that is read; what a vault takes is its own setting.
MOST = 50_000_000
#: How many notes are looked at to tell whose a folder is.
SAMPLE = 40


def names(given: Given) -> list[str]:
    """The Markdown files."""
    return [name for name in given.files if name.lower().endswith(ENDINGS)]


def left_behind(given: Given) -> Iterator[Skipped]:
    """The files that are no Markdown, by their ending."""
    others: dict[str, list[str]] = defaultdict(list)
    for name in given.files:
        if not name.lower().endswith(ENDINGS):
            others[PurePosixPath(name).suffix.lower() or "no ending"].append(name)
    for ending, found in sorted(others.items()):
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        yield Skipped(", ".join(found[:3]) + more, f"no Markdown ({ending})", len(found))


def metas(given: Given) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name and metadata of some of the notes, as far as they lie within its beginning."""
    found = names(given)
    step = max(1, len(found) // SAMPLE)
    for name in found[::step]:
        yield name, markdown.parse(given.head(name), name).meta


def files(given: Given) -> Iterator[File | Skipped]:
    """Every note as it is."""
    yield from given.skipped
    for name in names(given):
        data = given.read(name, MOST)
        if name in given.broken:
            yield Skipped(name, given.broken.pop(name))
        elif data is None:
            yield Skipped(name, f"it has over {MOST // 1_000_000} MB")
        else:
            yield File(name, data)
    yield from left_behind(given)


def keyed(file: File, changes: Mapping[str, Any], *, own: bool = False) -> Iterator[File | Skipped]:
    """The note with keys of its metadata set; every other byte is as it was.

    What it claims of itself is taken out, unless it is a person's `own`.
    One that is no text is left to whoever stores it; where the metadata cannot be read, it claims nothing either.
    """
    try:
        source = markdown.decode(file.data)
        meta = markdown.parse(source.text, file.path).meta
        claims = {key: None for key in CLAIMS if key in meta and not own}
        text = markdown.edit(source.text, {**claims, **changes}, path=file.path)
        yield File(file.path, markdown.encode(source, text), file.placed)
    except NotText:
        yield file
        return
    except AtlasError:
        yield file
        yield Skipped(file.path, "its metadata cannot be edited, so it came as it is", kept=True)
        return
    if claims:
        yield Skipped(file.path, f"what it claims of itself ({', '.join(claims)}) is left out", kept=True)


def meta_of(file: File) -> Mapping[str, Any]:
    """The metadata of a note; nothing of one that is no text."""
    try:
        return markdown.parse(markdown.decode(file.data).text, file.path).meta
    except NotText:
        return {}


def word(value: Any) -> str:
    """The text of a key, "" if it is none."""
    return value.strip() if isinstance(value, str) else ""


def listed(value: Any) -> Sequence[str]:
    """The items of a key that may be a list or one text."""
    return words(value)
