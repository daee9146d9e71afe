"""One transactional id: its state, its timeline, the partitions that it holds, and an end to its transaction.

Its records in `__transaction_state` are read again only when its state has changed, and now and then, because all ids
of a partition share that log.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from tidelog.client.admin import ProducerState, TransactionDescription
from tidelog.client.errors import raise_any
from tidelog.console.descriptions import described_transactions
from tidelog.console.feeds import Pace
from tidelog.console.findings.holding_back import HoldingBack
from tidelog.console.findings.transaction_timeline import TimelineEntry, TransactionRecord, last_partitions, timeline
from tidelog.console.pages.open_transactions import (
    MOST_PARTITIONS,
    OpenTransactions,
    OpenTransactionsReader,
    holding_document,
)
from tidelog.console.pages.transaction_log import SHOWN, OldRecords, TransactionLog
from tidelog.console.pages.transactions import known_transaction, open_since
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.replies import CONFLICT, EXPECTED_FAILURES, ConsoleRefusal, Json, problem_document, reply
from tidelog.coordinators.transactions.states import TransactionState
from tidelog.coordinators.transactions.transaction import NO_TIMEOUT_MS
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition

router = APIRouter()

_PACE = Pace(seconds=1.0)
# So often the log is read although nothing seems to have changed: two quick transactions may look like none.
_LOG_SECONDS = 10.0
# Of one record of the timeline; the record itself has all of them.
_ADDED_SHOWN = 20


@router.get("/transaction/live")
async def transaction(parts: Parts, id: str) -> Response:
    return parts.feeds.stream(("transaction", id), lambda: TransactionReader(parts, id).read, _PACE)


@router.get("/transaction/timeline")
async def older(parts: Parts, id: str, before: Annotated[int, Query(ge=0, le=(1 << 63) - 1)]) -> Response:
    """The records of this id in front of an offset of `__transaction_state`."""
    return reply(timeline_document(await TransactionLog(parts, id).before(before)))


class TransactionEnd(BaseModel):
    """Which transaction is meant: what the page has shown when it was decided to end it."""

    id: str
    producer_id: int
    producer_epoch: int
    start_ms: int | None


@router.post("/transaction/abort")
async def abort(parts: Parts, end: TransactionEnd) -> Response:
    """Fence the producer and abort its transaction, if it still is the one that was shown."""
    admin = await parts.cluster.admin()
    found = raise_any(await described_transactions(admin, [end.id]))[end.id]
    if found.state != TransactionState.ONGOING.label:
        raise ConsoleRefusal(f"the transaction has ended in the meantime: {end.id} is now {found.state}", CONFLICT)
    shown = (end.producer_id, end.producer_epoch, end.start_ms)
    if (found.producer_id, found.producer_epoch, found.start_ms) != shown:
        raise ConsoleRefusal(
            f"this is not the transaction any more that was shown: {end.id} has begun another one, with producer id "
            f"{found.producer_id} and epoch {found.producer_epoch}",
            CONFLICT,
        )
    producer_id, epoch = await admin.force_terminate_transaction(end.id)
    return reply({"producer_id": producer_id, "producer_epoch": epoch})


class TransactionReader:
    def __init__(self, parts: ConsoleParts, transactional_id: str) -> None:
        self._parts = parts
        self._id = transactional_id
        self._open = OpenTransactionsReader(parts)
        self._log = TransactionLog(parts, transactional_id)
        self._log_read_at: float | None = None
        self._log_read_for: TransactionDescription | None = None
        self._records: OldRecords | None = None
        self._log_problem: dict[str, Json] | None = None

    async def read(self) -> Json:
        admin = await self._parts.cluster.watcher()
        answer = (await described_transactions(admin, [self._id]))[self._id]
        if isinstance(answer, ApiError) and answer.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise answer
        found = None if isinstance(answer, ApiError) else answer
        await self._read_log(found)
        records = [] if self._records is None else self._records.records
        partitions = _partitions_of(found, records)
        known = {} if found is None else {found.producer_id: known_transaction(found)}
        opened = await self._open.read(admin, known, partitions[:MOST_PARTITIONS])
        document: dict[str, Json] = {
            "id": self._id,
            "now_ms": int(time.time() * 1000),
            "described": None if found is None else _description(found),
            "partitions": [_partition(place, found, opened) for place in partitions[:MOST_PARTITIONS]],
            "partitions_left_out": max(0, len(partitions) - MOST_PARTITIONS),
            "holding": [holding_document(each, opened) for each in _holding(found, opened)],
            "groups_told": opened.groups_told,
            "timeline": None if self._records is None else timeline_document(self._records),
            "timeline_problem": self._log_problem,
            "last_step": _last_step(found, records),
        }
        return document

    async def _read_log(self, found: TransactionDescription | None) -> None:
        now = time.monotonic()
        due = self._log_read_at is None or now - self._log_read_at >= _LOG_SECONDS
        if not due and self._log_problem is None and found == self._log_read_for and self._shows(found):
            return
        if not due and self._log_problem is not None:
            return
        self._log_read_at, self._log_read_for = now, found
        try:
            self._records = await self._log.newest()
        except EXPECTED_FAILURES as problem:
            self._log_problem = _explained(problem)
        else:
            self._log_problem = None

    def _shows(self, found: TransactionDescription | None) -> bool:
        """Whether the newest record is that of the state. Coordinators tell of a step before everybody can read it."""
        if found is None or self._records is None or not self._records.records:
            return True
        return self._records.records[-1].state.label == found.state


def timeline_document(found: OldRecords) -> dict[str, Json]:
    """Newest first. Of the records that are known one more than is shown tells what the oldest one changes."""
    entries = timeline(found.records)
    shown = entries[-SHOWN:]
    hidden = len(entries) > len(shown)
    older_before: int | None = None
    if hidden:
        older_before = shown[0].record.offset
    elif found.may_be_older:
        older_before = found.since
    return {
        "entries": [_entry(each) for each in reversed(shown)],
        "older_before": older_before,
        "log": {"topic": found.partition.topic, "partition": found.partition.partition},
    }


def _entry(entry: TimelineEntry) -> dict[str, Json]:
    record, known = entry.record, entry.record.transaction
    return {
        "offset": record.offset,
        "at_ms": record.at_ms,
        "state": record.state.label,
        "before": None if entry.before is None else entry.before.label,
        "step": None if entry.step is None else entry.step.value,
        "producer_id": None if known is None else known.producer.producer_id,
        "producer_epoch": None if known is None else known.producer.producer_epoch,
        "partitions": 0 if known is None else len(known.partitions),
        "added": [str(partition) for partition in entry.added[:_ADDED_SHOWN]],
        "added_count": len(entry.added),
        "since_previous_ms": entry.since_previous_ms,
        "note": entry.note,
    }


def _description(found: TransactionDescription) -> dict[str, Json]:
    return {
        "state": found.state,
        "coordinator": found.coordinator,
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "timeout_ms": found.timeout_ms,
        # Such a transaction is decided by somebody else, and no timeout ends it (KIP-939).
        "two_phase": found.timeout_ms == NO_TIMEOUT_MS,
        "start_ms": open_since(found),
        "can_abort": found.state == TransactionState.ONGOING.label,
    }


def _partitions_of(found: TransactionDescription | None, records: Sequence[TransactionRecord]) -> list[TopicPartition]:
    """Of the transaction that is open, else of the last one that is known."""
    if found is not None and found.partitions:
        return sorted(found.partitions)
    return sorted(last_partitions(records))


def _partition(
    partition: TopicPartition, found: TransactionDescription | None, opened: OpenTransactions
) -> dict[str, Json]:
    reading, problem = opened.readings.get(partition), opened.problems.get(partition)
    producer = None if found is None else _of_producer(opened.producers.get(partition, ()), found.producer_id)
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "held": found is not None and partition in found.partitions,
        "last_stable_offset": None if reading is None else reading.last_stable_offset,
        "high_watermark": None if reading is None else reading.high_watermark,
        "problem": None if problem is None else str(problem),
        "producer": None
        if producer is None
        else {
            "epoch": producer.producer_epoch,
            "first_offset": producer.transaction_start,
            "last_sequence": producer.last_sequence,
            "last_ms": producer.last_timestamp,
            "coordinator_epoch": producer.coordinator_epoch,
        },
    }


def _of_producer(producers: Collection[ProducerState], producer_id: int) -> ProducerState | None:
    return next((each for each in producers if each.producer_id == producer_id), None)


def _holding(found: TransactionDescription | None, opened: OpenTransactions) -> list[HoldingBack]:
    """Others may hold the same partitions back, but this is the page of one."""
    return [each for each in opened.holding if found is not None and each.producer_id == found.producer_id]


def _last_step(found: TransactionDescription | None, records: Sequence[TransactionRecord]) -> dict[str, Json] | None:
    """What has led to the state that is shown, if that is in the log."""
    if len(records) < 2:
        return None
    (entry,) = timeline(records[-1:], records[-2])
    if entry.step is None or entry.before is None or (found is not None and found.state != entry.record.state.label):
        return None
    return {
        "from": entry.before.label,
        "to": entry.record.state.label,
        "step": entry.step.value,
        "at_ms": entry.record.at_ms,
    }


def _explained(problem: Exception) -> dict[str, Json]:
    """Why there is no timeline, as a sentence."""
    document = problem_document(problem)
    if isinstance(problem, ApiError):
        if problem.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return {**document, "message": "There is no topic __transaction_state yet: nobody has used transactions."}
        if "AUTHORIZATION" in problem.code.name:
            sentence = (
                "The timeline is left out: this client may not read the topic __transaction_state, for which it needs "
                "Read and Describe on it."
            )
            return {**document, "problem": "unsupported", "message": sentence}
    return document
