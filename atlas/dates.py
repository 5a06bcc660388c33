"""Dates as people write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_WHEN = (
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:(?:[Tt]|[ \t]+)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,6})\d*)?)?"
    r"(?:[ \t]*(?:[Zz]|([+-])(\d{1,2})(?::?(\d{2}))?))?)?"
)


def when(value: str) -> datetime | None:
    """The time a person wrote, in UTC, or None if it is none that exists.

    ISO 8601 with `T` or a space; without a zone it is UTC; a date alone is its midnight in UTC.
    """
    match = re.fullmatch(_WHEN, value.strip())  # compiled when first used: most commands read no date
    if not match:
        return None
    year, month, day, hour, minute, second, fraction, sign, off_hours, off_minutes = match.groups(default="0")
    offset = timedelta(hours=int(off_hours), minutes=int(off_minutes))
    try:
        zone = timezone(-offset if sign == "-" else offset)
        micro = int(fraction.ljust(6, "0"))
        local = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), micro, zone)
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
