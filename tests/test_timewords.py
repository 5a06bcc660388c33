"""Dates in a question."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.timewords import spans

#: A Wednesday.
NOW = datetime(2026, 5, 20, 15, 30, tzinfo=UTC)

NAMED = {
    "today": "2026-05-20 2026-05-21",
    "what did I do yesterday?": "2026-05-19 2026-05-20",
    "the day before yesterday": "2026-05-18 2026-05-19",
    "last night": "2026-05-19 2026-05-20",
    "tomorrow": "2026-05-21 2026-05-22",
    "What broke LAST  WEEK": "2026-05-11 2026-05-18",
    "this week": "2026-05-18 2026-05-25",
    "next week": "2026-05-25 2026-06-01",
    "last weekend": "2026-05-16 2026-05-18",
    "last month": "2026-04-01 2026-05-01",
    "last year": "2025-01-01 2026-01-01",
    "the past year": "2025-05-20 2026-05-21",
    "in the last three days": "2026-05-17 2026-05-21",
    "over the past 2 weeks": "2026-05-06 2026-05-21",
    "3 days ago": "2026-05-17 2026-05-18",
    "a couple of weeks ago": "2026-05-04 2026-05-11",
    "two months ago": "2026-03-01 2026-04-01",
    "a year ago": "2025-01-01 2026-01-01",
    "on Monday": "2026-05-18 2026-05-19",
    "on Wednesday": "2026-05-20 2026-05-21",
    "last Wednesday": "2026-05-13 2026-05-14",
    "next Friday": "2026-05-22 2026-05-23",
    "in March 2023": "2023-03-01 2023-04-01",
    "Sept. 2023": "2023-09-01 2023-10-01",
    "on 8 May, 2023": "2023-05-08 2023-05-09",
    "the 8th of May 2023": "2023-05-08 2023-05-09",
    "May 8th, 2023": "2023-05-08 2023-05-09",
    "on July 5": "2025-07-05 2025-07-06",
    "on 29 February": "2024-02-29 2024-03-01",
    "in june": "2025-06-01 2025-07-01",
    "in May": "2026-05-01 2026-06-01",
    "last May": "2025-05-01 2025-06-01",
    "next March": "2027-03-01 2027-04-01",
    "next June": "2026-06-01 2026-07-01",
    "2023-05": "2023-05-01 2023-06-01",
    "2023-12-31": "2023-12-31 2024-01-01",
    "2023-12-31T10:00": "2023-12-31 2024-01-01",
    "what happened in 2023": "2023-01-01 2024-01-01",
    "the summer of 2022": "2022-06-01 2022-09-01",
    "in winter 2022": "2022-12-01 2023-03-01",
    "last summer": "2025-06-01 2025-09-01",
    "last spring": "2025-03-01 2025-06-01",
    "since June": "2025-06-01 -",
    "since yesterday": "2026-05-19 -",
    "after March 2023": "2023-04-01 -",
    "before 2024-02-01": "- 2024-02-01",
    "until 2023": "- 2024-01-01",
    "between March and May 2023": "2023-03-01 2023-06-01",
    "from 3 June 2023 to 8 July 2023": "2023-06-03 2023-07-09",
    "between 2019 and 2021": "2019-01-01 2022-01-01",
    "between 2021 and 2019": "2019-01-01 2022-01-01",
    "photos from May 2023": "2023-05-01 2023-06-01",
    "in March 2023 or on 2024-01-02": "2023-03-01 2023-04-01, 2024-01-02 2024-01-03",
}
UNNAMED = (
    "",
    "May I ask who will march on?",
    "room 2023",
    "port 5433 and 1999 sheep",
    "the next step, at last, of this",
    "February 30, 2023",
    "2023-13-01",
    "99999-12-01",
    "12-2023-05-08-77",
    "in 12 days time",
    "a spring in the mattress",
    "the last week of the course",
    "the daylight was weak and monthly",
)


def told(text: str) -> str:
    both = [[f"{day:%Y-%m-%d}" if day else "-" for day in (s.start, s.end)] for s in spans(text, NOW)]
    return ", ".join(map(" ".join, both))


@pytest.mark.parametrize(("text", "right"), NAMED.items())
def test_a_time_is_understood(text, right):
    assert told(text) == right


@pytest.mark.parametrize("text", UNNAMED)
def test_what_names_no_time_is_none(text):
    assert told(text) == ""


def test_days_begin_where_the_clock_is():
    there = timezone(timedelta(hours=9))
    (span,) = spans("today", datetime(2026, 5, 20, 1, tzinfo=there))
    assert span.start == datetime(2026, 5, 20, tzinfo=there)


_WORDS = "last next this past two 31 may march 2024 in since before between and week days ago 2024-02-30 summer of"


@given(
    st.lists(st.sampled_from(_WORDS.split()), max_size=8).map(" ".join) | st.text(max_size=60),
    st.datetimes(timezones=st.just(UTC)),
)
def test_whatever_is_asked_a_span_begins_before_it_ends(text, now):
    for span in spans(text, now):
        assert span.start or span.end
        assert span.start is None or span.end is None or span.start < span.end


@given(st.dates(), st.sampled_from(["{:%Y-%m-%d}", "{d} {m} {y}", "{m} {d}, {y}", "{d}th of {m}, {y}"]))
def test_a_day_is_the_same_however_it_is_written(day, form):
    if not 1900 <= day.year < 2100:
        return
    month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][day.month - 1]
    (span,) = spans("on " + form.format(day, d=day.day, m=month, y=day.year), NOW)
    assert span.start == datetime(day.year, day.month, day.day, tzinfo=UTC)
