"""Clusters found in the vault as a whole: memories that names, links and nearness hold together. A planner.

A group of them bears the name of the cluster it mostly is already, else of what tells it from all others; one that
nothing tells, or that its surroundings hold as fast as it holds itself, becomes none. Memories that Atlas wrote get the
tag. Notes of a person stay as they are, and are linked on the cluster's page.

Nothing that was taken away comes back: no memory joins a cluster it could have joined before, and a cluster whose page
or tags are all gone is not begun again. Groups are found anew when enough memories came or went; until then those found
last, which are kept beside the index, hold.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any

from atlas import edits, hubs, topics, vault
from atlas.membership import FEWEST, MOST_CLUSTERS, MOST_MEMBERS
from atlas.memory import CLUSTER_PREFIX, HUB, Change, Record, Rung
from atlas.planning import Plan, Row, View
from atlas.profiles import Profile
from atlas.survey import blob_id

#: In fewer memories there is nothing to find that names they share do not tell.
FEWEST_MEMORIES = 30
#: Groups are found anew once so many memories, or this share of all, came or went.
MANY_NEW, SHARE_NEW = 20, 0.05
#: How much of a group's weight must stay inside it.
HELD = 0.25
FILE = "communities.json"
_VERSION = 1
#: Where memories of a scope lie: what stands before it is the scope.
_STORED = re.compile(r"(.*/)?memories/\d{4}/\d\d/[^/]+")


@dataclass(frozen=True, slots=True)
class Found:
    """The groups found last: the number of each memory's, the name of those that are clusters, and when (µs)."""

    group: Mapping[str, int] = field(default_factory=dict)
    slugs: Mapping[int, str] = field(default_factory=dict)
    moment: int = 0


@dataclass(frozen=True, slots=True)
class _Joining:
    """A memory that is to bear the tag of a cluster."""

    profile: Profile
    slug: str
    reason: str


def plan(view: View) -> Plan:
    """Who joins which cluster, and which notes its page is to name."""
    if len(view.cards) < FEWEST_MEMORIES:
        return Plan()
    room = _Room(view)
    before = _kept(view)
    if not _due(before, room.by_id):
        return _planned(room, before, anew=None)
    found = _found(room, before)
    if not view.dry_run:
        _keep(view, found)
    return _planned(room, found, anew=before)


class _Room:
    """What a plan looks at: the memories that may be in a cluster, and the clusters that are there."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.hidden = hubs.hidden(view)
        self.all = [one for one in view.profiles() if one.kind != HUB]
        self.able = [one for one in self.all if one.readable and one.rung != Rung.L0 and not self.hidden(one)]
        self.by_id = {one.id: one for one in self.able}
        self.tagged = {slug: {one.id for one in group} for slug, group in hubs.grouped(self.all).items()}

    @cached_property
    def clusters(self) -> dict[str, frozenset[str]]:
        """The memories of each cluster that is there, notes on its page among them."""
        found: dict[str, set[str]] = {slug: set(ids) for slug, ids in self.tagged.items()}
        ids = {one.path: one.id for one in self.able}
        for card in self.view.cards:
            if card.kind == HUB and (slug := hubs.slug_at(card.path)):
                beside = {ids[path] for path in hubs.guests(self.view.read(card.path)) if path in ids}
                found.setdefault(slug, set()).update(beside)
        return {slug: frozenset(group) for slug, group in found.items()}

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the clusters that have members, as a disk that minds no case has them.

        One that was emptied keeps its name for the group it was, so that this is not begun again under another.
        """
        return frozenset(slug.casefold() for slug, ids in self.clusters.items() if ids)

    def scopes(self) -> list[list[Profile]]:
        """The memories by the scope they were stored in, which know nothing of each other; notes go with the folder."""
        scopes = {match[1] or "" for one in self.able if (match := _STORED.fullmatch(one.path))}
        found: dict[str, list[Profile]] = defaultdict(list)
        for one in self.able:
            found[max((s for s in scopes if one.path.startswith(s)), key=len, default="")].append(one)
        return [found[scope] for scope in sorted(found)]

    def is_new(self, slug: str) -> bool:
        """Whether there never was a cluster of this name."""
        page = hubs.path_of(slug)
        return slug.casefold() not in self.names and self.view.read(page) is None and not self.view.removed(page)


# ------------------------------------------------------------------- the groups


