"""The nouns: what travels between the modules. All frozen; none of them touches a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

#: The kinds a memory can have; any other word a person writes is kept as it is.
KINDS = ("fact", "episode", "decision", "preference", "skill", "tool", "note")

#: The kind of a cluster's page of links, beside those: nobody says it of a memory.
HUB = "hub"

#: The kind of a skill, and what its file is called in the folder that has its name.
SKILL, SKILL_FILE = "skill", "SKILL.md"

#: Tags under this prefix are cluster membership: `cluster/jwt`.
CLUSTER_PREFIX = "cluster/"


class Lod(StrEnum):
    """Level of detail: label, summary, everything."""

    L0 = "L0"
    L1 = "L1"
    L2 = "L2"


class Rung(StrEnum):
    """How much of a memory is left: everything, label and summary, the label, a line that says it was here."""

    L2 = "L2"
    L1 = "L1"
    L0 = "L0"
    TOMBSTONE = "tombstone"


class Tier(StrEnum):
    """How near to the agent a memory is: before it, ready, in the index and the files, in Git's history alone."""

    HOT = "hot"
    WARM = "warm"
    COLD = "cold"
    FROZEN = "frozen"


class Trust(StrEnum):
    """How far a memory may be relied on. Set by the channel it came through, never by its own text."""

    CANDIDATE = "candidate"
    VERIFIED = "verified"
    CONTESTED = "contested"
    REJECTED = "rejected"
    STALE = "stale"
    UNTRUSTED = "untrusted"


@dataclass(frozen=True, slots=True)
class Scope:
    """A part of the vault, named by a path prefix. A query cannot be built without one.

    >>> Scope("team/").contains("team/a.md"), Scope("team").contains("teams/a.md")
    (True, False)
    """

    prefix: str = ""

    def __post_init__(self) -> None:
        clean = self.prefix.replace("\\", "/").strip("/")
        object.__setattr__(self, "prefix", clean + "/" if clean else "")

    def contains(self, path: str) -> bool:
        """Whether the vault-relative path lies in this scope."""
        return path.startswith(self.prefix)

    def within(self, other: Scope) -> bool:
        """Whether every path of this scope is also one of the other's."""
        return self.prefix.startswith(other.prefix)


WHOLE_VAULT = Scope()


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to tell the person about one file. `line` counts from 1; 0 means the whole file."""

    path: str
    line: int
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Link:
    """One `[[target#heading|alias]]` outside code. `start`, `end` are offsets into the body."""

    target: str
    heading: str = ""
    alias: str = ""
    embed: bool = False
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as read from a file.

    `id` is the written ULID, or the derived identity of a note that has none. `detail` is the whole body.
    `meta` is the frontmatter with every scalar as the text a person typed. `version` is the Git blob id of the bytes
    that were read; a change that names it is refused once there are others.
    """

    id: str
    path: str
    label: str
    summary: str
    detail: str
    meta: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    version: str = ""

    @property
    def clusters(self) -> tuple[str, ...]:
        """The slugs of the clusters this memory belongs to."""
        return tuple(t[len(CLUSTER_PREFIX) :] for t in self.tags if t.startswith(CLUSTER_PREFIX))

    def at(self, lod: Lod) -> str:
        """The text at one level of detail."""
        return {Lod.L0: self.label, Lod.L1: self.summary, Lod.L2: self.detail}[lod]


@dataclass(frozen=True, slots=True)
class Use:
    """How a memory was used: read so many times; the ISO days of its latest reads, and those it was corrected on."""

    reads: int = 0
    days: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One file to be written, as a planner asks for it.

    `before` is the Git blob id of the bytes that were read; None means the file must not exist yet.
    `data` is the new content; None removes the file (the old bytes stay in Git history).
    """

    path: str
    data: bytes | None
    before: str | None = None
    memory: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """Why a set of changes is made: the trailers of its commit."""

    op: str
    subject: str
    reason: str = ""
    actor: str = ""
    policy: str = ""
    memories: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a set of changes. `commit` is empty when nothing was committed, and `note` says why."""

    paths: tuple[str, ...]
    commit: str = ""
    note: str = ""

    @property
    def committed(self) -> bool:
        """Whether a commit holds the changes."""
        return bool(self.commit)


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result. `text` is the best passage; `why` maps each ranker to its rank (from 1) and score.

    `copies` are the paths of other notes with the same text, or copied from this one by a sync program.
    """

    id: str
    path: str
    label: str
    score: float
    text: str
    lod: Lod = Lod.L2
    trust: str = Trust.CANDIDATE
    kind: str = "note"
    summary: str = ""
    created: str = ""
    heading: str = ""
    line: int = 1
    why: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    copies: tuple[str, ...] = ()

    @property
    def display_text(self) -> str:
        """What to show at this hit's level of detail."""
        return {Lod.L0: self.label, Lod.L1: self.summary or self.label, Lod.L2: self.text}[self.lod]


@dataclass(frozen=True, slots=True)
class Shown:
    """One memory in a view. `tokens` is what it costs there; `tier` is where it was when the view was asked for.

    `date` is ISO 8601 or "", `source` where the memory came from or "".
    """

    id: str
    path: str
    label: str
    lod: Lod
    tokens: int
    tier: Tier = Tier.COLD
    date: str = ""
    source: str = ""
    trust: str = Trust.CANDIDATE
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Left:
    """A memory that fits the question and not the budget; `expand` shows it."""

    id: str
    path: str
    label: str


@dataclass(frozen=True, slots=True)
class View:
    """What is put in front of an agent: `text` never has more than `budget` tokens, and `tokens` of them.

    `items` stand in the order of the text; `omitted`, best first, are those it has no room for.
    """

    text: str
    tokens: int
    budget: int
    items: tuple[Shown, ...] = ()
    omitted: tuple[Left, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One commit of Atlas's history, read back from its trailers. `time` is ISO 8601 with a zone."""

    commit: str
    time: str
    op: str
    subject: str
    memories: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    reason: str = ""
    actor: str = ""
    policy: str = ""
