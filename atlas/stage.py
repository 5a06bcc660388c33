"""What a view takes from the index: the memories that may stand in it, with their facts, passages and surroundings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from atlas import config, rank
from atlas.bm25 import idf
from atlas.keys import key, parted
from atlas.memory import CLUSTER_PREFIX, HUB, SKILL, SKILL_FILE, Trust
from atlas.search import iso

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atlas.rows import Listed, Passage
    from atlas.search import Look, Reader

#: So many neighbours on either side in a thread, and so many ends of links, are told.
_NEAR = 3
_MANY = 12
#: How many of the best are looked at, at the least and at the most, and what they cost: a word of the index stands for
#: so many tokens of the text, since the commonest are not counted, and an item for so many more.
_FEWEST, _MOST = 20, 200
_TOKENS_A_WORD, _TOKENS_AN_ITEM = 1.6, 15
#: What is always before the agent steers it, so nothing doubtful may get there by calling itself a preference.
_DOUBTED = (Trust.REJECTED, Trust.UNTRUSTED, Trust.CONTESTED, Trust.STALE)

_IMPLICIT = "coalesce(n.kind = 'preference' AND n.meta->>'stated' = 'implicit', false)"


class Facts(NamedTuple):
    """What does not depend on the question, of one content. `implicit`: a preference that was drawn, not said."""

    blob: str
    source: str
    importance: float | None
    pinned: bool
    clusters: tuple[str, ...]
    stale: bool
    implicit: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """One memory as a search sees it. `note` numbers its content; `score` is what the whole ranking gives it.

    `passages` has, in reading order, the number of each and what words and vectors say of it. `created` is ISO 8601.
    """

    ordinal: int
    id: str
    path: str
    label: str
    summary: str
    kind: str
    trust: str
    created: str
    note: int
    score: float
    passages: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Memories that have a place of their own, by path key: those always shown, and the page of each cluster."""

    always: tuple[int, ...]
    hubs: Mapping[str, int]


