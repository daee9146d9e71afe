"""The newest records of a topic while they come: so many are kept, and transactions that end are marked. No I/O.

Kept is what the page shows of them, which is cut: records themselves may be large, and a feed lives for hours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from tidelog.client.browsing import ControlEntry, Entry, Gap, RecordEntry, TransactionOutcome
from tidelog.console.findings.entry_documents import Document, row_of
from tidelog.console.findings.payload_forms import Form
from tidelog.model.lazy_dataclasses import dataclass

_ENDS = {"COMMIT": TransactionOutcome.COMMITTED, "ABORT": TransactionOutcome.ABORTED}
_UNDECIDED = (TransactionOutcome.OPEN, TransactionOutcome.ENDED_LATER)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    partition: int
    document: Document
    # Whose transaction is open or not yet known to have ended; None for all other rows.
    open_producer: int | None


class LiveWindow:
    def __init__(self, most: int, topic: str, form: Form) -> None:
        # Of all that came, whether or not it is kept: records, and those among them that were wanted.
        self.seen = 0
        self.found = 0
        self._topic = topic
        self._form = form
        self._rows: deque[_Row] = deque(maxlen=most)

    @property
    def rows(self) -> list[Document]:
        """As `row_of` makes them, the oldest first."""
        return [row.document for row in self._rows]

    def note(self, came: Iterable[tuple[int, Entry, bool]]) -> None:
        """Entries in the order of each partition, and whether they are wanted. Markers end open transactions."""
        for partition, entry, is_wanted in came:
            if isinstance(entry, ControlEntry):
                self._settle(partition, entry)
            if isinstance(entry, RecordEntry):
                self.seen += 1
                self.found += is_wanted
            if is_wanted and not isinstance(entry, Gap):
                document = row_of(self._topic, partition, entry, self._form)
                self._rows.append(_Row(partition=partition, document=document, open_producer=_open_producer(entry)))

    def _settle(self, partition: int, marker: ControlEntry) -> None:
        outcome = _ENDS.get(marker.kind)
        if outcome is None or marker.producer_id is None:
            return
        for index, row in enumerate(self._rows):
            if row.partition == partition and row.open_producer == marker.producer_id:
                settled = {**row.document, "outcome": outcome.value}
                self._rows[index] = replace(row, document=settled, open_producer=None)


def _open_producer(entry: Entry) -> int | None:
    return entry.producer_id if isinstance(entry, RecordEntry) and entry.outcome in _UNDECIDED else None
