"""Who joins which cluster as soon as it is stored, because of an entity that memories share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from atlas.memory import CLUSTER_PREFIX
from atlas.models.entities import slug_of

#: A cluster begins with this many memories; a memory joins no more than this many clusters by itself.
FEWEST, MOST_CLUSTERS = 3, 3
#: An entity shared by more memories than this, or (from `MANY` memories on) by more than this share, names no topic.
MOST_MEMBERS, MANY, MOST_SHARE = 200, 50, 0.4


class Known(Protocol):
    """What clustering has to know of a stored memory."""

    @property
    def id(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def entities(self) -> tuple[str, ...]: ...
    @property
    def clusters(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Membership:
    """Memories that are to bear the tag of one cluster, and do not yet: ids of drafts and of stored memories."""

    cluster: str
    drafts: tuple[str, ...]
    known: tuple[str, ...]

    @property
    def tag(self) -> str:
        """The tag that says so."""
        return CLUSTER_PREFIX + self.cluster


def plan_clusters(drafts: Sequence[Known], known: Sequence[Known], *, total: int | None = None) -> list[Membership]:
    """Who joins which cluster because of an entity they share.

    `total` counts all memories, drafts included; None when that is not known. An entity of at least `FEWEST` memories,
    one of them a draft, begins a cluster; drafts join the clusters there are. The rarest entity comes first, names
    before phrases, so each memory gets its most telling clusters.
    """
    everyone: list[Known] = [*known, *drafts]
    new = frozenset(draft.id for draft in drafts)
    room = {memory.id: MOST_CLUSTERS - len(memory.clusters) for memory in everyone}
    there = {slug for memory in everyone for slug in memory.clusters}
    out: list[Membership] = []
    seen: set[frozenset[str]] = set()
    for slug, members in _shared(everyone):
        among = frozenset(memory.id for memory in members)
        joining = [m.id for m in members if room[m.id] > 0 and slug not in m.clusters]
        if slug in there:
            # A stored memory without the tag lost it by a person's hand, or has its three: leave it so.
            joining = [id for id in joining if id in new]
        # Two names that the same memories share would make one bundle twice.
        if among in seen or not new.intersection(joining) or not _wanted(slug in there, joining, members, total):
            continue
        seen.add(among)
        room.update({id: room[id] - 1 for id in joining})
        out.append(Membership(slug, tuple(i for i in joining if i in new), tuple(i for i in joining if i not in new)))
    return out


def _shared(everyone: Sequence[Known]) -> list[tuple[str, list[Known]]]:
    """(slug, memories) of each entity: the rarest first, then names before phrases, then the longest."""
    sharing: dict[str, list[Known]] = defaultdict(list)
    plain: dict[str, bool] = {}
    for memory in everyone:
        for slug, spelled in {slug_of(e): e for e in memory.entities}.items():
            sharing[slug].append(memory)
            plain[slug] = plain.get(slug, True) and spelled.islower()
    return sorted(sharing.items(), key=lambda x: (len(x[1]), plain[x[0]], -x[0].count("-"), x[0]))


def _wanted(there: bool, joining: Sequence[str], members: Sequence[Known], total: int | None) -> bool:
    """Whether the bundle names a topic: not begun by too few, nor by what half of the vault is about."""
    if len(members) > MOST_MEMBERS:
        return False
    everybody = total or 0
    general = everybody > MANY and len(members) > MOST_SHARE * everybody
    return there or (len(joining) >= FEWEST and not general)
