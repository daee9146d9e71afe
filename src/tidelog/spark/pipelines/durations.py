"""Lengths of time in settings: `"10 minutes"`, `90` (seconds), `"forever"`, and how they are written for people."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_SECONDS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 0.001),
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*")


@dataclass(frozen=True, slots=True)
class Duration:
    """`seconds` is infinite for what has no end."""

    seconds: float

    @property
    def is_forever(self) -> bool:
        return math.isinf(self.seconds)

    def __str__(self) -> str:
        if self.is_forever:
            return "forever"
        for name, seconds in (("hour", 3600), ("minute", 60)):
            if self.seconds >= seconds and self.seconds % seconds == 0:
                count = int(self.seconds // seconds)
                return f"{count} {name}{'' if count == 1 else 's'}"
        return f"{self.seconds:g} s"


FOREVER = Duration(math.inf)


def parse_duration(value: object) -> Duration:
    """Raises ValueError with what would be right."""
    if isinstance(value, Duration):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and not math.isnan(value):
        return Duration(float(value))
    if isinstance(value, str):
        text = value.strip().lower()
        if text == "forever":
            return FOREVER
        found = _TEXT.fullmatch(text)
        if found and found[2] in _SECONDS:
            return Duration(float(found[1]) * _SECONDS[found[2]])
    raise ValueError('must be a length of time, such as "10 minutes", 90 (seconds), 0 or "forever"')
