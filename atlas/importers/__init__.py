"""What other tools export, read by one module for each format, and the frozen values they give.

    given.opened ─► reader.read ─► Talk | Request | File | Skipped ─► intake ─► files, one commit per batch

A reader has `NAME`, `detect(given)` and `read(given)`. It only reads: what is new, and where it goes, is decided later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from atlas.errors import UsageError
from atlas.ingest import Request
from atlas.messages import Message

if TYPE_CHECKING:
    from atlas.importers.given import Given

#: A vault's own export, which `bundle` reads.
BUNDLE = "bundle"

#: The readers by name, in the order in which they are asked whether a file is theirs: the general ones come last.
READERS = {
    "chatgpt": "atlas.importers.chatgpt",
    "claude": "atlas.importers.claude",
    "mem0": "atlas.importers.mem0",
    "json": "atlas.importers.plain",
    "letta": "atlas.importers.letta",
    "basic-memory": "atlas.importers.basic_memory",
    "logseq": "atlas.importers.logseq",
    "csv": "atlas.importers.table",
    "jsonl": "atlas.importers.jsonl",
    "folder": "atlas.importers.folder",
}


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation. `name` is the tool and its own id, `chatgpt/6f1c…`: the same in every export."""

    name: str
    messages: Sequence[Message]


@dataclass(frozen=True, slots=True)
class File:
    """A Markdown file. `path` is below the folder it is imported into; of a vault (`placed`) where it lay, as `id`."""

    path: str
    data: bytes
    placed: bool = False
    id: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """What is left out of an import and why; `count` of its kind. `kept`: the rest of it is imported all the same."""

    what: str
    reason: str
    count: int = 1
    kept: bool = False


_BUNDLE = re.compile(r'\s*\{\s*"format"\s*:\s*"atlas-bundle"')

Found: TypeAlias = Talk | Request | File


class Reader(Protocol):
    """A module that knows one format."""

    NAME: str

    def detect(self, given: Given) -> bool:
        """Whether this is the format, from a look at names and beginnings."""
        ...

    def read(self, given: Given) -> Iterator[Found | Skipped]:
        """All that is in it, in order; what cannot be used is named, and stops nothing else."""
        ...


def reader(name: str) -> Reader:
    """The reader of a format; raises UsageError for a name that is none."""
    if name not in READERS:
        raise UsageError(f"{name!r} is no format to import from: it is one of {', '.join(READERS)} or bundle.")
    return cast("Reader", import_module(READERS[name]))


def detected(given: Given) -> str:
    """The format of what is given; raises UsageError when no reader knows it."""
    if given.is_file and _BUNDLE.match(given.head(next(iter(given.files)))):
        return BUNDLE
    for name in READERS:
        if reader(name).detect(given):
            return name
    raise UsageError(
        f"{given.name} is in no format Atlas knows: say which with `--from`, or name its columns with "
        "`--map text=COLUMN`."
    )
