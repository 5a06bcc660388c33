"""Searching: what the words and vectors of the passages score, who else speaks, and the hits with their reasons."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from atlas import abstain, live, rank, results, words
from atlas.bm25 import Postings
from atlas.keys import term_hash
from atlas.live import Filters, Live
from atlas.memory import Hit, Lod
from atlas.results import Candidate
from atlas.rows import Rows, SqlRows
from atlas.voices import Voices

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

_CACHED_FIELDS = 8
#: So many more notes are ranked than are wanted, since some may be copies; and so many times more to choose a variety.
_SPARE, _POOL = 5, 5


@dataclass(frozen=True, slots=True)
class Look:
    """One search under way: what is known of the query, and what each ranker said.

    `terms` has what each term of the query is worth, in the order in which `postings` number them; `cosine` is None
    where words alone rank, `evidence` where the model's cosines were not calibrated. `voices` are those heard so far,
    `ambiguous` the paths of notes that share a name the query uses.
    """

    text: str
    filters: Filters
    live: Live
    terms: Mapping[str, float]
    postings: Postings
    cosine: NDArray[np.float32] | None
    scores: rank.Scores
    weights: rank.Weights
    evidence: abstain.Evidence | None = None
    voices: tuple[rank.Voice, ...] = ()
    ambiguous: tuple[str, ...] = ()

    @property
    def enough(self) -> bool:
        """Whether the best may be taken for an answer; what was asked for by its name always may."""
        return self.evidence is None or self.evidence.enough or any(voice.name == "names" for voice in self.voices)

    def best(self, k: int, *, parts: bool = True) -> rank.Ranking:
        """The `k` best notes; `parts` says what each ranker has to say of them."""
        return rank.best(self.scores, self.voices, weights=self.weights, k=k, parts=parts)


class Reader:
    """Reads one state of the index through a connection: the database file itself, or a copy in memory."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        matrix: NDArray[np.float32] | None,
        generation: str,
        head: str,
        mix: Mapping[str, Any],
        rows: Rows | None = None,
    ) -> None:
        self.con, self.matrix, self.generation, self.head = con, matrix, generation, head
        self.rows = SqlRows(con) if rows is None else rows
        self._weights = replace(rank.DEFAULT, **mix)
        self._calibrated = not mix
        self._fields: OrderedDict[Filters, Live] = OrderedDict()
        self._voices = Voices(con, self.rows)

    def live(self, filters: Filters) -> Live:
        """The passages these filters let through; kept for the next query with the same ones."""
        found = self._fields.get(filters)
        if found is None:
            found = self._fields[filters] = live.load(self.con, filters)
            while len(self._fields) > _CACHED_FIELDS:
                self._fields.popitem(last=False)
        self._fields.move_to_end(filters)
        return found

    def look(
        self,
        text: str,
        query: NDArray[np.float32] | None,
        filters: Filters,
        rankers: Sequence[Ranker] = (),
        *,
        clock: float | None = None,
    ) -> Look | None:
        """What is said of all that the filters let through; None where that is nothing.

        `query` is the query's vector, or None to rank by words alone. What no longer holds at `clock` (microseconds
        since 1970, by default now) is lowered. `rankers` speak beside the others, each knowing what was said before.
        """
        field = self.live(filters)
        if not len(field.chunk):
            return None
        terms = words.query_weights(text)
        cosine = self.cosine(field, query)
        weights = rank.DEFAULT if cosine is None else self._weights
        postings = self._postings(field, list(terms))
        scores = rank.score(field.field, postings, len(terms), cosine, worth=list(terms.values()), weights=weights)
        evidence = None if cosine is None or not self._calibrated else abstain.weigh(terms, postings, cosine)
        voices, ambiguous = self._voices.hear(text, filters, field.paths, scores, clock)
        look = Look(text, filters, field, terms, postings, cosine, scores, weights, evidence, tuple(voices), ambiguous)
        for ranker in rankers:
            look = replace(look, voices=(*look.voices, *ranker(self, look)))
        return look

    def hits(self, look: Look, k: int, diversity: float = 0.0) -> list[Hit]:
        """The best `k` notes, copies grouped. `diversity` from 0 to 1 trades score for variety: see results.diverse."""
        return [one.hit for one in self.distinct(look, k, diversity)]

    def distinct(self, look: Look, k: int, diversity: float = 0.0, *, parts: bool = True) -> list[Candidate]:
        """The same with what the hits do not say; without `parts`, the hits do not say why."""
        wanted = k * _POOL if diversity else k
        asked = wanted + _SPARE
        while True:
            found = self.candidates(look, asked, parts=parts)
            suspects = results.suspects(found)
            groups = results.grouped(found, self.rows.texts(suspects))
            if len(groups) >= wanted or len(found) < asked:
                break
            asked *= 2
        if diversity and self.matrix is not None:
            scores = [g.hit.score for g in groups[:wanted]]
            places = results.diverse(scores, self._vectors([g.vec for g in groups[:wanted]]), diversity, k)
            return [groups[place] for place in places]
        return groups[:k]

    def candidates(self, look: Look, k: int, *, parts: bool = True) -> list[Candidate]:
        """The best `k` notes as they are, copies and all."""
        field, ranking = look.live, look.best(k, parts=parts)
        keys = [int(field.paths[n]) for n in ranking.note]
        shown = [field.shown(int(c)) for c in ranking.chunk]
        best = [int(field.chunk[place]) for place in shown]
        notes, passages = self.rows.listed(keys, look.filters.moment), self.rows.passages(best)
        found = []
        for place, (ordinal, path_key, chunk) in enumerate(zip(ranking.note, keys, best, strict=True)):
            note, passage = notes[path_key], passages[chunk]
            hit = Hit(
                id=note.id, path=note.path, label=note.label or PurePosixPath(note.path).stem,
                score=float(ranking.score[place]), text=passage.text, lod=Lod.L2, trust=note.trust, kind=note.kind,
                summary=passage.text if note.stale else note.summary, created=iso(note.created),
                heading=passage.heading, line=passage.line,
                why=_why(ranking.why(place)),
            )  # fmt: skip
            vec, valid = int(field.vec[shown[place]]), (note.valid_from, note.valid_to)
            found.append(
                Candidate(hit, note.note, vec, note.written, titled=bool(note.label), valid=valid, ordinal=int(ordinal))
            )
        return found

    def linked(self, look: Look, ordinal: int) -> list[int]:
        """The ordinals of the live notes that one links to or is linked from."""
        return self._voices.linked(look.filters, look.live.paths, ordinal)

    def path_of(self, ident: str, filters: Filters) -> str:
        """Where the memory of this id lies in the listing these filters choose from, "" if it does not."""
        moment = f" AND moment = '{filters.moment}'" if filters.moment else ""
        found = self.con.execute(f"SELECT path FROM {filters.table} WHERE ident = ?{moment}", [ident]).fetchall()
        return str(found[0][0]) if found else ""

    def _postings(self, field: Live, terms: Sequence[str]) -> Postings:
        """Where the query's terms stand, by position in the field."""
        found = [field.places(rows) for rows in self.rows.postings([term_hash(term) for term in terms])]
        if not found:
            return Postings(*(np.zeros(0, dtype=np.int32) for _ in range(3)))
        chunk, tf = (np.concatenate(column) for column in zip(*found, strict=True))
        term = np.repeat(np.arange(len(found), dtype=np.int32), [len(chunk) for chunk, _ in found])
        return Postings(term, chunk, tf.astype(np.int32))

    def cosine(self, field: Live, query: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
        """Cosine of the query with every live passage; None when either side has no vector."""
        if query is None or self.matrix is None or not query.any():
            return None
        known = field.vec < len(self.matrix)
        waiting = len(known) - np.count_nonzero(known)
        if 2 * waiting > len(known):  # a few against a mean of so many would all stand out
            return None
        rows = np.where(known, field.vec, 0) if waiting else field.vec
        every = len(rows) * 4 > len(self.matrix)
        scores: NDArray[np.float32] = (self.matrix @ query)[rows] if every else self.matrix[rows] @ query
        if waiting:  # a passage that still waits for its vector is neither near nor far
            scores[~known] = scores[known].mean()
        return scores

    def _vectors(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """Vectors of passages by the number of their text, 0 for those that wait for one."""
        assert self.matrix is not None
        known = np.array([row < len(self.matrix) for row in rows])
        found: NDArray[np.float32] = self.matrix[np.where(known, rows, 0)] * known[:, None]
        return found


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was put: to whom, what they said (None where nothing may be seen), its vector, and as of when."""

    reader: Reader
    look: Look | None
    vector: NDArray[np.float32] | None
    moment: str = ""


#: One more ranker: what it says of the notes of a search.
Ranker = Callable[[Reader, Look], Sequence[rank.Voice]]


def _why(parts: Mapping[str, tuple[int, float]]) -> dict[str, Any]:
    return {name: {"rank": place, "score": round(score, 4)} for name, (place, score) in parts.items()}


def iso(micros: int | None) -> str:
    """Microseconds since 1970 as ISO 8601 in UTC; "" for None."""
    return f"{np.datetime64(micros, 'us').astype('datetime64[s]')}Z" if micros is not None else ""
