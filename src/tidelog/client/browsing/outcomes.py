"""How the transaction of a record has ended, as far as a page of the log and its leader tell. No I/O.

The next marker of the same producer decides. If it lies behind the page, the leader has said which transactions were
aborted, as far as the last stable offset. Behind that a producer may have an open transaction, which the leader knows
too. What is left has ended, but only a later page shows how: `ENDED_LATER`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple


class TransactionOutcome(StrEnum):
    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"
    ENDED_LATER = "ended later"


class Marker(NamedTuple):
    """The end of a transaction, on the page."""

    offset: int
    producer_id: int
    commit: bool


class AbortedRange(NamedTuple):
    """Of an aborted transaction: it began here, and has ended with the next marker of its producer."""

    producer_id: int
    first_offset: int


class Outcomes:
    def __init__(
        self,
        *,
        markers: Sequence[Marker],
        aborted: Collection[AbortedRange],
        open_since: Mapping[int, int],
        last_stable_offset: int,
    ) -> None:
        """`markers` in the order of the log; `open_since` has the first offset of a producer's open transaction."""
        self._markers: dict[int, list[Marker]] = {}
        for marker in markers:
            self._markers.setdefault(marker.producer_id, []).append(marker)
        self._aborted: dict[int, list[int]] = {}
        for producer_id, first_offset in aborted:
            self._aborted.setdefault(producer_id, []).append(first_offset)
        self._open_since = open_since
        self._last_stable_offset = last_stable_offset

    def of(self, producer_id: int, offset: int) -> TransactionOutcome:
        """Of a record of a transaction."""
        for marker in self._markers.get(producer_id, ()):
            if marker.offset > offset:
                return TransactionOutcome.COMMITTED if marker.commit else TransactionOutcome.ABORTED
        began = self._open_since.get(producer_id)
        if began is not None and offset >= began:
            return TransactionOutcome.OPEN
        if offset < self._last_stable_offset:
            return TransactionOutcome.ABORTED if self._in_aborted(producer_id, offset) else TransactionOutcome.COMMITTED
        return TransactionOutcome.ENDED_LATER

    def _in_aborted(self, producer_id: int, offset: int) -> bool:
        """Without a marker behind it on the page, it belongs to the last transaction that began before it."""
        last_marker = max((marker.offset for marker in self._markers.get(producer_id, ())), default=-1)
        return any(last_marker < first <= offset for first in self._aborted.get(producer_id, ()))
