"""Clean results: copies of one text are one hit, and variety where it is asked for. Pure.

Nearly the same is not the same: two notes that differ in a number, a date, a "not" or a name both stay. One hit are
only texts equal but for case, spacing and the marks between words, and copies that say by their file name that they
are copies.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from atlas.memory import Hit

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Share of the words that a copy by its name has in common with the original, at least.
_NEAR = 0.75
#: Names only a sync program gives.
_CONFLICT = re.compile(
    r"[ _-]*\([^()]*conflicted copy[^()]*\)$|\.sync-conflict-\d{8}-\d{6}(-\w+)?$|[ _-]+conflict(ed)? copy\b.*$",
    re.IGNORECASE,
)
#: Names that may be a copy's, or the second of a series: only the id written in both tells.
_NUMBERED = re.compile(r" \(\d+\)$| \d+$|(?: -)? copy(?: \d+)?$", re.IGNORECASE)
#: What carries meaning inside or before a word (`-5`, `C++`, `a.b`, `5%`) is no mark between words.
_OPENING, _CLOSING = "\"'“”‘’«»„*_([", "\"'“”‘’«»*_)].,;:!…。、，；：！"
_BULLET = re.compile(r"^[ \t]*(?:[-*+]|>)[ \t]+", re.MULTILINE)
_NO_LETTERS = re.compile(r"[\W_]+")
_CODE = re.compile(r"`[^`]*`")
#: Texts and paths whose reading is remembered: a view looks at a hundred, and mostly at the same as the last one did.
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hit and what tells it from its like.

    `note` numbers its content, `vec` is the row of its passage's vector, `written` the id in the file, "" without one;
    `titled` says whether it has a title of its own, `valid` from when to when it holds; `ordinal` is its place among
    the live notes.
    """

    hit: Hit
    note: int
    vec: int
    written: str = ""
    titled: bool = True
    valid: tuple[int | None, int | None] = (None, None)
    ordinal: int = -1


def fold(text: str) -> str:
    r"""The text without what is no difference: case, spacing, bullets, emphasis, and marks between words.

    Code, options and single letters keep their case: `git branch -d` is not `git branch -D`. A question mark stays.

    >>> fold("- **Restart** node A.\n"), fold("Restart  node A!"), fold("restart node B at -5 %, use `ls -L`")
    ('restart node A', 'restart node A', 'restart node B at -5 % use `ls -L`')
    """
    plain = _BULLET.sub("", unicodedata.normalize("NFC", text))
    parts, end = [], 0
    for code in _CODE.finditer(plain):
        parts += [*_words(plain[end : code.start()]), code.group()]
        end = code.end()
    return " ".join([*parts, *_words(plain[end:])])


@lru_cache(maxsize=_REMEMBERED)
def _letters(text: str) -> str:
    """Letters and digits alone: texts that fold alike have the same, and this takes a tenth of the time."""
    return _NO_LETTERS.sub("", unicodedata.normalize("NFC", text)).casefold()


def _words(text: str) -> list[str]:
    # A word that is nothing but a mark may be an operator: `a * b` is not `a b`.
    stripped = (word.lstrip(_OPENING).rstrip(_CLOSING) or word for word in text.split())
    return [w if len(w) == 1 or w.startswith("-") else w.casefold().replace("’", "'") for w in stripped]


@lru_cache(maxsize=_REMEMBERED)
def original(path: str) -> tuple[str, bool]:
    """The path that a copy's name says it was copied from, and whether only a sync program names files so.

    "" for a name that is no copy's.

    >>> original("a/n (conflicted copy 2026-07-10 070952).md"), original("n 2.md"), original("n.md")
    (('a/n.md', True), ('n.md', False), ('', False))
    """
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    for pattern, sure in ((_CONFLICT, True), (_NUMBERED, False)):
        bare = pattern.sub("", stem)
        if bare and bare != stem:
            return f"{folder}{slash}{bare}{dot}{ending}", sure
    return "", False


def suspects(found: Sequence[Candidate]) -> set[int]:
    """The notes whose whole text has to be read to tell copies; most searches have none."""
    letters = [_letters(c.hit.text) for c in found]
    passages = Counter(letters)
    notes = Counter(c.note for c in found)
    families = Counter(original(c.hit.path)[0] or c.hit.path for c in found)
    return {
        c.note
        for c, same in zip(found, letters, strict=True)
        if notes[c.note] > 1 or passages[same] > 1 or families[original(c.hit.path)[0] or c.hit.path] > 1
    }