def _due(before: Found, now: Collection[str]) -> bool:
    changed = len(before.group.keys() ^ set(now))
    return not before.moment or changed >= MANY_NEW or changed > SHARE_NEW * len(now)


def _found(room: _Room, before: Found) -> Found:
    """The groups of now, those of before in mind, and their names. Each scope has its own."""
    start = _start(room, before)
    group: dict[str, int] = {}
    slugs: dict[int, str] = {}
    for ones in room.scopes():
        first = max(group.values(), default=-1) + 1
        numbers, strength = _grouped(room, ones, start)
        group |= {one.id: first + number for one, number in zip(ones, numbers, strict=True)}
        slugs |= _called(room, ones, numbers, strength, first, slugs.values())
    return Found(group, slugs, int(room.view.now.timestamp() * 1e6))


def _grouped(room: _Room, ones: Sequence[Profile], start: Mapping[str, int]) -> tuple[list[int], dict[int, float]]:
    """The number of the group of each, and how much of what holds each group together stays inside it."""
    if len(ones) < FEWEST_MEMORIES:
        return list(range(len(ones))), {}
    graph = import_module("atlas.graph")  # loaded when groups are due: nothing else needs the library behind it
    place = {one.path: n for n, one in enumerate(ones)}
    links = [(place[a], place[b]) for a, b in room.view.links() if a in place and b in place]
    vectors = room.view.vectors([one.path for one in ones])
    edges = graph.edges([topics.about(one) for one in ones], links, vectors)
    group = graph.groups(edges, [start[one.id] for one in ones])
    return group, graph.held(edges, group)


def _called(
    room: _Room,
    ones: Sequence[Profile],
    numbers: Sequence[int],
    strength: Mapping[int, float],
    first: int,
    used: Collection[str],
) -> dict[int, str]:
    """The names of the groups that are clusters; groups are numbered from `first` on."""
    members: dict[int, list[int]] = defaultdict(list)
    for n, number in enumerate(numbers):
        members[number].append(n)
    fit = {number: among for number, among in members.items() if FEWEST <= len(among) <= MOST_MEMBERS}
    there = {slug: ids for slug, ids in room.clusters.items() if slug not in used}
    known = topics.same(there, {number: [ones[n].id for n in among] for number, among in fit.items()})
    taken = {*room.names, *used}
    strong = {n: among for n, among in fit.items() if n not in known and strength.get(n, 0.0) >= HELD}
    memories = [(topics.about(one), topics.words(one)) for one in ones] if strong else []
    new = topics.named(memories, strong, lambda slug: slug not in taken and hubs.allowed(slug))
    return {first + number: slug for number, slug in (known | new).items()}


def _start(room: _Room, before: Found) -> dict[str, int]:
    """Where each memory stood: in its group of last time, else in the smallest of its clusters, else alone."""
    sizes = {slug: len(ids) for slug, ids in room.clusters.items()}
    mine: dict[str, list[str]] = defaultdict(list)
    for slug, ids in room.clusters.items():
        for id in ids:
            mine[id].append(slug)
    numbers: dict[object, int] = {slug: n for n, slug in before.slugs.items()}
    following = max(before.group.values(), default=-1) + 1
    start = {}
    for one in room.able:
        named = min(mine[one.id], key=lambda slug: (sizes[slug], slug), default=None)
        here: object = ("alone", one.id) if named is None else named
        if one.id not in before.group and here not in numbers:
            numbers[here] = following
            following += 1
        start[one.id] = before.group[one.id] if one.id in before.group else numbers[here]
    return start


# --------------------------------------------------------------------- the plan


def _planned(room: _Room, found: Found, anew: Found | None) -> Plan:
    """The changes for these groups. `anew` has those of before if they were just found, None if they are kept ones."""
    members: dict[str, list[Profile]] = defaultdict(list)
    for id, number in found.group.items():
        if number in found.slugs and id in room.by_id:
            members[found.slugs[number]].append(room.by_id[id])
    begun = {slug for slug in members if len(members[slug]) >= FEWEST and room.is_new(slug)}
    wanted = sorted(members if anew else begun)
    joining = list(_within_room(j for slug in wanted for j in _joining(room, slug, members[slug], begun, anew)))
    tags = _tags(room.view, joining)
    joining = [one for one in joining if one.profile.path in tags]
    changes = (*tags.values(), *_pages(room, wanted, members, joining))
    if not changes:
        return Plan()
    rows = tuple(Row(j.profile.id, j.profile.path, "", CLUSTER_PREFIX + j.slug, j.reason) for j in joining)
    return Plan(changes, _record(changes, [slug for slug in wanted if slug in begun]), rows)


