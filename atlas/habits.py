"""What was needed after what: counts that fade, for contexts of growing length. Pure and bounded.

A context is a name, or several names in order. The probability of what follows is that of the longest context, smoothed
by the next shorter one, and so on down to nothing: p = (n + K p') / (visits + K), as in interpolated Markov models of
text (Witten and Bell 1991), with counts that lose a share at each visit instead of growing for ever.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Context = tuple[str, ...]

#: What a visit leaves of the counts of those before: ten visits count at most, so a habit given up is forgotten.
KEEP = 0.9
#: The weight of the shorter context, in visits.
SMOOTH = 2.0
#: So many contexts are kept, those visited last, and so many followers of each, the most frequent.
CONTEXTS, FOLLOWERS = 2000, 8
#: A count below this says nothing.
_FADED = 0.05


@dataclass(slots=True)
class _Row:
    visits: float = 0.0
    counts: dict[str, float] = field(default_factory=dict)

    def visit(self, followers: Iterable[str]) -> None:
        # Rounded here and not in the state, so that what is restored is what was.
        self.visits = round(self.visits * KEEP + 1, 3)
        faded = {name: round(count * KEEP, 3) for name, count in self.counts.items() if count * KEEP > _FADED}
        for name in followers:
            faded[name] = faded.get(name, 0.0) + 1
        if len(faded) > FOLLOWERS:
            # Among equals the later stays: what follows now says more than what followed once.
            order = sorted(enumerate(faded.items()), key=lambda row: (row[1][1], row[0]), reverse=True)
            faded = dict(row for _, row in sorted(order[:FOLLOWERS]))
        self.counts = faded


class Habits:
    """What follows each context, and how often."""

    def __init__(self) -> None:
        self._rows: dict[Context, _Row] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def learn(self, context: Context, followers: Sequence[str]) -> None:
        """One visit to the context, and what came after it."""
        row = self._rows.pop(context, None) or _Row()
        row.visit(dict.fromkeys(followers))
        self._rows[context] = row  # the last visited stand last
        if len(self._rows) > CONTEXTS:
            del self._rows[next(iter(self._rows))]

    def after(self, contexts: Iterable[Context]) -> dict[str, float]:
        """The probability of each known follower, given contexts of growing length for the same place."""
        found: dict[str, float] = {}
        for context in contexts:
            row = self._rows.get(context)
            if row:
                names = dict.fromkeys(itertools.chain(found, row.counts))
                weight = row.visits + SMOOTH
                found = {n: (row.counts.get(n, 0.0) + SMOOTH * found.get(n, 0.0)) / weight for n in names}
        return found

    def state(self, number: Mapping[str, int]) -> list[Any]:
        """As JSON, each name as its number; see `names`."""
        return [
            [[number[n] for n in context], row.visits, [[number[n], c] for n, c in row.counts.items()]]
            for context, row in self._rows.items()
        ]

    def names(self) -> Iterator[str]:
        """Every name that stands in the state, more than once if it stands there so."""
        for context, row in self._rows.items():
            yield from context
            yield from row.counts

    @classmethod
    def restored(cls, state: Sequence[Any], names: Sequence[str]) -> Habits:
        """From a state. Raises LookupError, TypeError or ValueError if it is damaged."""
        made = cls()
        for context, visits, counts in state[-CONTEXTS:]:
            row = _Row(_count(visits), {names[_place(n)]: _count(c) for n, c in counts[:FOLLOWERS]})
            made._rows[tuple(names[_place(n)] for n in context)] = row
        return made


def _place(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(value)
    return value


def _count(value: Any) -> float:
    """A count from a state: finite, and no more than fading lets one become."""
    number = float(value)
    if not 0 <= number <= 1 / (1 - KEEP) + 1:
        raise ValueError(value)
    return number
