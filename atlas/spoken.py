"""What somebody says of themselves, as a sentence about them: "I moved to Porto" by Ana is "Ana moved to Porto".

A few openings, English only. What cannot be turned without a doubt keeps its words, behind the name of who said them.

>>> of("I live in Porto.", "Ana"), of("My desk is on floor 5.", "Ana"), of("I sold my bike.", "Ana")
('Ana lives in Porto.', "Ana's desk is on floor 5.", 'Ana: I sold my bike.')
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from atlas.timewords import Span, spans

#: Words of the one who speaks, and of the one who is spoken to.
_PERSONS = re.compile(
    r"\b(?:I|i|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|us|[Oo]urs?|[Yy]ou|[Yy]ours?)\b|\b(?:I|[Yy]ou|[Ww]e)['’]"
)
_OPENINGS = (
    (re.compile(r"I(?:['’]m| am)(?= )"), "{who} is"),
    (re.compile(r"I(?:['’]ve| have)(?= )"), "{who} has"),
    (re.compile(r"I (?:don['’]t|do not)(?= )"), "{who} does not"),
    (re.compile(r"I(?:['’]d| would)(?= )"), "{who} would"),
    (re.compile(r"(?:I['’]ll|I will)(?= )"), "{who} will"),
    (re.compile(r"My(?= )"), "{who}'s"),
    (re.compile(r"I(?= (?:was|had|did|could|can|cannot|can't|must|might|should)\b)"), "{who}"),
)
_VERB = re.compile(
    r"I (?P<adverbs>(?:(?:really|always|never|usually|also|just|now|still|recently|strongly|finally) )*)(?P<verb>\w+)"
)
#: Verbs of the present and what they are of a third person; every other verb is left alone unless it is of the past.
_PRESENT = {
    verb: f"{verb}s"
    for text in (
        "live work like love hate prefer use eat drink want need own play speak run write read enjoy avoid dislike",
        "keep start take wear buy order choose put drive favour favor adore sleep sit come sing swim cook collect",
    )
    for verb in text.split()
} | {"study": "studies", "have": "has", "go": "goes", "watch": "watches", "do": "does", "teach": "teaches"}
_IRREGULAR = frozenset(
    verb
    for text in (
        "went got bought met made took won lost left sold wrote read ran saw began became built taught told gave drew",
        "grew found kept held led spent sent chose broke drove flew felt heard paid rode swam sang sat quit",
    )
    for verb in text.split()
)
TIMED = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|past|previous|this|next|ago|monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday)\b",
    re.IGNORECASE,
)
#: Three weeks ago is a date; a few weeks ago is none.
_ROUGH = re.compile(r"\b(?:few|several|couple|about|around|almost|over)\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def of(sentence: str, who: str) -> str:
    """The sentence about the one who says it."""
    for opening, told in _OPENINGS:
        if match := opening.match(sentence):
            return _whole(sentence, told.format(who=who), sentence[match.end() :], who)
    if (match := _VERB.match(sentence)) and (verb := _turned(match["verb"])):
        return _whole(sentence, f"{who} {match['adverbs']}{verb}", sentence[match.end() :], who)
    return sentence if not _PERSONS.search(sentence) else f"{who}: {sentence}"


def dated(sentence: str, moment: datetime | None) -> str:
    """The sentence with the date that "yesterday", "last week" mean in it, if it has one such time.

    >>> dated("Ana went to Porto last week.", datetime(2023, 5, 8))
    'Ana went to Porto last week (2023-05-01 to 2023-05-07).'
    """
    if moment is None or _YEAR.search(sentence) or _ROUGH.search(sentence) or not TIMED.search(sentence):
        return sentence
    named = spans(sentence, moment)
    said = _day(named[0]) if len(named) == 1 else ""
    body = sentence.rstrip(" .!")
    return f"{body} ({said}){sentence[len(body) :]}" if said else sentence


def _whole(sentence: str, opening: str, rest: str, who: str) -> str:
    return f"{who}: {sentence}" if _PERSONS.search(rest) else opening + rest


def _turned(verb: str) -> str:
    """The verb of a third person; "" where that is not known."""
    if verb in _PRESENT:
        return _PRESENT[verb]
    return verb if verb in _IRREGULAR or (verb.endswith("ed") and len(verb) > 3) else ""


def _day(span: Span) -> str:
    """A span of days in ISO dates; a whole month as `2023-05`."""
    if span.start is None or span.end is None:
        return ""
    first, last = span.start.date(), (span.end - timedelta(days=1)).date()
    if first == last:
        return first.isoformat()
    if first.day == 1 and (span.end.day, last.month, last.year) == (1, first.month, first.year):
        return f"{first:%Y-%m}"
    whole = (first.month, first.day, last.month, last.day) == (1, 1, 12, 31) and first.year == last.year
    return str(first.year) if whole else f"{first.isoformat()} to {last.isoformat()}"