def _joining(
    room: _Room, slug: str, members: Sequence[Profile], begun: Collection[str], anew: Found | None
) -> Iterator[_Joining]:
    """Who is to bear the tag: in a cluster that begins, all; in one that is there, what has come since."""
    there = room.tagged.get(slug, set())
    newest = max((one.created or 0 for one in room.all if one.id in there), default=0)
    reason = f"is of the kind of {len(members) - 1} others"
    for one in sorted(members, key=lambda one: one.path):
        # Without a record of what there was, what is younger than all members has come since.
        came = one.id not in anew.group if anew and anew.moment else (one.created or 0) > newest
        if (
            (slug in begun or (there and came))
            and one.id not in there
            and len(there) < MOST_MEMBERS
            and room.view.mine(one.path)
        ):
            yield _Joining(one, slug, reason)


def _within_room(joining: Iterable[_Joining]) -> Iterator[_Joining]:
    """As many as each memory may join by itself."""
    taken: Counter[str] = Counter()
    for one in joining:
        if len(one.profile.clusters) + taken[one.profile.id] < MOST_CLUSTERS:
            taken[one.profile.id] += 1
            yield one


def _tags(view: View, joining: Sequence[_Joining]) -> dict[str, Change]:
    """The tags as changes, by path; files that are busy or cannot be edited are left out."""
    tags: dict[str, list[str]] = defaultdict(list)
    profiles = {one.profile.path: one.profile for one in joining}
    for one in joining:
        tags[one.profile.path].append(CLUSTER_PREFIX + one.slug)
    read = {path: data for path in tags if not view.busy(path) and (data := view.read(path)) is not None}
    made = edits.add_tags({path: tags[path] for path in read}, read.__getitem__)
    return {c.path: replace(c, memory=profiles[c.path].id, label=profiles[c.path].label) for c in made}


def _pages(
    room: _Room, slugs: Iterable[str], members: Mapping[str, Sequence[Profile]], joining: Sequence[_Joining]
) -> Iterator[Change]:
    """The pages of clusters to which notes of a person belong; all others are made by the task for pages."""
    for slug in slugs:
        tagged = {*room.tagged.get(slug, ()), *(one.profile.id for one in joining if one.slug == slug)}
        beside = [
            one
            for one in members[slug]
            if one.id not in tagged and hubs.linkable(one.path) and not room.view.mine(one.path)
        ]
        path = hubs.path_of(slug)
        data = room.view.read(path)
        if data is None and (not beside or len(tagged) + len(beside) < FEWEST or room.view.removed(path)):
            continue
        own = [hubs.member(one) for one in room.all if one.id in tagged and not room.hidden(one)]
        notes = [hubs.member(one) for one in beside]
        new = hubs.page(slug, own, notes) if data is None else hubs.updated(data, slug, own, notes)
        if new != data and not room.view.busy(path):
            yield Change(path, new, None if data is None else blob_id(data), label=hubs.title(slug))


def _record(changes: Sequence[Change], begun: Sequence[str]) -> Record:
    memories = [change for change in changes if change.memory]
    if begun:
        subject = f"Find {len(begun)} clusters" if len(begun) > 1 else f"Find the cluster {hubs.title(begun[0])}"
    elif memories:
        subject = f"Add {len(memories)} memories to clusters"
        subject = subject if len(memories) > 1 else f"Add {memories[0].label} to a cluster"
    else:
        subject = "Bring pages of clusters up to date"
    ids = tuple(dict.fromkeys(change.memory for change in memories))
    return Record("clusters", subject, "names, links and nearness hold them together", policy="leiden", memories=ids)


# -------------------------------------------------------------------- remembered


def _kept(view: View) -> Found:
    try:
        state: Any = json.loads((view.config.state / FILE).read_bytes())
        if state["version"] != _VERSION:
            return Found()
        group = {str(id): int(number) for id, number in state["group"].items()}
        slugs = {int(number): str(slug) for number, slug in state["slugs"].items()}
        return Found(group, slugs, int(state["moment"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Found()


def _keep(view: View, found: Found) -> None:
    state = {"version": _VERSION, "moment": found.moment, "group": found.group, "slugs": found.slugs}
    vault.write_elsewhere(view.config.state / FILE, json.dumps(state).encode())
