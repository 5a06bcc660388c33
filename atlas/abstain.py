"""Whether the answer is there at all: how sure a search may be of its first hits, and when it had better say nothing.

A ranking always has a best note. What tells a weak best from an answer are three shares of the question, all of them
from the passages the query may see and from nothing else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from atlas.bm25 import idf

if TYPE_CHECKING:
    from atlas.bm25 import Floats, Postings

#: Logistic regression on dialogues 1 to 5 of LoCoMo: own questions of categories 1 to 4 that are answered among the
#: first ten hits, against the questions of other dialogues and about nothing there. `benchmarks/abstention.py` fits it.
BIAS, HELD, NEARNESS, FOUND = -14.3, 6.0, 21.6, 4.3
#: Below this a search answers "nothing". The same script has the price: recall lost against false answers spared.
ENOUGH = 0.0025
#: A passage that holds this share of the question is worth showing, however far its vector is: a long one on another
#: subject that ends in the sentence asked for lies as far from the question as any.
_TELLING = 0.25
#: The best of few passages is near a foreign question by chance less often than the best of many: by so much for each
#: factor e, up to the size of a dialogue. Measured on random parts of LoCoMo and BEAM of 3 to 400 passages.
_CHANCE, _MANY = 0.03, 500
#: In fewer passages nothing was calibrated: there a search answers "nothing" only if no word of the question stands
#: anywhere, and the nearest vector is farther than `_FAR`. Sentences on other subjects have cosines of -.1 to .12,
#: those that say the same without a common word .15 to .4 (tests/test_abstain.py).
_ENOUGH_PASSAGES, _FAR = 300, 0.13
#: In a scope of a few notes every word is common, and idf says nothing; it is taken as if there were so many.
_FEWEST = 200
#: An identifier: letters with digits, or with a sign that no ordinary word has inside.
_IDENTIFIER = re.compile(r"(?=.*\d)(?=.*[^\W\d]).+|.*[_./:@#+%].*")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for an answer: shares of the question's idf, and the highest cosine of a passage with it.

    `found` is the share that stands anywhere among the `passages` the query may see, `held` the most that one of them
    holds. `literal`: one holds an identifier of the question as it is written, or a word of it in another script.
    `spoken`: the question has a word that is neither, so that its vector means something.
    """

    found: float
    held: float
    cosine: float
    passages: int
    literal: bool = False
    spoken: bool = True

    @property
    def nearness(self) -> float:
        """The cosine, made comparable with that of the best of many passages."""
        return self.cosine + _CHANCE * math.log(max(_MANY / self.passages, 1))

    @property
    def confidence(self) -> float:
        """How likely the answer is among the first hits, were it there in one case of two; from 0 to 1."""
        return 1 / (1 + math.exp(-(BIAS + HELD * self.held + NEARNESS * self.nearness + FOUND * self.found)))

    @property
    def enough(self) -> bool:
        """Whether to answer."""
        if self.passages < _ENOUGH_PASSAGES:
            return self.literal or max(self.found, self.held) > 0 or (self.spoken and self.cosine >= _FAR)
        return self.literal or self.held >= _TELLING or self.confidence >= ENOUGH


def weigh(terms: Mapping[str, float], postings: Postings, cosine: Floats) -> Evidence:
    """The evidence for a query's `terms` (with their worth), given where they stand and `cosine`, one per passage."""
    holding = np.bincount(postings.term, minlength=len(terms))
    pairs = zip(terms.values(), holding.tolist(), strict=True)
    value = np.array([worth * idf(max(len(cosine), _FEWEST), number) for worth, number in pairs])
    whole = max(float(value.sum()), 1e-9)
    held = np.bincount(postings.chunk, value[postings.term]).max() / whole if len(postings.term) else 0.0
    odd = {term: not term.isascii() or bool(_IDENTIFIER.fullmatch(term)) for term in terms if terms[term] == 1}
    held_somewhere = [term for term, number in zip(terms, holding, strict=True) if number]
    return Evidence(
        found=float(value[holding > 0].sum()) / whole,
        held=float(held),
        cosine=float(cosine.max()),
        passages=len(cosine),
        literal=any(odd.get(term) for term in held_somewhere),
        spoken=not all(odd.values()),
    )
