"""How the transactions of a partition ended, as far as its files say: decided from markers, damage and `.txnindex`.

A producer has one transaction at a time in a partition, so the next marker of the producer behind a record says how the
record's transaction ended. Damage in between may have been that marker; then only `.txnindex`, which names the aborted
ones, can say more. Which files are looked at for this is the business of `tidelog.spark.log_files.reading`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from tidelog.partition.transactions import AbortedTransaction
from tidelog.records.batch import BatchHeader, CorruptBatch
from tidelog.records.control import EndTransactionMarker, encode_end_transaction_marker, read_end_transaction_marker
from tidelog.storage.segments.batch_scan import GoodBatch
from tidelog.storage.segments.walk import BadStretch

COMMITTED = "committed"
ABORTED = "aborted"
# No marker follows: the transaction runs, was prepared, or was left hanging.
OPEN = "open"
# Damage follows that may have been the marker.
UNKNOWN = "unknown"

_SIZE_OF_MARKER = len(
    encode_end_transaction_marker(
        EndTransactionMarker(commit=True, coordinator_epoch=0), producer_id=0, producer_epoch=0, timestamp=0
    )
)
# The cleaner replaces the base timestamp of a marker by its delete horizon; the difference then takes up to ten bytes.
_LARGEST_MARKER = _SIZE_OF_MARKER + 9
_END = (1 << 63) - 1


class TransactionOutcomes:
    """Markers and damage of a partition from some offset on, in the order of the log."""

    def __init__(self) -> None:
        self._markers: dict[int, list[tuple[int, bool]]] = {}
        # Producers whose last transaction has no marker yet.
        self._undecided: set[int] = set()
        # Where a marker may have been: from the end of the good batch before to the start of the good one behind.
        self._damage: list[tuple[int, int]] = []
        self._next_offset = 0
        self._aborted: dict[int, list[AbortedTransaction]] = {}

    @property
    def undecided(self) -> bool:
        """Whether markers that lie further on are wanted."""
        return bool(self._undecided)

    @property
    def has_damage(self) -> bool:
        return bool(self._damage)

    def pass_good(self, batch: GoodBatch, *, wants_its_state: bool) -> None:
        header = batch.header
        if self._damage and self._damage[-1][1] == _END:
            self._damage[-1] = (self._damage[-1][0], header.base_offset)
        self._next_offset = header.next_offset
        if not header.is_transactional:
            return
        if not header.is_control:
            if wants_its_state:
                self._undecided.add(header.producer_id)
            return
        try:
            marker = read_end_transaction_marker(batch.data)
        except CorruptBatch:
            self._damage.append((header.base_offset, header.next_offset))
            return
        # None: the cleaner has removed the marker, after all records of its transaction.
        if marker is not None:
            self._markers.setdefault(header.producer_id, []).append((header.base_offset, marker.commit))
            self._undecided.discard(header.producer_id)

    def pass_bad(self, stretch: BadStretch) -> None:
        # What a crash has cut off at the end of the log is cut off by the next start: no marker.
        if stretch.is_torn_end or not _may_be_marker(stretch):
            return
        if not self._damage or self._damage[-1][1] != _END:
            self._damage.append((self._next_offset, _END))

    def add_aborted(self, transactions: Iterable[AbortedTransaction]) -> None:
        for transaction in transactions:
            self._aborted.setdefault(transaction.producer_id, []).append(transaction)

    def state(self, header: BatchHeader) -> str | None:
        """Of the records in this batch; None if they are in no transaction."""
        if not header.is_transactional:
            return None
        producer_id, offset = header.producer_id, header.base_offset
        markers = self._markers.get(producer_id, [])
        # A control batch is the marker itself.
        at = bisect_right(markers, (offset - 1, True) if header.is_control else (offset, True))
        decided_at, commit = markers[at] if at < len(markers) else (_END, None)
        if self._is_damaged_between(offset, decided_at):
            named = self._aborted.get(producer_id, ())
            return ABORTED if any(one.first_offset <= offset <= one.last_offset for one in named) else UNKNOWN
        if commit is None:
            return OPEN
        return COMMITTED if commit else ABORTED

    def _is_damaged_between(self, offset: int, decided_at: int) -> bool:
        # They are in the order of the log and do not overlap: the last one before the marker reaches furthest.
        before = bisect_left(self._damage, (decided_at, 0))
        return before > 0 and self._damage[before - 1][1] > offset


def _may_be_marker(stretch: BadStretch) -> bool:
    return stretch.header is None or stretch.header.is_control or stretch.header.size <= _LARGEST_MARKER