def grouped(found: Sequence[Candidate], texts: Mapping[int, str]) -> list[Candidate]:
    """One candidate for each text, best first; `texts` has that of every suspect.

    A group stands where its best member stood, with its score; shown is the original where names tell, else the best.
    The paths of the others are its `copies`.
    """
    leader = list(range(len(found)))
    _join_equal(found, texts, leader)
    _join_named(found, texts, leader)
    groups: dict[int, list[int]] = {}
    for place in range(len(found)):
        groups.setdefault(_root(leader, place), []).append(place)
    return [_one([found[place] for place in places]) for places in sorted(groups.values())]


def _join_equal(found: Sequence[Candidate], texts: Mapping[int, str], leader: list[int]) -> None:
    first: dict[tuple[object, ...], int] = {}
    for place, one in enumerate(found):
        if one.note in texts:
            key = (fold(texts[one.note]), one.valid, _named_number(one))
            leader[place] = first.setdefault(key, place)


def _named_number(one: Candidate) -> tuple[str, ...]:
    """The numbers in the name of a note without a title: what was done on `2026-01-01` and on the day after are two."""
    stem = (original(one.hit.path)[0] or one.hit.path).rpartition("/")[2]
    return () if one.titled else tuple(re.findall(r"\d+", stem))


def _join_named(found: Sequence[Candidate], texts: Mapping[int, str], leader: list[int]) -> None:
    """Join copies by name to their original, or to the first other copy of it where the original is not among them."""
    by_path = {one.hit.path: place for place, one in enumerate(found)}
    others: dict[str, int] = {}
    for place, one in enumerate(found):
        source, sure = original(one.hit.path)
        other = by_path.get(source, others.setdefault(source, place) if sure else place)
        if source and other != place and _is_copy(one, found[other], texts, sure=sure):
            leader[_root(leader, place)] = _root(leader, other)


def _is_copy(one: Candidate, other: Candidate, texts: Mapping[int, str], *, sure: bool) -> bool:
    if not sure and not (one.written and one.written == other.written):
        return False
    return one.note in texts and other.note in texts and likeness(texts[one.note], texts[other.note]) >= _NEAR


def likeness(one: str, other: str) -> float:
    """The share of their words that two texts have in common, from 0 to 1: 2 |A ∩ B| / (|A| + |B|), by Dice (1945)."""
    a, b = Counter(fold(one).split()), Counter(fold(other).split())
    return 2 * (a & b).total() / max(a.total() + b.total(), 1)


def _root(leader: Sequence[int], place: int) -> int:
    while leader[place] != place:
        place = leader[place]
    return place


def _one(members: Sequence[Candidate]) -> Candidate:
    """A group as one candidate; `members` stand best first."""
    paths = {m.hit.path for m in members}
    shown = min(members, key=lambda m: original(m.hit.path)[1] or original(m.hit.path)[0] in paths)
    copies = tuple(m.hit.path for m in members if m is not shown)
    return replace(shown, hit=replace(shown.hit, score=members[0].hit.score, copies=copies)) if copies else shown


def diverse(relevance: Sequence[float], vectors: NDArray[np.float32], diversity: float, k: int) -> list[int]:
    """Places of the `k` candidates that are relevant and unlike each other, in the order they are chosen.

    Maximal marginal relevance, Carbonell and Goldstein, "The use of MMR, diversity-based reranking for reordering
    documents and producing summaries" (1998): of the candidates R, with S chosen already, the next is

        argmax over d in R - S of  (1 - diversity) * relevance(d) - diversity * max over s in S of cosine(d, s)

    `relevance` is scaled to 0 to 1 over the candidates. `vectors` (n, dim) are of length 1, or 0 for a passage without
    one, which is like no other. Equals are taken in the order given, so that 0 changes nothing.
    """
    given = np.asarray(relevance, dtype=np.float64)
    span = float(given.max() - given.min()) if len(given) else 0.0
    worth = (1 - diversity) * ((given - given.min()) / span if span > 0 else np.zeros_like(given))
    nearest = np.zeros(len(given))
    left, chosen = list(range(len(given))), list[int]()
    while left and len(chosen) < k:
        best = max(left, key=lambda place: (worth[place] - diversity * nearest[place], -place))
        left.remove(best)
        cosines = vectors @ vectors[best]
        nearest = np.maximum(nearest, cosines) if chosen else cosines.astype(np.float64)
        chosen.append(best)
    return chosen


def places(ranked: Iterable[Hit], path: str) -> tuple[int, bool]:
    """Where a file stands among hits, from 1 (0: nowhere), and whether it stands there as a copy of another."""
    for place, hit in enumerate(ranked, 1):
        if path == hit.path or path in hit.copies:
            return place, path != hit.path
    return 0, False
