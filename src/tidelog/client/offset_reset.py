"""auto.offset.reset: where a reader begins that has no position, or one that the partition does not have."""

from __future__ import annotations

import re

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.offset_times import EARLIEST, LATEST

_BY_DURATION = "by_duration:"
# What Java's Duration reads, without signs: days, then hours, minutes and seconds behind a T.
_DURATION = re.compile(
    r"P(?=.)(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d{0,9})?)S)?)?", re.IGNORECASE | re.ASCII
)
_PLACES = {"earliest": EARLIEST, "latest": LATEST, "none": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetReset:
    """`place` is EARLIEST or LATEST; with `duration_ms` the first record that is not older than that (KIP-1106).

    Neither: there is no place to go to, and the reader has to be told.
    """

    text: str
    place: int | None = None
    duration_ms: int | None = None

    def time(self, now_ms: int) -> int | None:
        """For ListOffsets."""
        return self.place if self.duration_ms is None else now_ms - self.duration_ms

    @property
    def forbidden(self) -> bool:
        return self.place is None and self.duration_ms is None


def parse_offset_reset(text: str) -> OffsetReset:
    """Raises ValueError that names what is allowed."""
    if text in _PLACES:
        return OffsetReset(text=text, place=_PLACES[text])
    if text.startswith(_BY_DURATION):
        match = _DURATION.fullmatch(text[len(_BY_DURATION) :])
        if match is not None:
            days, hours, minutes, seconds = (float((part or "0").replace(",", ".")) for part in match.groups())
            total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
            return OffsetReset(text=text, duration_ms=int(total * 1000))
    raise ValueError(
        f"auto.offset.reset={text} is not one of earliest, latest, none, or by_duration:<duration> with an ISO 8601 "
        "duration such as by_duration:PT1H or by_duration:P7D"
    )
