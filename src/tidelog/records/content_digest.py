"""A digest of rows: which rows there are and how often, whatever their order and however they are divided.

Each task computes one over its rows, and the driver adds them up; the sum is the same for every division into tasks.
The caller decides what a row is: the fields that it mixes in, always in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable
from sys import byteorder
from typing import Self

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.records.batch import Buffer
from tidelog.records.implementation import row_digest

_WORD = 1 << 64


@dataclass(frozen=True, slots=True)
class ContentDigest:
    """The digest of `rows` rows. The default is that of no rows."""

    rows: int = 0
    low: int = 0
    high: int = 0

    def __add__(self, other: ContentDigest) -> ContentDigest:
        return ContentDigest(self.rows + other.rows, (self.low + other.low) % _WORD, (self.high + other.high) % _WORD)

    def __str__(self) -> str:
        return f"{self.low:016x}{self.high:016x}"

    @classmethod
    def of_all(cls, parts: Iterable[ContentDigest]) -> Self:
        total = cls()
        for part in parts:
            total = cls(total.rows + part.rows, (total.low + part.low) % _WORD, (total.high + part.high) % _WORD)
        return total


class RowStates:
    """Rows on their way into a digest: mix in their fields, then add them up. `seed` is what they all share."""

    def __init__(self, count: int, seed: int = 0) -> None:
        self._count = count
        self._states = memoryview(bytearray(seed.to_bytes(8, byteorder) * count)).cast("Q")

    def mix_fields(self, starts: memoryview, lengths: memoryview, data: memoryview) -> None:
        """Starts and lengths are int32, and the caller has checked that they are within the data; -1 is null."""
        # Words have the machine's byte order; only little-endian gives the same numbers as single bytes do.
        words = data[: len(data) & ~7 if byteorder == "little" else 0].cast("Q")
        row_digest.mix_fields(starts, lengths, data, words, self._count, self._states)

    def mix_numbers(self, numbers: Buffer) -> None:
        """An int64 for each row."""
        view = memoryview(numbers).cast("B").cast("q")
        if len(view) < self._count:
            raise ValueError(f"{len(view)} numbers are too few for {self._count} rows")
        row_digest.mix_numbers(view, self._count, self._states)

    def digest(self) -> ContentDigest:
        totals = memoryview(bytearray(16)).cast("Q")
        row_digest.add_up(self._states, self._count, totals)
        return ContentDigest(self._count, totals[0], totals[1])