class Stage:
    """One search from the side of the view, where what was rejected is not seen. To be used while its reader is."""

    def __init__(self, reader: Reader, look: Look) -> None:
        self._reader, self._look = reader, look
        self._total = rank.total_of(look.scores, look.voices, look.weights)

    @property
    def token(self) -> str:
        """What names the database that numbers contents: a rebuilt one numbers them anew."""
        return self._reader.generation.partition(":")[0]

    @property
    def best(self) -> float:
        """The score of the first memory of the whole ranking."""
        return float(self._total.max(initial=0.0))

    @property
    def terms(self) -> Mapping[str, float]:
        """The question's terms with what each tells among the passages it may see: its worth times its idf."""
        look = self._look
        holding = np.bincount(look.postings.term, minlength=len(look.terms)).tolist()
        return {
            term: worth * idf(len(look.live.chunk), number)
            for (term, worth), number in zip(look.terms.items(), holding, strict=True)
        }

    def rank(self, one: Seen) -> int:
        """The place of a memory in the whole ranking, from 1."""
        return 1 + int(np.count_nonzero(self._total > one.score))

    def found(self, tokens: int) -> list[Seen]:
        """The best memories, copies grouped; as many as have about so many tokens."""
        found = self._reader.distinct(self._look, self._depth(tokens), parts=False)
        seen = self._seen([one.ordinal for one in found])
        return sorted(seen, key=lambda one: -one.score)

    def at(self, paths: Iterable[str]) -> list[Seen]:
        """The memories at these paths that the filters let through, whatever the question."""
        return self._seen(_ordinals(self._look, [key(path) for path in paths]))

    def by_key(self, keys: Sequence[int]) -> list[Seen]:
        """The same by the keys of their paths."""
        return self._seen(_ordinals(self._look, keys))

    def standing(self) -> Standing:
        """What is always shown, and the pages of clusters; asked once for each state of the index."""
        kept = self._look.live.kept
        if "standing" not in kept:
            kept["standing"] = self._standing()
        found: Standing = kept["standing"]
        return found

    def facts(self, notes: Iterable[int]) -> Mapping[int, Facts]:
        """The facts of contents by their numbers."""
        numbers = ", ".join(map(str, notes))
        if not numbers:
            return {}
        rows = self._reader.con.execute(
            f"SELECT note, blob, source, importance, pinned, tags, stale, {_IMPLICIT} FROM notes n "
            f"WHERE note IN ({numbers})"
        ).fetchall()
        return {
            note: Facts(blob, source or "", importance, bool(pinned), _clusters(tags), bool(stale), bool(implicit))
            for note, blob, source, importance, pinned, tags, stale, implicit in rows
        }

    def texts(self, chunks: Sequence[int]) -> Mapping[int, Passage]:
        """Passages by their numbers."""
        return self._reader.rows.passages(chunks)

    def _depth(self, tokens: int) -> int:
        """How many of the best have so many tokens, by the words the index has counted."""
        field, ranked = self._look.live.field, self._look.best(_MOST, parts=False).note
        starts, sizes = field.note_starts[ranked], field.note_sizes[ranked]
        counts = [int(field.words[start : start + size].sum()) for start, size in zip(starts, sizes, strict=True)]
        filled = np.cumsum([_TOKENS_A_WORD * count + _TOKENS_AN_ITEM for count in counts])
        return min(max(int(np.searchsorted(filled, tokens)) + 1, _FEWEST), _MOST)

    def _standing(self) -> Standing:
        filters = self._look.filters
        where, values = filters.sql()
        doubted = ", ".join(f"'{trust}'" for trust in _DOUBTED)
        now = int(config.now().timestamp() * 1e6)
        rows = self._reader.con.execute(
            "SELECT l.path_key, l.path, n.kind, n.pinned FROM "
            f"{filters.table} l JOIN notes n USING (note) WHERE {where} AND n.trust NOT IN ({doubted}) "
            f"AND (n.pinned OR n.kind IN ('preference', '{HUB}')) AND coalesce(n.valid_to, 9e18) > {now} "
            "AND nullif(n.meta->>'superseded_by', '') IS NULL "
            f"ORDER BY {_IMPLICIT}, n.created DESC NULLS LAST, l.path",
            values,
        ).fetchall()
        always = tuple(number for number, _, kind, pinned in rows if pinned or kind == "preference")
        return Standing(always, {PurePosixPath(path).stem: number for number, path, kind, _ in rows if kind == HUB})

    def _seen(self, ordinals: Sequence[int]) -> list[Seen]:
        look, field = self._look, self._look.live.field
        keys = [int(look.live.paths[n]) for n in ordinals]
        listed = self._reader.rows.listed(keys, look.filters.moment)
        starts, sizes = field.note_starts, field.note_sizes
        found = []
        for ordinal, number in zip(ordinals, keys, strict=True):
            if _unseen(listed[number]):
                continue
            span = range(int(starts[ordinal]), int(starts[ordinal] + sizes[ordinal]))
            found.append(self._one(ordinal, listed[number], [place for place in span if look.live.body[place]]))
        return found

    def _one(self, ordinal: int, row: Listed, places: Sequence[int]) -> Seen:
        live, scores = self._look.live, self._look.scores.chunk
        passages = tuple((int(live.chunk[place]), float(scores[place])) for place in places)
        label = row.label or PurePosixPath(row.path).stem
        return Seen(
            ordinal, row.id, row.path, label, row.summary, row.kind, row.trust, iso(row.created), row.note,
            float(self._total[ordinal]), passages,
        )  # fmt: skip


