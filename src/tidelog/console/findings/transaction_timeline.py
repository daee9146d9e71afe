"""What has become of one transactional id, from its records in `__transaction_state`. No I/O.

The coordinator writes a record for each step that it takes with an id: its new state and all that belongs to it.
Between two records lies one step of the state machine. Compaction keeps only the last record of each id, so older steps
may be missing; then two records follow each other between which there is no step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.coordinators.transactions.records import FORMAT, decode_record, read_transaction, transaction_tombstone
from tidelog.coordinators.transactions.states import IDLE, TRANSACTION, TransactionState, TransactionStep
from tidelog.coordinators.transactions.transaction import NO_PRODUCER, NO_TIMESTAMP, TRANSACTIONS_V2, Transaction
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.codec import ProtocolError
from tidelog.protocol.messages.transaction_log_key import TransactionLogKey
from tidelog.protocol.messages.transaction_log_value import TransactionLogValue

# Sentences about a step; most need none.
COMPACTED = "steps between this record and the one before it are missing: compaction has removed them"
TIMED_OUT = "its timeout had passed"
FENCED = "its producer was fenced: another one came with this id, its timeout had passed, or it was terminated"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionRecord:
    """A record of `__transaction_state`; `transaction` is None if the record deletes the id."""

    offset: int
    timestamp_ms: int
    transaction: Transaction | None

    @property
    def state(self) -> TransactionState:
        return TransactionState.DEAD if self.transaction is None else self.transaction.state

    @property
    def at_ms(self) -> int:
        """When the coordinator took the step, which may be before the record was written."""
        if self.transaction is None or self.transaction.last_update_ms == NO_TIMESTAMP:
            return self.timestamp_ms
        return self.transaction.last_update_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """One record, and what it changes. `step` and `since_previous_ms` are None where no record before it is known."""

    record: TransactionRecord
    before: TransactionState | None
    step: TransactionStep | None
    since_previous_ms: int | None
    added: tuple[TopicPartition, ...]
    note: str | None


def record_key(transactional_id: str) -> bytes:
    """The key of all records of this id."""
    key, _ = FORMAT.encode(transaction_tombstone(transactional_id))
    return key


def read_record(offset: int, timestamp_ms: int, key: bytes, value: bytes | None) -> TransactionRecord | None:
    """None if it cannot be read, because a newer coordinator has written it or it is damaged."""
    try:
        decoded = decode_record(key, value)
        if not isinstance(decoded.key, TransactionLogKey):
            return None
        transaction = None
        if isinstance(decoded.value, TransactionLogValue):
            transaction = read_transaction(decoded.key.transactional_id, decoded.value)
    except (ProtocolError, ValueError):
        # ValueError: a state with a number that is newer than this console.
        return None
    return TransactionRecord(offset=offset, timestamp_ms=timestamp_ms, transaction=transaction)


def timeline(records: Iterable[TransactionRecord], before: TransactionRecord | None = None) -> list[TimelineEntry]:
    """The records of one id in the order of the log; `before` is the one in front of them, if it is known."""
    entries: list[TimelineEntry] = []
    previous = before
    for record in records:
        entries.append(_entry(previous, record))
        previous = record
    return entries


def last_partitions(records: Sequence[TransactionRecord]) -> frozenset[TopicPartition]:
    """Those of the newest transaction that had any."""
    for record in reversed(records):
        if record.transaction is not None and record.transaction.partitions:
            return record.transaction.partitions
    return frozenset()


def _entry(previous: TransactionRecord | None, record: TransactionRecord) -> TimelineEntry:
    step = None if previous is None else _step(previous, record)
    # A new transaction begins without partitions, also where its predecessor's are still in the record before.
    old: frozenset[TopicPartition] = frozenset()
    if previous is not None and previous.transaction is not None and step is not None:
        old = previous.transaction.partitions
    now = frozenset() if record.transaction is None else record.transaction.partitions
    return TimelineEntry(
        record=record,
        before=None if previous is None else previous.state,
        step=step,
        since_previous_ms=None if previous is None else max(0, record.at_ms - previous.at_ms),
        added=tuple(sorted(now - old)),
        note=None if previous is None else _note(previous, record, step),
    )


def _step(previous: TransactionRecord, record: TransactionRecord) -> TransactionStep | None:
    if previous.transaction is None:
        # A deleted id begins again.
        return TransactionStep.INITIALISE if record.state in TRANSACTION.initial else None
    possible = [
        step
        for (before, step), after in TRANSACTION.steps.items()
        if before is previous.state and after is record.state
    ]
    if TransactionStep.KEEP in possible and record.transaction is not None:
        kept = record.transaction.next_producer
        is_kept = kept not in (NO_PRODUCER, previous.transaction.next_producer)
        return TransactionStep.KEEP if is_kept else TransactionStep.ADD
    return possible[0] if possible else None


def _note(previous: TransactionRecord, record: TransactionRecord, step: TransactionStep | None) -> str | None:
    if step is None:
        return COMPACTED
    before, after = previous.transaction, record.transaction
    if step is not TransactionStep.ABORT or before is None or after is None or previous.state in IDLE:
        return None
    if before.start_ms != NO_TIMESTAMP and after.last_update_ms - before.start_ms >= before.timeout_ms:
        return TIMED_OUT
    # With the second version of the protocol each end of a transaction raises the epoch; with the first only a fence.
    raised = after.producer.producer_epoch > before.producer.producer_epoch
    return FENCED if raised and after.client_version < TRANSACTIONS_V2 else None
