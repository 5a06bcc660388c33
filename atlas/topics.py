"""What a group of memories is about, and what to call it: the name that tells it from everything else. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from atlas.membership import FEWEST, MANY, MOST_SHARE
from atlas.memory import CLUSTER_PREFIX
from atlas.models.entities import LONGEST, entities, slug_of
from atlas.models.lexicon import AUXILIARIES, BREAKERS, OPENERS, STOPWORDS, TIME
from atlas.profiles import Profile

#: How well a name must tell its group from all else (the harmonic mean of how many of the group bear it and how many of
#: those that bear it are in the group); a common word better than a name.
TELLING, WORD_TELLING = 0.25, 0.4
#: The share of a group that must bear its name.
BEARING = 1 / 3

_WORD = re.compile(r"[^\W\d_]{3,}")
_DULL = STOPWORDS | OPENERS | TIME | BREAKERS | AUXILIARIES


def about(one: Profile) -> frozenset[str]:
    """What a memory is about, as slugs. A person's note seldom says so but in its title and tags."""
    names = one.entities or (*entities(one.label), *(t for t in one.tags if not t.startswith(CLUSTER_PREFIX)))
    return frozenset(slug for name in names if (slug := slug_of(name)))


def words(one: Profile) -> frozenset[str]:
    """The words of its title that might be a name, as slugs."""
    return frozenset(slug_of(word) for word in _WORD.findall(one.label)) - _DULL


def named(
    memories: Sequence[tuple[frozenset[str], frozenset[str]]],
    groups: Mapping[int, Sequence[int]],
    free: Callable[[str], bool],
) -> dict[int, str]:
    """A name for each group that has one which nobody else has; the most telling names choose first.

    `memories` are the names and the words of all, `groups` the places of some among them; `free` says whether a slug
    may name a cluster.
    """
    names = Counter(slug for mine, _ in memories for slug in mine)
    bearing = Counter(slug for mine, more in memories for slug in mine | more)
    most = MOST_SHARE * len(memories) if len(memories) > MANY else len(memories)
    choices = []
    for number, among in groups.items():
        counts = Counter(slug for n in among for slug in memories[n][0] | memories[n][1])
        for slug, count in counts.items():
            telling = 2 * count / (len(among) + bearing[slug])
            general = bearing[slug] > most or telling < (TELLING if names[slug] else WORD_TELLING)
            if count >= max(FEWEST, BEARING * len(among)) and not general and len(slug) <= LONGEST and free(slug):
                choices.append((-telling, not names[slug], -slug.count("-"), slug, number))
    return _dealt((slug, number) for *_, slug, number in sorted(choices))


def same(clusters: Mapping[str, Collection[str]], groups: Mapping[int, Collection[str]]) -> dict[int, str]:
    """The groups that are a cluster already: most of it is in the group, and is a third of the group or more."""
    which = {id: number for number, ids in groups.items() for id in ids}
    ranked = []
    for slug, ids in clusters.items():
        for number, shared in Counter(which[id] for id in ids if id in which).items():
            if 2 * shared > len(ids) and 3 * shared >= len(groups[number]):
                ranked.append((-shared, slug, number))
    return _dealt((slug, number) for _, slug, number in sorted(ranked))


def _dealt(choices: Iterable[tuple[str, int]]) -> dict[int, str]:
    """Each group its first choice that is still there."""
    found: dict[int, str] = {}
    used: set[str] = set()
    for slug, number in choices:
        if number not in found and slug not in used:
            found[number] = slug
            used.add(slug)
    return found