class Surroundings:
    """What stands around memories: in their thread, their clusters, at the ends of their links. Ids in, ids out.

    `paths` has the paths of the ids that are known; those of all that is found are added. To be used while its reader
    is.
    """

    def __init__(self, reader: Reader, look: Look, paths: MutableMapping[str, str]) -> None:
        self._reader, self._look, self._paths = reader, look, paths

    def known(self, id: str) -> bool:
        """Whether the filters let it through now."""
        return bool(self._ordinals([id]))

    def neighbours(self, id: str) -> Sequence[str]:
        """The memories before and after it in its thread, nearest first."""
        (here,) = self._ordinals([id]) or (None,)
        if here is None:
            return ()
        threads = self._look.live.field.thread[self._look.live.field.note_starts]
        steps = [here + sign * away for away in range(1, _NEAR + 1) for sign in (1, -1)]
        return self._ids([n for n in steps if 0 <= n < len(threads) and threads[n] == threads[here]])

    def linked(self, id: str) -> Sequence[str]:
        """The memories it links to, and those that link to it."""
        (here,) = self._ordinals([id]) or (None,)
        return () if here is None else self._ids(self._reader.linked(self._look, here)[:_MANY])

    def clusters(self, id: str) -> Sequence[str]:
        """The clusters it belongs to."""
        return self._grouped()[1].get(key(self._paths[id]), ()) if id in self._paths else ()

    def members(self, cluster: str) -> Sequence[str]:
        """The memories of a cluster, by path."""
        return self._ids(_ordinals(self._look, self._grouped()[0].get(cluster, ())))

    def nearest(self, vector: NDArray[np.float32], k: int) -> list[tuple[str, float]]:
        """The memories whose passages are nearest to a vector, with their cosines; none where there are no vectors."""
        cosine = self._reader.cosine(self._look.live, vector)
        if cosine is None:
            return []
        field = self._look.live.field
        best = np.maximum.reduceat(cosine, field.note_starts)
        k = min(k, len(best))
        top = np.argpartition(-best, k - 1)[:k]
        top = top[np.lexsort((top, -best[top]))]
        ids = self._ids(top.tolist())
        return [(id, float(best[n])) for id, n in zip(ids, top.tolist(), strict=True)]

    def _grouped(self) -> tuple[Mapping[str, Sequence[int]], Mapping[int, Sequence[str]]]:
        """Cluster → members and member → clusters, by the keys of their paths; asked once for a state of the index."""
        kept = self._look.live.kept
        if "grouped" not in kept:
            kept["grouped"] = self._load_groups()
        found: tuple[dict[str, list[int]], dict[int, tuple[str, ...]]] = kept["grouped"]
        return found

    def _load_groups(self) -> tuple[dict[str, list[int]], dict[int, tuple[str, ...]]]:
        where, values = self._look.filters.sql()
        rows = self._reader.con.execute(
            f"SELECT l.path_key, n.tags FROM {self._look.filters.table} l JOIN notes n USING (note) "
            f"WHERE {where} AND contains(n.tags, '{CLUSTER_PREFIX}') ORDER BY l.path",
            values,
        ).fetchall()
        clusters = {number: _clusters(tags) for number, tags in rows}
        members: dict[str, list[int]] = {}
        for number, slugs in clusters.items():
            for slug in slugs:
                members.setdefault(slug, []).append(number)
        return members, clusters

    def _ordinals(self, ids: Iterable[str]) -> list[int]:
        return _ordinals(self._look, [key(self._paths[id]) for id in ids if id in self._paths])

    def _ids(self, ordinals: Sequence[int]) -> list[str]:
        keys = [int(self._look.live.paths[n]) for n in ordinals]
        listed = self._reader.rows.listed(keys, self._look.filters.moment)
        self._paths.update((row.id, row.path) for row in listed.values())
        return [listed[number].id for number in keys]


def _unseen(row: Listed) -> bool:
    """Whether nothing brings it before an agent: what was rejected, and a skill whose words nobody has approved."""
    skill = row.kind == SKILL or PurePosixPath(row.path).name == SKILL_FILE
    return row.trust == Trust.REJECTED or (skill and row.trust != Trust.VERIFIED)


def _clusters(tags: str) -> tuple[str, ...]:
    return tuple(tag.removeprefix(CLUSTER_PREFIX) for tag in parted(tags or "") if tag.startswith(CLUSTER_PREFIX))


def _ordinals(look: Look, keys: Sequence[int]) -> list[int]:
    """The ordinals of live notes by the keys of their paths, in the order asked; those that are not live left out."""
    kept: dict[str, Any] = look.live.kept
    if "by key" not in kept:
        order = np.argsort(look.live.paths, kind="stable")
        kept["by key"] = order, look.live.paths[order]
    order, paths = kept["by key"]
    if not len(paths):
        return []
    wanted = np.array(keys, np.int64)
    place = np.minimum(np.searchsorted(paths, wanted), len(paths) - 1)
    return [int(n) for n in order[place[paths[place] == wanted]]]
