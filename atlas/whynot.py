"""Why a memory is not among the hits of a search: gone, not indexed, filtered out, a copy, outranked, or too weak.

Each question is put to the room that decides it, in the order in which a search does, and the first that says no is
the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from atlas import history, results
from atlas.catalog import Card, Catalog
from atlas.config import ENDINGS
from atlas.errors import NotFound
from atlas.keys import key
from atlas.live import Filters
from atlas.memory import WHOLE_VAULT
from atlas.past import find_gone, find_missing
from atlas.search import Look, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from atlas.config import Config
    from atlas.git import Repository

#: So many of the hits that stand before it are shown.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Before:
    """A hit that ranks before the memory: its place, its score, and each ranker's rank and score."""

    id: str
    path: str
    label: str
    rank: int
    score: float
    why: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a search does not return a memory.

    `reason` is one word: gone, not-indexed, outside-scope, filtered, not-then, unmatched, abstained, copy, outranked,
    or found, if it does. `rank` is its place among the `of` memories that were ranked, copies counted; None if it was
    not ranked. `why` is what each ranker says of it.
    """

    id: str
    path: str
    reason: str
    detail: str
    rank: int | None = None
    of: int = 0
    score: float | None = None
    why: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    outranked_by: tuple[Before, ...] = ()


def absent(config: Config, catalog: Catalog, repository: Repository | None, name: str) -> WhyNot:
    """Why a name is no memory of the index: passed over, or only in history; raises NotFound if it never was one."""
    for finding in catalog.findings():
        if _names(name, finding.path):
            return WhyNot("", finding.path, "not-indexed", f"{finding.kind}: {finding.message}.")
    found = _in_history(repository, config.root, name)
    if found is not None and config.scope.contains(found.path):
        return found
    if config.scope == WHOLE_VAULT and name.lower().endswith(ENDINGS) and (config.root / name).is_file():
        detail = "left out: hidden, under `vault.ignore`, or a link; docs/settings.md has what is never a memory."
        return WhyNot("", name, "not-indexed", detail)
    raise NotFound("memory", name, "`atlas search` finds memories by their words, `atlas log` has those of the past.")


def _names(name: str, path: str) -> bool:
    last = path.rpartition("/")[2]
    return name in (path, last) or f"{name}.md" in (path, last)


def _in_history(repository: Repository | None, root: Path, name: str) -> WhyNot | None:
    """A memory that lies in no file of the folder, but in a commit; None if it never was one."""
    if repository is None:
        return None
    missing = find_missing(repository, root, name)
    if missing is not None:
        detail = f"its file is deleted and that is not committed: `git restore {missing.path}` brings it back."
        return WhyNot(missing.id, missing.path, "gone", detail)
    try:
        gone = find_gone(repository, name)
    except NotFound:
        return None
    last = history.log(repository, path=gone.path, memory=gone.id, limit=1)
    by = (
        f"removed by commit {last[0].commit[:9]} ({last[0].op}: {last[0].reason or last[0].subject})"
        if last
        else "gone"
    )
    detail = f"{by}; commit {gone.commit[:9]} still holds it: `atlas restore {gone.id}`."
    return WhyNot(gone.id, gone.path, "gone", detail)


@dataclass(frozen=True, slots=True)
class Question:
    """What was searched for: the text, its vector, what it may see, and how many hits were wanted."""

    text: str
    vector: NDArray[np.float32] | None
    filters: Filters
    k: int
    clock: float | None = None


def explain(reader: Reader, asked: Question, card: Card) -> WhyNot:
    """Why the search does not return this memory, or where it does."""
    path = reader.path_of(card.id, asked.filters)
    if not path:
        return WhyNot(card.id, card.path, "not-then", f"commit {asked.filters.moment[:9]} does not hold it.")
    if not asked.filters.scope.contains(path):
        detail = f"it does not lie below {asked.filters.scope.prefix}."
        return WhyNot(card.id, path, "outside-scope", detail)
    for part, said in _parts(asked.filters):
        if key(path) not in reader.live(part).paths.tolist():
            return WhyNot(card.id, path, "filtered", f"{said}; {_is(card)}.")
    look = reader.look(asked.text, asked.vector, asked.filters, clock=asked.clock)
    assert look is not None, "the filters let this memory through"
    return _ranked(reader, look, asked.k, WhyNot(card.id, path, "", ""))


def _parts(filters: Filters) -> Iterator[tuple[Filters, str]]:
    """Each filter by itself, and what it asks for."""
    scope, moment = filters.scope, filters.moment
    if filters.kinds:
        yield (
            Filters(scope, kinds=filters.kinds, moment=moment),
            f"only kind {' or '.join(filters.kinds)} was asked for",
        )
    if filters.tags:
        yield Filters(scope, tags=filters.tags, moment=moment), f"only tag {' or '.join(filters.tags)} was asked for"
    if filters.clusters:
        names = " or ".join(filters.clusters)
        yield Filters(scope, clusters=filters.clusters, moment=moment), f"only cluster {names} was asked for"
    if filters.valid_at is not None:
        yield Filters(scope, valid_at=filters.valid_at, moment=moment), "it does not hold at the date of `valid_at`"


def _is(card: Card) -> str:
    return f"it is of kind {card.kind}, with {'tags ' + ', '.join(card.tags) if card.tags else 'no tags'}"


def _ranked(reader: Reader, look: Look, k: int, one: WhyNot) -> WhyNot:
    """Where the memory stands among all that were ranked, and what became of it there."""
    ranking = look.best(len(look.live.paths))
    note = look.live.paths.tolist().index(key(one.path))
    order = ranking.note.tolist()
    if note not in order:
        return replace(one, reason="unmatched", detail="no word of the question stands in it.", of=len(order))
    place = order.index(note)
    score = float(ranking.score[place])
    why = {name: {"rank": rank, "score": round(raw, 4)} for name, (rank, raw) in ranking.why(place).items()}
    first = reader.candidates(look, min(place, _SHOWN))
    before = tuple(Before(c.hit.id, c.hit.path, c.hit.label, n, c.hit.score, c.hit.why) for n, c in enumerate(first, 1))
    reason, detail = _fate(reader, look, k, one.path)
    return replace(
        one, reason=reason, detail=detail, rank=place + 1, of=len(order), score=score, why=why, outranked_by=before
    )


def _fate(reader: Reader, look: Look, k: int, path: str) -> tuple[str, str]:
    if look.evidence is not None and not look.enough:
        sure = look.evidence.confidence
        return "abstained", f"nothing was likely enough to be the answer (confidence {sure:.4f}): see --no-abstain."
    hits = reader.hits(look, k)
    place, copied = results.places(hits, path)
    if copied:
        return "copy", f"it has the text of {hits[place - 1].path}, hit {place}, which is shown for both."
    if place:
        return "found", f"it is hit {place}."
    return "outranked", f"a search returns the first {k} distinct texts."
