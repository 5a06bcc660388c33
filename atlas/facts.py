"""What a text says that must not get lost: numbers, dates, names, denials. Pure; rules and word lists only.

    "Ana moved to floor 5 on 3 May. Do not restart node A."
    number   floor·5·         with the word before it and its unit; with Ana, in one sentence
    date     --05-03          however it is spelled; with Ana, in one sentence
    name     ana
    denial   not              with restart, node, a

`lost` says which of them a summary has not kept. It is strict: a fact has to stand in the summary beside the same
words, within one sentence, so a summary that tells it in words of its own may be said to have lost it. The other error,
a number that moved to another name, would be found by nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

from atlas.assertions import Fact, Kind, Sentence, parted
from atlas.models.languages import OPPOSITES

__all__ = ["Fact", "Kept", "Kind", "differ", "facts", "invented", "lost"]


class Kept:
    """What a summary says so far."""

    def __init__(self, text: str = "") -> None:
        self._parts = list(parted(text))

    def add(self, text: str) -> None:
        """Say this too, as sentences of their own."""
        self._parts += parted(text)

    def missing(self, text: str) -> tuple[Fact, ...]:
        """The facts of a text that it does not say."""
        parts = parted(text)
        found = [fact for part in parts for fact in part.facts if not any(_holds(kept, fact) for kept in self._parts)]
        found += [_affirmed(part) for part in parts if self._turns(part)]
        return tuple(sorted(set(found), key=_order))

    def _turns(self, part: Sentence) -> bool:
        """Whether it denies all that a sentence affirms, and affirms it nowhere."""
        if part.denials or not part.words:
            return False
        denied = any(part.words <= fact.near for kept in self._parts for fact in kept.denials)
        return denied and not any(part.words <= kept.words for kept in self._parts if not kept.denials)


def _affirmed(part: Sentence) -> Fact:
    return Fact(Kind.DENIAL, "affirmed", part.words, part.line.strip())


def facts(text: str) -> frozenset[Fact]:
    """What a text says that must not get lost.

    >>> sorted(f.key for f in facts("Staging listens on port 5433, not on 5434."))
    ['not', 'on·5434·', 'port·5433·']
    """
    return frozenset(fact for part in parted(text) for fact in part.facts)


def lost(sources: Sequence[str], summary: str) -> dict[int, tuple[Fact, ...]]:
    """The facts a summary has not kept, by the number of the source; a source of which it kept all is not named.

    >>> lost(["Ana sits on floor 2.", "Ben left."], "Ben left. Ana sits on floor 3.")[0][0].said
    'floor 2'
    """
    kept = Kept(summary)
    missing = ((number, kept.missing(text)) for number, text in enumerate(sources))
    return {number: found for number, found in missing if found}


def invented(sources: Sequence[str], summary: str) -> tuple[Fact, ...]:
    """The numbers, dates, names and denials of a summary that stand in no source: words that nobody said.

    >>> [f.said for f in invented(["Restart node A."], "Do not restart node A.")]
    ['not restart node A']
    """
    said = [part for text in sources for part in parted(text)]
    found = {fact for part in parted(summary) for fact in part.facts if not any(_backs(one, fact) for one in said)}
    return tuple(sorted(found, key=_order))


def differ(one: str, two: str) -> tuple[Fact, ...]:
    """What two texts that are nearly the same do not both say; empty if that is nothing.

    >>> [f.said for f in differ("Run 41: recall 0.812", "Run 42: recall 0.812")]
    ['Run 41', 'Run 42']
    """
    parts = parted(one), parted(two)
    found = [fact for mine, other in (parts, parts[::-1]) for part in mine for fact in part.facts
             if not any(_backs(o, fact) for o in other)]  # fmt: skip
    words = [frozenset(" ".join(part.line for part in side).split()) for side in parts]
    for pair in OPPOSITES:
        here, there = pair & words[0], pair & words[1]
        if len(here) == len(there) == 1 and here != there:
            found.append(Fact(Kind.WORD, "/".join(sorted(pair)), said=f"{min(here)}, {min(there)}"))
    return tuple(sorted(set(found), key=_order))


def _order(fact: Fact) -> tuple[str, str, list[str]]:
    return fact.kind, fact.key, sorted(fact.near)


def _holds(part: Sentence, fact: Fact) -> bool:
    """Whether a sentence says a fact, beside the same words."""
    if fact.kind in (Kind.NAME, Kind.WORD):
        return part.has([fact.key])
    if fact.kind == Kind.DENIAL:
        return any(f.kind == Kind.DENIAL and f.key == fact.key and fact.near <= f.near for f in part.facts)
    return any(f.kind == fact.kind and f.key == fact.key for f in part.facts) and part.has(fact.near)


def _backs(part: Sentence, fact: Fact) -> bool:
    """Whether a sentence says a fact at all, whatever stands beside it; of denials, one may say more than the other."""
    if fact.kind in (Kind.NAME, Kind.WORD):
        return part.has([fact.key])
    same = [f for f in part.facts if f.kind == fact.kind and f.key == fact.key]
    return any(fact.kind != Kind.DENIAL or fact.near <= f.near or f.near <= fact.near for f in same)
