"""Clusters: bundles of memories that share a `cluster/<slug>` tag."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from atlas.catalog import Card
from atlas.errors import NotFound

_SUMMARY_LABELS = 3


@dataclass(frozen=True, slots=True)
class Member:
    """One memory of a cluster."""

    id: str
    path: str
    label: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """A bundle. `members` is filled only when one cluster is asked for by name."""

    name: str
    size: int
    summary: str
    members: tuple[Member, ...] = ()


def bundle(
    cards: Sequence[Card], name: str | None = None, beside: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> list[Cluster]:
    """The clusters these memories form, the largest first; one, with its members, by name. Raises NotFound.

    `beside` has the paths of the notes that belong to a cluster without saying so.
    """
    groups: dict[str, list[Card]] = defaultdict(list)
    by_path = {card.path: card for card in cards}
    for card in cards:
        for slug in card.clusters:
            groups[slug].append(card)
    for slug, paths in beside.items():
        more = [by_path[path] for path in paths if path in by_path and slug not in by_path[path].clusters]
        if more:
            groups[slug] += more
    if name is None:
        return [_cluster(n, g) for n, g in sorted(groups.items(), key=lambda x: (-len(x[1]), x[0]))]
    wanted = name.removeprefix("cluster/")
    if wanted not in groups:
        raise NotFound("cluster", name, "`atlas clusters` lists them.")
    members = tuple(Member(c.id, c.path, c.label) for c in groups[wanted])
    found = _cluster(wanted, groups[wanted])
    return [Cluster(found.name, found.size, found.summary, members)]


def _cluster(name: str, cards: Sequence[Card]) -> Cluster:
    labels = [card.label for card in cards[:_SUMMARY_LABELS]]
    more = "; …" if len(cards) > _SUMMARY_LABELS else ""
    return Cluster(name, len(cards), "; ".join(labels) + more)
