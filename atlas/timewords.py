"""Dates in a question: "last week", "in March 2023", "since June", "two months ago". Pure; English and ISO dates.

Everything is a span of whole days, months or years in the time zone of the clock it is resolved against. A year alone
counts only behind a word such as `in` or `since`: most numbers of four digits are no years. A day or a month without
its year is the last one that has begun.

Plain patterns rather than a library: those that know a hundred languages take 0.2 s to import, which is what a whole
search may take.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` up to and without `end`; None is open."""

    start: datetime | None
    end: datetime | None


_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH = {"sept": 9} | {name[:size]: n for n, name in enumerate(_MONTHS, 1) for size in (3, len(name))}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
#: The first month of each season in the northern half of the world; winter ends in the year after.
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "a couple of": 2, "two": 2, "a few": 3, "few": 3, "several": 3, "three": 3, "four": 4,
    "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_DAY_WORDS = {"day before yesterday": -2, "yesterday": -1, "last night": -1, "tomorrow": 1, "today": 0, "tonight": 0}
#: A text without a digit and without one of these begins of words names no time, and is spared the patterns.
_BEGINS = ("today", "tonight", "tomorrow", "yester", "last", "past", "previous", "this", "next", "ago")
_TELLING = rf"\d|\b(?:{'|'.join([*_MONTH, *_SEASONS, *_WEEKDAYS, *_BEGINS])})"

#: Words before a time that turn it into another span, and those that only tell that a time follows.
_SINCE, _AFTER, _BEFORE, _UNTIL = {"since"}, {"after"}, {"before"}, {"until", "till", "by"}
_RANGES, _JOINTS = {"from", "between"}, {"and", "to", "until", "till", "through"}
_PLAIN = {"in", "at", "on", "of", "during", "around", "throughout"}
_LEADS = sorted(_SINCE | _AFTER | _BEFORE | _UNTIL | _RANGES | _JOINTS | _PLAIN)
_LEAD = rf"(?:\b(?P<lead>{'|'.join(_LEADS)})\s+(?:the\s+)?)?"


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """What names a time, the most telling first; compiled when a query needs them, since most do not."""
    kinds = {"month": _MONTH, "weekday": _WEEKDAYS, "season": _SEASONS, "count": _COUNTS, "word": _DAY_WORDS}
    either = {name: "|".join(sorted(words, key=len, reverse=True)) for name, words in kinds.items()}
    month, year = rf"(?P<month>{either['month']})\b\.?", r"(?P<year>(?:19|20)\d\d)(?![\d-])"
    day, which = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b(?![:-])", r"(?P<which>last|past|previous|this|next)\s+"
    count = rf"(?P<count>\d{{1,3}}|{either['count']})\s+"
    unit = r"(?P<unit>day|week|fortnight|month|year)s?\b"
    forms = {
        "date": (
            r"(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d))?(?![\d-])",
            rf"{day}(?:\s+of)?\s+{month}(?:,?\s+(?:of\s+)?{year})?",
            rf"{month}\s+{day}(?:,?\s+{year})?",
            rf"{month},?\s+(?:of\s+)?{year}",
        ),
        "ago": (rf"{count}{unit}\s+ago\b",),
        "window": (rf"(?:last|past|previous)\s+{count}{unit}",),
        "relative": (rf"{which}(?P<unit>week|month|year|weekend)\b(?!\s+of\b)",),
        "weekday": (rf"(?:{which})?(?P<weekday>{either['weekday']})\b",),
        "season": (rf"(?:{which})?(?P<season>{either['season']})\b(?:,?\s+(?:of\s+)?{year})?",),
        "word": (rf"(?P<word>{either['word']})\b",),
        "month": (rf"(?:{which})?{month}",),
        "year": (year,),
    }
    return tuple((kind, re.compile(rf"{_LEAD}\b{form}")) for kind, every in forms.items() for form in every)


def spans(text: str, now: datetime) -> tuple[Span, ...]:
    """The times a text names, in its order, as of `now`.

    >>> now = datetime(2026, 5, 20)
    >>> [(s.start.isoformat()[:10], s.end.isoformat()[:10]) for s in spans("what broke last week, or in May 2023", now)]
    [('2026-05-11', '2026-05-18'), ('2023-05-01', '2023-06-01')]
    """
    lowered = text.lower()
    if not re.search(_TELLING, lowered):
        return ()
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    found: list[Span] = []
    first: tuple[str, dict[str, str]] | None = None  # the first half of "between … and …"
    for kind, match in sorted(_named(lowered), key=lambda item: item[1].start()):
        words = {name: value for name, value in match.groupdict().items() if value}
        lead, joined = words.get("lead", ""), first
        first = (kind, words) if lead in _RANGES else None
        if joined and found and lead in _JOINTS:
            start = _resolved(joined[0], {"year": words.get("year", "")} | joined[1], today)
            end = _resolved(kind, words, today)
            found[-1] = _from_to(start, end) if start and end else found[-1]
        elif lead not in {"", "and", "to", "through"} or _stands_alone(kind, words):
            span = _resolved(kind, words, today)
            found += [_turned(span, lead)] if span else []
    return tuple(found)


