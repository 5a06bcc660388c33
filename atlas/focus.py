"""What the agent is at, and when it turns to something else. Pure: a frozen value in, a frozen value out.

Every turn gives evidence that a new topic began, and its log-odds are a weighted sum of it:

    drift     how far the last turns lie from the topic: 1 - cos(fast mean, slow mean) of their query vectors,
              above what is usual here; `leap` is the same of the turn alone
    earlier   how much nearer the last turns are to a topic of before than to this one
    strange   it names something, and nothing that this topic named before
    phrases   `turning` ("by the way", "back to"), `opening` and `again` (greetings, "long time no see"), and
              `closed`, a farewell in the turn before
    away      the hours since the turn before

A shift needs odds above `HIGH`, and the next one first needs a mean of them below `LOW`: without that second
threshold a greeting and the greeting in answer are two shifts. The last topics are remembered, each with what was hot
in it, so that a return names what to promote together. Phrases are English; drift and time speak in any language.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from atlas.cues import AGAIN, CLOSING, LONGEST, OPENING, TURNING, names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

#: Share of a new turn in the slow mean (the topic), in the fast one (the last turns), in what is usual, in the odds.
SLOW, FAST, USUAL, LATELY = 0.15, 0.6, 0.05, 0.5
#: Odds from which a topic is new, and below which their mean has to fall before the next one may be.
HIGH, LOW = -1.0, -2.5
#: Cosine of the last turns with an earlier topic from which they return to it.
SAME = 0.55
#: Topics remembered; ids and names of each.
TOPICS, IDS, NAMES = 8, 64, 48
#: Nearness says less against a shift than distance says for it: a greeting is near to all that was said.
NEAR = -0.05
#: A turn so long after the one before is one of another sitting.
HOURS: Final = 6.0
_VERSION = 1
#: No number in a state is larger.
_FAR = 100.0

#: The evidence by name, and what each adds to the log-odds; the first is there always. Chosen on dialogues in which
#: sessions begin, and on others spliced at random; `turning` is no boundary there, so it is set, not fitted.
WEIGHTS: Final[Mapping[str, float]] = {
    "bias": -3.9, "drift": 5.0, "leap": 6.0, "earlier": 15.0, "strange": 0.25, "turning": 2.0, "opening": 3.5,
    "again": 1.5, "closed": 1.0, "away": 9.0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that was left: its mean vector (float32 as bytes), and what was hot in it, the latest last."""

    centroid: bytes
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shift:
    """The topic changed. `demote` was hot in the one that is left; `promote` in the earlier one this returns to.

    `why` names the evidence that spoke for it, the strongest first; `odds` are its log-odds.
    """

    odds: float
    why: tuple[str, ...]
    demote: tuple[str, ...] = ()
    promote: tuple[str, ...] = ()
    back: bool = False


@dataclass(frozen=True, slots=True)
class Focus:
    """Where the agent is; `Focus()` is nowhere yet.

    `slow`, `fast`: means of query vectors, float32 as bytes. `usual`: drift and leap as they are within a topic.
    `odds`: their mean of late. `settled`: whether the next shift may be. `opened`, `closed`: the last turn greeted,
    took its leave.
    `names`, `ids`: what the topic named and what was hot in it, the latest last. `topics`: earlier ones, latest last.
    """

    slow: bytes = b""
    fast: bytes = b""
    usual: tuple[float, float] = (0.3, 0.5)
    odds: float = 0.0
    settled: bool = True
    opened: bool = False
    closed: bool = False
    names: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    topics: tuple[Topic, ...] = ()

    def state(self) -> dict[str, Any]:
        """As JSON: vectors as base64 of float32, names and ids, no text."""
        return {
            "version": _VERSION,
            **{name: getattr(self, name) for name in ("odds", "settled", "opened", "closed")},
            **{name: list(getattr(self, name)) for name in ("usual", "names", "ids")},
            "slow": _text(self.slow),
            "fast": _text(self.fast),
            "topics": [[_text(topic.centroid), list(topic.ids)] for topic in self.topics],
        }

    @classmethod
    def restored(cls, state: object) -> Focus:
        """From a state; from a damaged one or another version's, the focus of nothing yet."""
        try:
            return _restored(state)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            return cls()


