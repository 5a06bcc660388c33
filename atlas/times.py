"""What time says of notes: those of the time a question names are lifted, those that no longer hold are lowered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from atlas.rank import Voice

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb
    from numpy.typing import NDArray

    from atlas.live import Filters
    from atlas.rank import Scores
    from atlas.timewords import Span

    Floats = NDArray[np.float64]
    Places = NDArray[np.intp]

#: A fact is followed through at most so many corrections.
_CHAIN = 8


@dataclass(frozen=True, slots=True)
class Dates:
    """When the live notes were made and hold, by ordinal: microseconds since 1970, NaN where nobody says."""

    created: Floats
    valid_from: Floats
    valid_to: Floats


def load(con: duckdb.DuckDBPyConnection, filters: Filters, paths: NDArray[np.int64]) -> Dates:
    """The dates of the notes with these path keys."""
    where, values = filters.sql()
    found = con.execute(
        f"SELECT l.path_key, n.created, n.valid_from, n.valid_to FROM {filters.table} l JOIN notes n USING (note) "
        f"WHERE {where}",
        values,
    ).fetchnumpy()
    order = np.argsort(found["path_key"])
    rows = order[np.searchsorted(found["path_key"], paths, sorter=order)]
    made, start, end = (np.ma.filled(found[name].astype(np.float64), np.nan)[rows] for name in
                        ("created", "valid_from", "valid_to"))  # fmt: skip
    return Dates(made, start, end)


def voice(named: Iterable[Span], dates: Dates) -> Voice | None:
    """What the times a query names say of notes: 1 for those made, or those that held, within one; None for nothing.

    Notes of the days after were no help: who names a day means the day it was written down.
    """
    lifted = np.zeros(len(dates.created), dtype=bool)
    for span in named:
        start = span.start.timestamp() * 1e6 if span.start else -np.inf
        end = span.end.timestamp() * 1e6 if span.end else np.inf
        lasting = ~(np.isnan(dates.valid_from) & np.isnan(dates.valid_to))
        lifted |= (start <= dates.created) & (dates.created < end)
        lifted |= lasting & ~(dates.valid_from >= end) & ~(dates.valid_to <= start)  # what is NaN is open
    return _said("time", np.flatnonzero(lifted))


def over(dates: Dates, clock: float) -> Places:
    """The notes that no longer hold at `clock`, in microseconds since 1970."""
    return np.flatnonzero(dates.valid_to <= clock)


def outdated(notes: Places) -> Voice | None:
    """Says of these notes that they do not hold any more."""
    return _said("outdated", notes)


def successors(scores: Scores, old: Places, new: Places) -> Voice | None:
    """Lifts what has taken a note's place to that note's score: it answers the same questions, in other words."""
    reached = scores.note.copy()
    for _ in range(min(len(old), _CHAIN)):
        np.maximum.at(reached, new, reached[old])
    gain = np.clip(reached - scores.note, 0, 1)
    places = np.flatnonzero(gain).astype(np.int32)
    return Voice("successor", places, gain[places]) if len(places) else None


def _said(name: str, notes: Places) -> Voice | None:
    return Voice(name, notes.astype(np.int32), np.ones(len(notes), np.float32)) if len(notes) else None
