"""The newest records of a topic while they come: so many are kept, and transactions that end are marked. No I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from tidelog.client.browsing import ControlEntry, Entry, Gap, RecordEntry, TransactionOutcome, Unreadable

_ENDS = {"COMMIT": TransactionOutcome.COMMITTED, "ABORT": TransactionOutcome.ABORTED}


class LiveWindow:
    """Rows are partitions and entries, the oldest first."""

    def __init__(self, most: int) -> None:
        self.rows: deque[tuple[int, Entry]] = deque(maxlen=most)
        # Of all that came, whether or not it is kept: records, and those among them that were wanted.
        self.seen = 0
        self.found = 0

    def note(self, came: Iterable[tuple[int, Entry, bool]]) -> None:
        """Entries in the order of each partition, and whether they are wanted. Markers end open transactions."""
        for partition, entry, is_wanted in came:
            if isinstance(entry, ControlEntry):
                self._settle(partition, entry)
            if isinstance(entry, RecordEntry):
                self.seen += 1
                self.found += is_wanted
            if is_wanted and not isinstance(entry, Gap | Unreadable):
                self.rows.append((partition, entry))

    def _settle(self, partition: int, marker: ControlEntry) -> None:
        outcome = _ENDS.get(marker.kind)
        if outcome is None:
            return
        for index, (place, entry) in enumerate(self.rows):
            if (
                place == partition
                and isinstance(entry, RecordEntry)
                and entry.producer_id == marker.producer_id
                and entry.outcome in (TransactionOutcome.OPEN, TransactionOutcome.ENDED_LATER)
            ):
                self.rows[index] = (place, replace(entry, outcome=outcome))
