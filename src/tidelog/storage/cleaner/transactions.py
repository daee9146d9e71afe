"""The transactions in the part of a log that is compacted, and whether their markers may be removed.

Records of aborted transactions are removed at once. A marker outlives the batches of its transaction: if one of them,
even an empty one, existed at the beginning of a compaction, the marker stays, because recovery would otherwise find a
transaction that never ends. Everything below the last stable offset is decided, and only that is compacted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.partition.transactions import AbortedTransaction
from tidelog.records.batch import BatchHeader, Buffer
from tidelog.records.control import read_end_transaction_marker


@dataclass(slots=True)
class _OngoingAbort:
    transaction: AbortedTransaction
    has_batches: bool = False


class PassedTransactions:
    """Receives every batch in the order of offsets."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        """`aborted` are those with records in the part of the log that is passed, from its transaction indexes."""
        self._aborted = deque(sorted(set(aborted), key=lambda transaction: transaction.first_offset))
        self._ongoing_aborts: dict[int, _OngoingAbort] = {}
        # Producers with batches of a transaction that was committed, whose marker is still to come.
        self._ongoing_commits: set[int] = set()

    def pass_data(self, header: BatchHeader) -> bool:
        """Whether the batch belongs to an aborted transaction."""
        self._begin_aborts(header.last_offset)
        if not header.is_transactional:
            return False
        ongoing = self._ongoing_aborts.get(header.producer_id)
        if ongoing is not None and header.base_offset <= ongoing.transaction.last_offset:
            ongoing.has_batches = True
            return True
        self._ongoing_commits.add(header.producer_id)
        return False

    def pass_marker(self, header: BatchHeader, batch: Buffer) -> tuple[bool, AbortedTransaction | None]:
        """(whether no batch of the transaction was left, the transaction if it is an aborted one with batches)."""
        self._begin_aborts(header.last_offset)
        marker = read_end_transaction_marker(batch)
        if marker is None:
            # An earlier compaction has removed the marker and kept the batch for the producer's sequence.
            return True, None
        if marker.commit:
            had_batches = header.producer_id in self._ongoing_commits
            self._ongoing_commits.discard(header.producer_id)
            return not had_batches, None
        ongoing = self._ongoing_aborts.pop(header.producer_id, None)
        if ongoing is None or not ongoing.has_batches:
            return True, None
        return False, ongoing.transaction

    def _begin_aborts(self, offset: int) -> None:
        while self._aborted and self._aborted[0].first_offset <= offset:
            transaction = self._aborted.popleft()
            self._ongoing_aborts[transaction.producer_id] = _OngoingAbort(transaction)