def _named(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """The times in a text, none inside another."""
    taken: list[tuple[int, int]] = []
    for kind, pattern in _patterns():
        for match in pattern.finditer(text):
            start, end = match.span()
            if not any(start < other_end and other < end for other, other_end in taken):
                taken.append((start, end))
                yield kind, match


def _stands_alone(kind: str, words: dict[str, str]) -> bool:
    """Whether these words name a time with nothing before them: "May" alone is as often a verb, "summer" a season."""
    return kind not in {"month", "year", "season"} or bool(words.get("which") or (kind == "season" and "year" in words))


def _from_to(one: Span, two: Span) -> Span:
    """From the first of both to the end of the last, in whichever order they were named."""
    starts, ends = ([d for d in both if d] for both in ((one.start, two.start), (one.end, two.end)))
    return Span(min(starts), max(ends))


def _turned(span: Span, lead: str) -> Span:
    """What the word before a time makes of it."""
    if lead in _SINCE:
        return Span(span.start, None)
    if lead in _AFTER:
        return Span(span.end, None)
    if lead in _BEFORE:
        return Span(None, span.start)
    return Span(None, span.end) if lead in _UNTIL else span


def _resolved(kind: str, words: dict[str, str], today: datetime) -> Span | None:
    """The span of one named time; None if there is no such day, or none in the calendar's years."""
    try:
        return _KINDS[kind](words, today)
    except (ValueError, OverflowError):
        return None


def _date(words: dict[str, str], today: datetime) -> Span:
    """A day or a month, with its year or the last that has begun; "next March" is the one to come."""
    month = _MONTH.get(words["month"]) or int(words["month"])
    day = int(words.get("day") or 1)
    if words.get("year"):
        start = datetime(int(words["year"]), month, day, tzinfo=today.tzinfo)
    else:
        start = _this_year(today, month, day)
        if words.get("which") == "next":
            start = _this_year(today.replace(year=today.year + 1, month=12, day=31), month, day)
            start = start.replace(year=start.year - 1) if start.replace(year=start.year - 1) > today else start
        elif words.get("which") in {"last", "past", "previous"} and (start.year, month) == (today.year, today.month):
            start = start.replace(year=start.year - 1)
    return _days(start, 1) if words.get("day") else _months(start, 1)


def _this_year(today: datetime, month: int, day: int) -> datetime:
    """The last such day up to today; a 29 February goes back to a year that has one."""
    for year in range(today.year, today.year - 9, -1):
        try:
            start = datetime(year, month, day, tzinfo=today.tzinfo)
        except ValueError:
            continue
        if start <= today:
            return start
    raise ValueError(day)


def _year(words: dict[str, str], today: datetime) -> Span:
    return _months(datetime(int(words["year"]), 1, 1, tzinfo=today.tzinfo), 12)


def _ago(words: dict[str, str], today: datetime) -> Span:
    """The day, week, month or year that lies so far back."""
    return _unit(words["unit"], -_count(words), today)


def _window(words: dict[str, str], today: datetime) -> Span:
    """From so far back up to the end of today."""
    count, unit = _count(words), words["unit"]
    back = {"day": 1, "week": 7, "fortnight": 14}.get(unit)
    if back:
        start = today - timedelta(days=back * count)
    else:
        first = _shifted(today, -count * (12 if unit == "year" else 1))
        start = first + timedelta(days=today.day - 1)
    return Span(start, today + timedelta(days=1))


def _relative(words: dict[str, str], today: datetime) -> Span:
    """Last, this or next week, month, year or weekend; the past year is its twelve months up to today."""
    if words["which"] == "past" and words["unit"] != "weekend":
        return _window({"count": "1", **words}, today)
    return _unit(words["unit"], _step(words), today)


def _unit(unit: str, step: int, today: datetime) -> Span:
    monday = today - timedelta(days=today.weekday())
    if unit == "day":
        return _days(today + timedelta(days=step), 1)
    if unit in {"week", "fortnight"}:
        return _days(monday + timedelta(days=7 * step * (2 if unit == "fortnight" else 1)), 7)
    if unit == "weekend":
        return _days(monday + timedelta(days=7 * step + 5), 2)
    return _months(_shifted(today, step), 1) if unit == "month" else _months(_shifted(today, 12 * step, 1), 12)


def _weekday(words: dict[str, str], today: datetime) -> Span:
    """The last such day, today included unless it is called the last; or the next."""
    back = (today.weekday() - _WEEKDAYS.index(words["weekday"])) % 7
    step = _step(words)
    if words.get("which") and step < 0:
        back = back or 7
    return _days(today - timedelta(days=back) + timedelta(days=7 if step > 0 else 0), 1)


def _season(words: dict[str, str], today: datetime) -> Span:
    month = _SEASONS[words["season"]]
    if "year" in words:
        return _months(datetime(int(words["year"]), month, 1, tzinfo=today.tzinfo), 3)
    start = _this_year(today, month, 1)
    if _step(words) > 0:
        start = start.replace(year=start.year + 1)
    elif words.get("which") in {"last", "past", "previous"} and today < _shifted(start, 3):  # it is still going on
        start = start.replace(year=start.year - 1)
    return _months(start, 3)


def _word(words: dict[str, str], today: datetime) -> Span:
    return _days(today + timedelta(days=_DAY_WORDS[words["word"]]), 1)


_KINDS: dict[str, Callable[[dict[str, str], datetime], Span]] = {
    "date": _date, "month": _date, "year": _year, "ago": _ago, "window": _window, "relative": _relative,
    "weekday": _weekday, "season": _season, "word": _word,
}  # fmt: skip


def _count(words: dict[str, str]) -> int:
    return _COUNTS.get(words["count"]) or int(words["count"])


def _step(words: dict[str, str]) -> int:
    which = words.get("which", "last" if "weekday" in words else "this")
    return {"this": 0, "next": 1}.get(which, -1)


def _days(start: datetime, number: int) -> Span:
    return Span(start, start + timedelta(days=number))


def _months(start: datetime, number: int) -> Span:
    return Span(start, _shifted(start, number))


def _shifted(day: datetime, months: int, month: int = 0) -> datetime:
    """The first of the month so many months on; of `month` of that year, if it is given."""
    years, place = divmod(day.month - 1 + months, 12)
    return day.replace(year=day.year + years, month=month or place + 1, day=1)
