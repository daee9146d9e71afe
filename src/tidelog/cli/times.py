"""Points in time and spans of time as people type them on a command line: ISO 8601."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_DURATION = re.compile(
    r"(?P<sign>[+-])?P(?:(?P<days>[+-]?\d+)D)?"
    r"(?:T(?:(?P<hours>[+-]?\d+)H)?(?:(?P<minutes>[+-]?\d+)M)?(?:(?P<seconds>[+-]?\d+(?:\.\d+)?)S)?)?",
    re.IGNORECASE,
)


def parse_datetime_ms(text: str) -> int:
    """Milliseconds since 1970; without a time zone UTC is meant, as with Kafka's tools. Raises ValueError."""
    if "T" not in text:
        raise ValueError(f"{text!r} is not a time such as 2026-11-01T08:30:00.000")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time such as 2026-11-01T08:30:00.000 ({error})") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)


def parse_duration_ms(text: str) -> int:
    """A duration of days and less, such as P7D or PT1H30M. Raises ValueError."""
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.group(name) for name in ("days", "hours", "minutes", "seconds")):
        raise ValueError(f"{text!r} is not a duration such as P7D or PT1H30M")
    span = timedelta(
        days=int(match["days"] or 0),
        hours=int(match["hours"] or 0),
        minutes=int(match["minutes"] or 0),
        seconds=float(match["seconds"] or 0),
    )
    return (-span if match["sign"] == "-" else span) // timedelta(milliseconds=1)
