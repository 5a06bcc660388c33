"""What a short text states of whom: subject, slot, value; and whether it says that something has changed. Pure.

    "Ana's desk is on floor 2"          ana, floor, 2
    "Ana moved to floor 5 yesterday"    ana, floor, 5, a change
    "Staging listens on port 5433"      staging, port, 5433
    "The release date is now 3 May"     the release date, is, 3 may, a change

A few sentence patterns, English only, each from the first word of the sentence to its last. What does not fit one
wholly (a question, a plan, hearsay, a clause more) states nothing: a contradiction missed costs less than one made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from atlas.assertions import folded
from atlas.models.languages import NUMERALS
from atlas.models.lexicon import STOPWORDS
from atlas.models.offline import sentences
from atlas.timewords import spans

#: Texts of more sentences tell a story.
_MOST_SENTENCES = 3
#: Places a person sits at: of these, `Ana` and `Ana's desk` are in the same one.
_SEATS = frozenset({"desk", "office", "seat", "room", "place", "workplace", "workspace"})
_UNITS = frozenset({"floor", "room", "desk", "building", "wing", "level", "bay", "seat"})
#: Nouns before a number that name a thing among many, not the state of one.
_COUNTED = frozenset(
    {
        *(
            "issue",
            "step",
            "page",
            "chapter",
            "day",
            "week",
            "month",
            "year",
            "run",
            "line",
            "question",
            "case",
            "part",
        ),
        *("section", "item", "number", "pr", "ticket", "episode", "task", "version", "sprint", "build", "test"),
    }
)

_CHANGE = re.compile(
    r"\b(?:moved|relocated|returned|back|now|changed|switched|migrated|renamed|replaced|became|instead|since"
    r"|no longer|not anymore|anymore|any more)\b",
    re.IGNORECASE,
)
_HAPPENED = re.compile(
    r"\b(?:moved|relocated|returned|changed|switched|migrated|renamed|replaced|became|joined|left|started|stopped|quit"
    r"|resigned|went back|came back|is back|are back|since)\b",
    re.IGNORECASE,
)
_ENDED = re.compile(r"\bno longer\b|(?:\bnot|n't)\b.*\bany ?more\b", re.IGNORECASE)
#: A day that is what something was moved to, not when.
_GOAL = re.compile(
    r"\b(?:to|until|till|by|for|from) (?:the |next )?(?:\d{4}-|\d{1,2}(?:st|nd|rd|th)?\b|tomorrow|today"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*\b)",
    re.IGNORECASE,
)
_DENYING = re.compile(r" (?:does not|do not|doesn't|don't|no longer|not)(?= )")
_UNSURE = re.compile(
    r"\?|n't\b|\b(?:(?-i:may)|if|unless|would|could|might|should|shall|will|going to|plans?|planned|wants?|wanted"
    r"|wishes|hopes?|maybe|perhaps|probably|possibly|apparently|supposedly|thinks?|thought|says?|said|heard|suggests?"
    r"|suggested|proposes?|proposed|almost|nearly|about to|used to|until|not|never|nobody|no|was|were|had|without)\b",
    re.IGNORECASE,
)

_WHO = r"(?P<who>[A-Z][\w.-]*(?: [A-Z][\w.-]*){0,2}|(?:[Tt]he|[Oo]ur) [\w-]+(?: [\w-]+){0,3}?)"
_OF = r"(?:(?:'s|’s) (?P<thing>[a-z][\w-]*(?: [a-z][\w-]*){0,2}?))?"
_ADVERB = r"(?: (?:now|back|again|currently|still|no longer|all))*"
_STATE = (
    r" (?:is|are|sits?|lives?|works?|stays?|listens?|runs?|answers?|moved|moves|relocated|returned|switched"
    r"|changed|migrated|went back|came back)"
)
_NUMBERED = (
    r"(?:the )?(?:(?P<slot>[a-z][a-z-]+) (?:number )?(?P<value>#?[A-Za-z]?\d[\w.:/-]*)"
    r"|(?P<nth>\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth) (?P<what>[a-z]+))"
)
_LEAD = r"(?:(?:Now|Yesterday|Today|Since then|Recently|As of today),? )?"
_TIME = (
    r"(?:,? (?:yesterday|today|now|again|instead|recently|any ?more"
    r"|(?:since|on|last|this|as of|in|from|earlier) [\w ,-]{1,30}))*"
)
_REASON = r"(?:,? (?:because|as|so that|after|when) .*)?"
_END = rf"{_TIME}{_REASON}[.!]*"
_NAME = r"(?P<name>[A-Z][\w-]*(?: [A-Z][\w-]*){0,2})"

_NUMBERS = re.compile(rf"{_LEAD}{_WHO}{_OF}{_ADVERB}{_STATE}{_ADVERB}(?: from .+?)? (?:on|in|at|to) {_NUMBERED}{_END}")
_PLACES = re.compile(
    rf"{_LEAD}{_WHO}{_ADVERB} (?:(?:lives?|is based|is living|resides) in"
    rf"|(?:moved|relocated)(?: back)?(?: from .+?)? to) {_NAME}{_END}"
)
_EMPLOYERS = re.compile(rf"{_LEAD}{_WHO}{_ADVERB} works?{_ADVERB} (?:at|for) {_NAME}{_END}")
_VALUES = re.compile(
    rf"{_LEAD}{_WHO}{_OF} (?:is|are|=|changed to|moved to|switched to){_ADVERB} "
    rf"(?P<is>(?:[$€£]?\d|[A-Z])[\w.:/%$€£-]*(?: [\w.:/%-]+){{0,3}}?)(?:,? (?:now|again|instead|any ?more))?[.!]*"
)
_NTH = {"first": "1", "second": "2"}


@dataclass(frozen=True, slots=True)
class Statement:
    """What is stated: of `subject` (and the `thing` of it), in `slot`, `value`. `ended`: that it holds no longer."""

    subject: str
    thing: str
    slot: str
    value: str
    change: bool = False
    ended: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """What two statements share that cannot both hold with different values."""
        return self.subject, self.thing, self.slot


def statements(text: str) -> tuple[Statement, ...]:
    """What a short text states; nothing of a long one.

    >>> [(s.subject, s.slot, s.value, s.change) for s in statements("Ana is back on floor 2.")]
    [('ana', 'floor', '2', True)]
    """
    said = sentences(text)
    return tuple(_stated(said)) if len(said) <= _MOST_SENTENCES else ()


def happened(text: str, moment: datetime) -> str | None:
    """The ISO day from which on a change holds, where the text names one day up to the moment it was told; else None.

    >>> happened("Ana moved to floor 5 yesterday", datetime(2026, 1, 9, 12))
    '2026-01-08'
    """
    said = sentences(text)
    if len(said) != 1 or not _HAPPENED.search(text) or _GOAL.search(text) or _UNSURE.search(_ENDED.sub(" ", text)):
        return None
    named = spans(text, moment)
    start, end = (named[0].start, named[0].end) if len(named) == 1 else (None, None)
    if start is None or start > moment or (end is not None and end - start > timedelta(days=1)):
        return None
    return start.date().isoformat()


def _stated(said: list[str]) -> Iterator[Statement]:
    for sentence in said:
        ended = bool(_ENDED.search(sentence))
        if _UNSURE.search(_ENDED.sub(" ", sentence)):
            continue
        plain = _DENYING.sub("", sentence).replace("isn't", "is").replace("aren't", "are") if ended else sentence
        found = _read(plain)
        if found:
            subject, thing, slot, value = found
            yield Statement(subject, thing, slot, value, bool(_CHANGE.search(sentence)), ended)


def _read(sentence: str) -> tuple[str, str, str, str] | None:
    """(subject, thing, slot, value) by the first pattern that fits the whole sentence."""
    for pattern in (_NUMBERS, _PLACES, _EMPLOYERS, _VALUES):
        match = pattern.fullmatch(sentence)
        if not match:
            continue
        words = match.groupdict()
        who = " ".join(map(folded, words["who"].split()))
        if who.split()[0] in STOPWORDS - {"the", "our"} or who.split()[-1] in STOPWORDS:
            return None
        return _slot(who, folded(words.get("thing") or ""), pattern, words)
    return None


def _slot(who: str, thing: str, pattern: re.Pattern[str], words: dict[str, str]) -> tuple[str, str, str, str] | None:
    if pattern is _NUMBERS:
        slot = folded(words["slot"] or words["what"])
        value = folded(words["value"] or _number(words["nth"])).rstrip(".:/-")
        if slot in _COUNTED or slot in STOPWORDS:
            return None
        return who, "" if thing in _SEATS and slot in _UNITS else thing, slot, value
    if pattern is _VALUES:  # a person is many things at once, and a desk has one number
        if not thing and who.split(maxsplit=1)[0] not in {"the", "our"}:
            return None
        return who, thing, "is", folded(words["is"]).rstrip(".:")
    return who, "", "place" if pattern is _PLACES else "employer", folded(words["name"])


def _number(nth: str) -> str:
    """An ordinal as the number it counts to."""
    return _NTH.get(nth) or NUMERALS.get(nth) or nth.rstrip("stndrh")
