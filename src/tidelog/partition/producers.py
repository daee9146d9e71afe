"""Who wrote to a partition with which sequence numbers, and which transactions that leaves open.

`ProducerStates` is used in two steps. `plan` checks batches that are about to be appended and changes nothing; once
they are in the log, `apply` carries out the plan. `replay` does both for batches that are already decided: those
a follower fetched, and those that recovery reads back. What is remembered of one producer is in
`tidelog.partition.producer_entry`, the snapshot file in `tidelog.storage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from enum import Enum
from typing import NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NO_PRODUCER_EPOCH
from tidelog.model.invariants import require
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.partition.producer_entry import RETAINED_BATCHES, BatchMetadata, ProducerEntry, SnapshotEntry
from tidelog.partition.transactions import (
    AbortedTransaction,
    CompletedTransaction,
    StartedTransaction,
    UnstableTransactions,
)
from tidelog.partition.verification import (
    PendingVerification,
    TransactionVerifications,
    VerificationGuard,
)
from tidelog.records.batch import CONTROL_MASK, TRANSACTIONAL_MASK, BatchHeader, Buffer
from tidelog.records.control import EndTransactionMarker, read_end_transaction_marker

# For tools that only inspect a log. A broker uses producer.id.expiration.ms.
NO_EXPIRATION_MS = (1 << 63) - 1

TRANSACTIONS_V2 = 2
_LARGEST_EPOCH = 32767
_SPECIAL = TRANSACTIONAL_MASK | CONTROL_MASK


class AppendOrigin(Enum):
    """Who appends, which decides what is checked."""

    # Epoch and sequence.
    CLIENT = "client"
    # The group and the transaction coordinator write without sequence numbers: the epoch only.
    COORDINATOR = "coordinator"
    # The leader has checked: nothing.
    REPLICATION = "replication"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRefusal:
    """The batches must not be appended, and nothing was written."""

    code: ErrorCode
    message: str


class ProducerPlan(NamedTuple):
    """What `apply` will change. A tuple because every append creates one."""

    # The end of the log with the planned batches in it.
    end_offset: int
    entries: dict[int, ProducerEntry]
    started: Sequence[StartedTransaction] = ()
    completed: Sequence[CompletedTransaction] = ()
    # Those of the completed ones that belong in the transaction index.
    aborted: Sequence[AbortedTransaction] = ()
    verified: Sequence[int] = ()


_NO_ENTRIES: dict[int, ProducerEntry] = {}


class ProducerStates:
    """All producers of one replica."""

    __slots__ = ("_entries", "_recalled", "end_offset", "expiration_ms", "transactions", "verifications")

    def __init__(self, *, expiration_ms: int = NO_EXPIRATION_MS, end_offset: int = 0) -> None:
        self.expiration_ms = expiration_ms
        # Everything before this offset is reflected here.
        self.end_offset = end_offset
        self._entries: dict[int, ProducerEntry] = {}
        self.transactions = UnstableTransactions()
        self.verifications = TransactionVerifications()
        # Producers for which the log was searched for batches that a snapshot has left out.
        self._recalled: set[int] = set()

    def __iter__(self) -> Iterator[ProducerEntry]:
        return iter(self._entries.values())

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    # Appending

    def plan(
        self,
        headers: Sequence[BatchHeader],
        data: Buffer,
        first_offset: int,
        *,
        origin: AppendOrigin,
        guard: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> ProducerPlan | BatchMetadata | AppendRefusal:
        """Check the batches in `data`, which will get offsets from `first_offset` on.

        A duplicate is returned as it is in the log: its producer gets the reply it would have got then.
        `data` is read only for the markers in control batches. `guard` is for callers that verify transactions
        with their coordinator (see `begin_verification`); `transaction_version` is the version under which a marker
        was sent.
        """
        if len(headers) == 1 and (usual := self._plan_usual(headers[0], first_offset, origin)) is not None:
            return usual
        draft = _Draft(self, origin, transaction_version)
        position = 0
        offset = first_offset
        for header in headers:
            end = position + header.size
            if origin is AppendOrigin.REPLICATION:
                offset = header.base_offset
            if header.producer_id >= 0:
                if header.is_control:
                    # The cleaner may have removed the marker and left the empty batch for the producer's sequence.
                    marker = read_end_transaction_marker(memoryview(data)[position:end])
                    problem = None if marker is None else draft.add_marker(header, offset, marker)
                else:
                    if origin is AppendOrigin.CLIENT:
                        known = self._entries.get(header.producer_id)
                        duplicate = None if known is None else known.find_duplicate(header)
                        if duplicate is not None:
                            return duplicate
                    problem = draft.add_data(header, offset, guard)
                if problem is not None:
                    return problem
            offset += header.last_offset_delta + 1
            position = end
        return draft.finish(offset)

    def apply(self, plan: ProducerPlan) -> None:
        """Carry out a plan. Nothing else may have changed since `plan`."""
        if plan.entries:
            self._entries.update(plan.entries)
            for producer_id in plan.verified:
                self.verifications.end(producer_id)
            for started in plan.started:
                self.transactions.start(started)
            for completed in plan.completed:
                self.transactions.complete(completed)
        self.end_offset = plan.end_offset

    def replay(self, header: BatchHeader, batch: Buffer = b"") -> AbortedTransaction | None:
        """Follow a batch that is in the log; `batch` is needed if it is a control batch.

        Returns the transaction that it aborted, if it did.
        """
        plan = self.plan((header,), batch, header.base_offset, origin=AppendOrigin.REPLICATION)
        assert isinstance(plan, ProducerPlan), "replicated batches are never refused"
        self.apply(plan)
        return plan.aborted[0] if plan.aborted else None

    # Transactions

    def last_stable_offset(self, high_watermark: int, *, log_start_offset: int = 0) -> int:
        """Up to where readers of committed data may read. It is never before the start of the log."""
        unstable = self.transactions.first_unstable_offset(high_watermark)
        if unstable is None:
            return high_watermark
        return min(high_watermark, max(unstable, log_start_offset))

    def has_open_transaction(self, producer_id: int, *, epoch: int) -> bool:
        entry = self._entries.get(producer_id)
        return entry is not None and entry.epoch == epoch and entry.has_open_transaction

    def begin_verification(
        self, producer_id: int, *, sequence: int, epoch: int, supports_epoch_bump: bool, now_ms: int
    ) -> VerificationGuard | AppendRefusal | None:
        """Before the coordinator is asked whether a transaction is open. None: it is open here, do not ask."""
        entry = self._entries.get(producer_id)
        if entry is not None and epoch < entry.epoch:
            return _stale_epoch(producer_id, epoch=epoch, current_epoch=entry.epoch)
        if self.has_open_transaction(producer_id, epoch=epoch):
            return None
        return self.verifications.begin(
            producer_id, sequence=sequence, epoch=epoch, supports_epoch_bump=supports_epoch_bump, now_ms=now_ms
        )

    # Snapshots, truncation, expiry

    def snapshot(self) -> list[SnapshotEntry]:
        """For the snapshot file at `end_offset`."""
        return [entry.to_snapshot() for entry in self._entries.values()]

    def reload(self, entries: Iterable[SnapshotEntry], end_offset: int, *, now_ms: int) -> None:
        """Start over from a snapshot taken at `end_offset`; batches from there on are then replayed.

        Also the way to truncate: reload the newest snapshot that is not above the new end, or none, and replay.
        """
        loaded = [ProducerEntry.from_snapshot(entry) for entry in entries]
        self._entries = {entry.producer_id: entry for entry in loaded if not self._is_expired(entry, now_ms)}
        self.transactions.reload(
            [
                StartedTransaction(entry.transaction_first_offset, entry.producer_id)
                for entry in self._entries.values()
                if entry.has_open_transaction
            ]
        )
        self.verifications.clear()
        self._recalled.clear()
        self.end_offset = end_offset

    def recall_before(self, producer_id: int) -> int | None:
        """The offset before which the log may hold batches of this producer that a snapshot has left out.

        A snapshot keeps only the last batch of each producer. None if nothing is missing, or was looked for before.
        """
        entry = self._entries.get(producer_id)
        if entry is None or not entry.may_lack_batches or producer_id in self._recalled:
            return None
        return entry.batches[0].first_offset

    def recall(self, producer_id: int, headers: Iterable[BatchHeader]) -> None:
        """Add batches that a snapshot has left out. `headers` are of the log before `recall_before`, in its order."""
        self._recalled.add(producer_id)
        known = self._entries[producer_id]
        earlier = ProducerEntry(producer_id, known.epoch)
        for header in headers:
            if header.producer_id == producer_id and header.producer_epoch == known.epoch and not header.is_control:
                earlier = earlier.after_data(header, header.base_offset)
        self._entries[producer_id] = known._replace(batches=(*earlier.batches, *known.batches)[-RETAINED_BATCHES:])

    def reset(self, end_offset: int) -> None:
        """Forget everything: the log is empty and will continue at `end_offset`."""
        self.reload((), end_offset, now_ms=0)

    def expire(self, now_ms: int) -> int:
        """Forget producers that have been idle for `expiration_ms`. An open transaction keeps its producer."""
        expired = [entry.producer_id for entry in self._entries.values() if self._is_expired(entry, now_ms)]
        for producer_id in expired:
            del self._entries[producer_id]
        self.verifications.expire(now_ms - self.expiration_ms)
        return len(expired)

    def check_invariants(self) -> None:
        undecided = {}
        for producer_id, entry in self._entries.items():
            require(
                entry.producer_id == producer_id, entry, "a producer is found under its id", found_under=producer_id
            )
            entry.check_invariants(self.end_offset)
            if entry.has_open_transaction:
                undecided[entry.transaction_first_offset] = producer_id
        self.transactions.check_invariants(undecided, self.end_offset)

    def _plan_usual(self, header: BatchHeader, first_offset: int, origin: AppendOrigin) -> ProducerPlan | None:
        """What nearly all batches need, at about half the cost: no producer, or the next batch of a known one.

        In a transaction that is open here, or without one: the first batch of a transaction is less common.
        """
        if header.producer_id < 0:
            base_offset = header.base_offset if origin is AppendOrigin.REPLICATION else first_offset
            return ProducerPlan(base_offset + header.last_offset_delta + 1, _NO_ENTRIES)
        entry = self._entries.get(header.producer_id)
        if (
            entry is not None
            and origin is AppendOrigin.CLIENT
            and entry.epoch == header.producer_epoch
            and header.attributes & _SPECIAL == (TRANSACTIONAL_MASK if entry.transaction_first_offset >= 0 else 0)
            and entry.expects_sequence(header.base_sequence)
            and self.verifications.get(header.producer_id) is None
        ):
            end_offset = first_offset + header.last_offset_delta + 1
            return ProducerPlan(end_offset, {header.producer_id: entry.after_data(header, first_offset)})
        return None

    def _is_expired(self, entry: ProducerEntry, now_ms: int) -> bool:
        return not entry.has_open_transaction and now_ms - entry.last_timestamp >= self.expiration_ms


@dataclass(slots=True, eq=False)
class _Draft:
    """The changes of one plan, collected batch by batch."""

    states: ProducerStates
    origin: AppendOrigin
    transaction_version: int
    entries: dict[int, ProducerEntry] = field(default_factory=dict)
    started: list[StartedTransaction] = field(default_factory=list)
    completed: list[CompletedTransaction] = field(default_factory=list)
    aborted: list[AbortedTransaction] = field(default_factory=list)
    verified: list[int] = field(default_factory=list)

    def finish(self, end_offset: int) -> ProducerPlan:
        return ProducerPlan(end_offset, self.entries, self.started, self.completed, self.aborted, self.verified)

    def add_data(self, header: BatchHeader, offset: int, guard: VerificationGuard | None) -> AppendRefusal | None:
        entry = self._entry(header.producer_id)
        if self.origin is not AppendOrigin.REPLICATION:
            problem = self._data_problem(entry, header, guard)
            if problem is not None:
                return problem
        updated = entry.after_data(header, offset)
        if header.is_transactional:
            self.verified.append(header.producer_id)
            if not entry.has_open_transaction:
                self.started.append(StartedTransaction(offset, header.producer_id))
        self.entries[header.producer_id] = updated
        return None

    def add_marker(self, header: BatchHeader, offset: int, marker: EndTransactionMarker) -> AppendRefusal | None:
        entry = self._entry(header.producer_id)
        if self.origin is not AppendOrigin.REPLICATION:
            problem = self._marker_problem(entry, header.producer_epoch, marker)
            if problem is not None:
                return problem
        # A marker without records before it holds nothing back and is in no index.
        if entry.has_open_transaction:
            self._complete(entry, offset, marker)
        self.verified.append(header.producer_id)
        self.entries[header.producer_id] = entry.after_marker(
            header.producer_epoch, coordinator_epoch=marker.coordinator_epoch, timestamp=header.max_timestamp
        )
        return None

    def _complete(self, entry: ProducerEntry, offset: int, marker: EndTransactionMarker) -> None:
        first_offset = entry.transaction_first_offset
        self.completed.append(CompletedTransaction(first_offset, offset))
        if not marker.commit:
            done = {transaction.first_offset for transaction in self.completed}
            next_open = self.states.transactions.first_open_offset_besides(done, self.started)
            last_stable_offset = offset + 1 if next_open is None else next_open
            self.aborted.append(AbortedTransaction(entry.producer_id, first_offset, offset, last_stable_offset))

    def _entry(self, producer_id: int) -> ProducerEntry:
        return self.entries.get(producer_id) or self.states.get(producer_id) or ProducerEntry(producer_id)

    def _data_problem(
        self, entry: ProducerEntry, header: BatchHeader, guard: VerificationGuard | None
    ) -> AppendRefusal | None:
        producer_id = header.producer_id
        epoch = header.producer_epoch
        if epoch < entry.epoch:
            return _stale_epoch(producer_id, epoch=epoch, current_epoch=entry.epoch)
        is_transactional = header.is_transactional
        if (
            is_transactional
            and guard is not None
            and not (entry.has_open_transaction and epoch == entry.epoch)
            and not self.states.verifications.accepts(producer_id, guard)
        ):
            return AppendRefusal(
                code=ErrorCode.INVALID_TXN_STATE,
                message=f"the transaction of producer {producer_id} (epoch {epoch}) is not known to be open",
            )
        if self.origin is AppendOrigin.CLIENT:
            problem = _sequence_problem(entry, header, self.states.verifications.get(producer_id))
            if problem is not None:
                return problem
        if entry.has_open_transaction and not is_transactional:
            return AppendRefusal(
                code=ErrorCode.INVALID_TXN_STATE,
                message=f"producer {producer_id} has a transaction open since offset "
                f"{entry.transaction_first_offset}, but the batch is not transactional",
            )
        return None

    def _marker_problem(self, entry: ProducerEntry, epoch: int, marker: EndTransactionMarker) -> AppendRefusal | None:
        """Version 2 raises the producer's epoch with each transaction, so a marker of the current epoch is late.

        It is let through where it changes nothing, as the retry of a marker that was written, and where the epoch
        cannot be raised any further.
        """
        stale = epoch < entry.epoch
        if self.transaction_version >= TRANSACTIONS_V2 and epoch == entry.epoch:
            stale = entry.has_open_transaction and epoch != _LARGEST_EPOCH
        if stale:
            return _stale_epoch(entry.producer_id, epoch=epoch, current_epoch=entry.epoch)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            return AppendRefusal(
                code=ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                message=f"the marker for producer {entry.producer_id} comes from coordinator epoch "
                f"{marker.coordinator_epoch}, but epoch {entry.coordinator_epoch} has been seen",
            )
        return None


def _sequence_problem(
    entry: ProducerEntry, header: BatchHeader, pending: PendingVerification | None
) -> AppendRefusal | None:
    """A producer that is not known here may begin with any sequence number.

    Its earlier batches may have been deleted by retention, or its state may have expired; refusing it would stop a
    producer that did nothing wrong (KIP-360).
    """
    sequence = header.base_sequence
    if pending is not None:
        if pending.supports_epoch_bump and sequence != 0 and not entry.batches:
            return _out_of_order(header, "a transaction begins with sequence 0")
        if sequence > pending.lowest_sequence:
            return _out_of_order(header, f"sequence {pending.lowest_sequence} was seen before it")
    if entry.epoch == NO_PRODUCER_EPOCH:
        return None
    if header.producer_epoch != entry.epoch:
        if sequence != 0:
            return _out_of_order(header, f"it is the first of its epoch, after epoch {entry.epoch}, and must be 0")
        return None
    if not entry.expects_sequence(sequence):
        return _out_of_order(header, f"the last one in the log is {entry.last_sequence}")
    return None


def _out_of_order(header: BatchHeader, reason: str) -> AppendRefusal:
    return AppendRefusal(
        code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        message=f"sequence {header.base_sequence} of producer {header.producer_id} (epoch {header.producer_epoch}) "
        f"is out of order: {reason}",
    )


def _stale_epoch(producer_id: int, *, epoch: int, current_epoch: int) -> AppendRefusal:
    return AppendRefusal(
        code=ErrorCode.INVALID_PRODUCER_EPOCH,
        message=f"epoch {epoch} of producer {producer_id} is fenced, the current one is {current_epoch}",
    )