def turned(
    focus: Focus, vector: Vector, text: str, *, away: float = 0.0, weights: Mapping[str, float] = WEIGHTS
) -> tuple[Focus, Shift | None]:
    """Take a turn in: its query vector, its words, the seconds since the turn before (0 where that is not known)."""
    vector = _unit(np.asarray(vector, np.float32))
    if len(text) > LONGEST:  # a turn says at its ends what it is about
        text = text[: LONGEST // 2] + text[-LONGEST // 2 :]
    if len(focus.slow) != vector.nbytes:  # the first turn, or another model's vectors
        begun = Focus(vector.tobytes(), vector.tobytes(), names=_distinct(names(text)), ids=focus.ids)
        return replace(begun, opened=bool(OPENING.match(text)), closed=bool(CLOSING.search(text))), None
    said = evidence(focus, vector, text, away=away)
    parts = {name: weights[name] * max(value, NEAR) for name, value in said.items()}
    odds = sum(parts.values())
    shifts = focus.settled and odds > HIGH
    after = _followed(focus, vector, text, said, odds)
    if not shifts:
        return after, None
    why = sorted((name for name in parts if name != "bias" and parts[name] > 0), key=lambda n: (-parts[n], n))
    return _left(focus, after, vector, text, Shift(odds, tuple(why), demote=focus.ids))


def shown(focus: Focus, ids: Iterable[str]) -> Focus:
    """Note what a view showed: it is what this topic had hot."""
    latest = tuple(dict.fromkeys(ids))
    new = set(latest)
    return replace(focus, ids=(*(id for id in focus.ids if id not in new), *latest)[-IDS:])


def settled(focus: Focus) -> Focus:
    """The same focus, ready for the next shift whatever the odds of late were."""
    return replace(focus, settled=True)


def evidence(focus: Focus, vector: Vector, text: str, *, away: float = 0.0) -> dict[str, float]:
    """What speaks for a new topic, by the names of `WEIGHTS`."""
    slow, fast = _vector(focus.slow), _vector(focus.fast)
    told = float(vector.any())  # no direction, no drift
    late = _moved(fast, vector, FAST)
    named = set(names(text))
    return {
        "bias": 1.0,
        "drift": told * (_distance(late, slow) - focus.usual[0]),
        "leap": told * (_distance(vector, slow) - focus.usual[1]),
        "earlier": told * max(0.0, _nearest(focus.topics, late) - float(_unit(late) @ _unit(slow))),
        "strange": float(bool(named) and named.isdisjoint(focus.names)),
        "turning": float(bool(TURNING.search(text))),
        # A greeting in answer to a greeting opens nothing.
        "opening": float(not focus.opened and bool(OPENING.match(text))),
        "again": float(not focus.opened and bool(AGAIN.search(text))),
        "closed": float(focus.closed),
        "away": min(away / 3600 / HOURS, 1.0) if away > 0 else 0.0,
    }


def _followed(focus: Focus, vector: Vector, text: str, said: Mapping[str, float], odds: float) -> Focus:
    """The focus after a turn of the same topic."""
    slow, fast = _vector(focus.slow), _vector(focus.fast)
    usual = (focus.usual[0] + USUAL * said["drift"], focus.usual[1] + USUAL * said["leap"])
    lately = focus.odds + LATELY * (odds - focus.odds)
    return replace(
        focus,
        slow=_moved(slow, vector, SLOW).tobytes(),
        fast=_moved(fast, vector, FAST).tobytes(),
        usual=usual,
        odds=lately,
        settled=focus.settled or lately < LOW,
        opened=bool(OPENING.match(text)),
        closed=bool(CLOSING.search(text)),
        names=_distinct((*focus.names, *names(text))),
    )


def _left(focus: Focus, after: Focus, vector: Vector, text: str, shift: Shift) -> tuple[Focus, Shift]:
    """The focus after a shift: the old topic among the earlier ones, the new one begun or taken up again."""
    back = _earlier(focus.topics, _vector(after.fast))
    left = Topic(focus.slow, focus.ids)
    others = tuple(topic for topic in focus.topics if topic is not back)
    begun = replace(
        after,
        slow=back.centroid if back else vector.tobytes(),
        fast=vector.tobytes(),
        odds=shift.odds,
        settled=False,
        names=_distinct(names(text)),
        ids=back.ids if back else (),
        topics=(*others, left)[-TOPICS:],
    )
    return begun, replace(shift, promote=back.ids, back=True) if back else shift


def _earlier(topics: Sequence[Topic], vector: Vector) -> Topic | None:
    """The earlier topic that the last turns return to: the nearest one, if it is near."""
    near = [float(_unit(vector) @ _unit(_vector(topic.centroid))) for topic in topics]
    best = max(range(len(near)), key=near.__getitem__, default=-1)
    return topics[best] if best >= 0 and near[best] >= SAME else None


def _nearest(topics: Sequence[Topic], vector: Vector) -> float:
    """The cosine with the nearest earlier topic; -1 where there is none."""
    unit = _unit(vector)
    return max((float(unit @ _unit(_vector(topic.centroid))) for topic in topics), default=-1.0)


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))[-NAMES:]


def _moved(mean: Vector, vector: Vector, share: float) -> Vector:
    """A mean after one more turn; what is no direction leaves it as it was."""
    return mean + np.float32(share) * (vector - mean) if vector.any() else mean


def _unit(vector: Vector) -> Vector:
    """At length 1; what is no direction is the zero vector. In float64, where no square is out of bounds."""
    wide = vector.astype(np.float64)
    length = math.sqrt(wide @ wide)
    return (wide / length).astype(np.float32) if 0 < length < math.inf else np.zeros_like(vector)


def _distance(one: Vector, two: Vector) -> float:
    return 1 - float(_unit(one) @ _unit(two))


def _vector(held: bytes) -> Vector:
    return np.frombuffer(held, np.float32)


def _restored(state: Any) -> Focus:
    if state["version"] != _VERSION:
        raise ValueError
    slow, fast = _bytes(state["slow"]), _bytes(state["fast"])
    drift, leap, odds = (_bounded(number) for number in (*state["usual"], state["odds"]))
    if len(slow) != len(fast):
        raise ValueError
    topics = (Topic(_bytes(held), _ids(ids, IDS)) for held, ids in state["topics"])
    return Focus(
        slow=slow,
        fast=fast,
        usual=(drift, leap),
        odds=odds,
        settled=bool(state["settled"]),
        opened=bool(state["opened"]),
        closed=bool(state["closed"]),
        names=_ids(state["names"], NAMES),
        ids=_ids(state["ids"], IDS),
        topics=tuple(topic for topic in topics if len(topic.centroid) == len(slow))[-TOPICS:],
    )


def _ids(values: Sequence[Any], most: int) -> tuple[str, ...]:
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise TypeError
    return tuple(values)[-most:]


def _bounded(number: Any) -> float:
    if not abs(number) <= _FAR:
        raise ValueError
    return float(number)


def _bytes(text: str) -> bytes:
    """A vector as it is held; ValueError if it is none."""
    held = base64.b64decode(text, validate=True)
    if not (np.abs(_vector(held)) <= 1 + 1e-3).all():
        raise ValueError
    return held


def _text(held: bytes) -> str:
    return base64.b64encode(held).decode()
