"""The driver's part: one transaction for all rows of a micro-batch.

0. Look whether another driver has gone further with this checkpoint; then leave it alone.
1. InitProducerId. It fences every earlier driver of the query, and waits for a commit of theirs that is under way.
2. Read the note, and decide. Only now: before, an earlier transaction could still have become visible.
3. Publish all batches and the note, and commit.
4. After an outcome that is not definite, forget the producer and begin at 1. The note will tell what has happened.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.errors import DeliveryFailed, TransactionError
from tidelog.client.producer.delivery import Delivery
from tidelog.client.producer.producer import Producer
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.records.batch import Buffer
from tidelog.spark.sink.batch_identity import BatchIdentity
from tidelog.spark.sink.checkpoint import stop_if_overtaken
from tidelog.spark.sink.crash_points import crash_point
from tidelog.spark.sink.errors import CannotTellIfPublished, PublishFailed, SinkError, TransactionTimedOut
from tidelog.spark.sink.modes import identity_of
from tidelog.spark.sink.note import Note, Refuse, Skip, decide, note_of
from tidelog.spark.sink.note_store import ensure_note_topic, fetch_note, send_note
from tidelog.spark.sink.options import ChangedBatch, MissingNote, SinkOptions
from tidelog.spark.sink.plan import TaskOutput
from tidelog.spark.sink.publish_errors import BROKER_ERRORS, explain, may_be_repeated
from tidelog.spark.sink.staging import read_staged
from tidelog.spark.sink.states import SINK_BATCH, BatchState, BatchStep

logger = logging.getLogger(__name__)

_ATTEMPTS = 5
_FIRST_PAUSE_SECONDS = 0.2


@dataclass(slots=True)
class BatchProgress:
    """Where a micro-batch is, and how long the transaction took that has succeeded, and its commit alone."""

    state: BatchState = BatchState.WRITTEN
    transaction_ms: float = 0.0
    commit_ms: float = 0.0

    def take(self, step: BatchStep) -> None:
        self.state = SINK_BATCH.after(self.state, step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A micro-batch that is to be in the topics once. `name` is transactional id and note group at once.

    A mirror recognises its micro-batches by other means (`tidelog.spark.mirror.sink`).
    """

    options: SinkOptions
    name: str
    batch: int
    outputs: Sequence[TaskOutput]

    def identity(self) -> BatchIdentity:
        return identity_of([output.written for output in self.outputs])

    def note(self) -> Note:
        return note_of(self.identity(), tasks=len(self.outputs))

    def refuse_if_overtaken(self) -> None:
        """Before anything else. Raises PublishFenced."""
        stop_if_overtaken(self.outputs[0].written.place.planned)

    async def is_published(self, cluster: Cluster) -> bool:
        """Whether the rows are in the topics. Asked after earlier drivers were fenced."""
        note = await fetch_note(cluster, self.options, self.name)
        crash_point("after-offset-fetch", self.batch)
        decision = decide(
            self.identity(),
            note,
            group=self.name,
            publish_without_note=self.options.missing_note is MissingNote.PUBLISH,
            skip_changed=self.options.changed_batch is ChangedBatch.SKIP,
        )
        if isinstance(decision, Refuse):
            # If another driver has gone on meanwhile, that is the reason, and not the age of the checkpoint.
            self.refuse_if_overtaken()
            raise CannotTellIfPublished(decision.problem)
        return isinstance(decision, Skip)

    async def leave_note(self, producer: Producer, deliveries: Sequence[Delivery]) -> None:
        """Put into the open transaction what `is_published` looks for. `deliveries` are those of the batches."""
        await send_note(producer, self.options, self.note(), self.name)


async def publish(publication: Publication) -> BatchProgress:
    """Publish exactly once, or raise SinkError; then starting again with the same micro-batch is safe."""
    progress = BatchProgress()
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            await _publish_once(publication, progress)
            return progress
        except SinkError:
            progress.take(BatchStep.STOP)
            raise
        except BROKER_ERRORS as error:
            if not may_be_repeated(error):
                progress.take(BatchStep.STOP)
                raise explain(f"micro-batch {publication.batch}", publication.options, error) from error
            # It is not known what has happened, or known that nothing has: begin at 1.
            progress.take(BatchStep.RETRY)
            logger.warning("micro-batch %d of %s: %s", publication.batch, publication.name, error)
            if attempt == _ATTEMPTS:
                progress.take(BatchStep.STOP)
                raise PublishFailed(
                    f"micro-batch {publication.batch} could not be published in {_ATTEMPTS} attempts; the "
                    f"last error: {error}. Start the query again: what is in the topics is not published a second time"
                ) from error
        await asyncio.sleep(_FIRST_PAUSE_SECONDS * attempt)
    raise AssertionError("the last attempt returns or raises")


async def _publish_once(publication: Publication, progress: BatchProgress) -> None:
    options = publication.options
    started = time.monotonic()
    crash_point("before-init-producer-id", publication.batch)
    try:
        publication.refuse_if_overtaken()
        config = {**options.client, "transactional.id": publication.name}
        async with Producer(config=config) as producer:
            await ensure_note_topic(producer.cluster, options)
            await producer.init_transactions()
            progress.take(BatchStep.FENCE)
            crash_point("after-init-producer-id", publication.batch)
            if not await publication.is_published(producer.cluster):
                started = time.monotonic()
                await _run_transaction(producer, publication, progress)
                progress.transaction_ms = 1000 * (time.monotonic() - started)
    except (TransactionError, DeliveryFailed) as error:
        is_late = (time.monotonic() - started) * 1000 >= options.transaction_timeout_ms
        if is_late and (isinstance(error, TransactionError) or _is_refused_epoch(error.cause)):
            raise _timed_out(publication, f"; the last error: {error}") from error
        raise
    if progress.state is BatchState.OTHERS_FENCED:
        progress.take(BatchStep.SKIP)
        return
    progress.take(BatchStep.COMMIT)
    crash_point("after-end-txn", publication.batch)


async def _run_transaction(producer: Producer, publication: Publication, progress: BatchProgress) -> None:
    options = publication.options
    deadline = time.monotonic() + options.transaction_timeout_ms / 1000
    total = sum(len(output.entries) for output in publication.outputs)
    deliveries: list[Delivery] = []
    await producer.begin_transaction()
    progress.take(BatchStep.BEGIN)
    for number, (topic, partition, batch) in enumerate(_batches(publication.outputs)):
        if number == total // 2:
            crash_point("after-half-of-the-batches", publication.batch)
        # Later the coordinator has aborted the transaction, and rather says so about the epoch.
        if time.monotonic() > deadline:
            raise _timed_out(publication)
        # A staged file is read again if this is repeated, so the bytes that were read may be changed.
        deliveries.append(await producer.publish(topic, partition, batch, in_place=True))
    crash_point("before-note", publication.batch)
    await publication.leave_note(producer, deliveries)
    progress.take(BatchStep.NOTE)
    crash_point("after-note", publication.batch)
    await producer.flush()
    if time.monotonic() > deadline:
        raise _timed_out(publication)
    crash_point("before-end-txn", publication.batch)
    committing = time.monotonic()
    await producer.commit_transaction()
    progress.commit_ms = 1000 * (time.monotonic() - committing)


def _is_refused_epoch(cause: Exception | None) -> bool:
    """A leader that has the abort of the coordinator already says so about records that come later."""
    return isinstance(cause, ApiError) and cause.code in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE)


def _batches(outputs: Sequence[TaskOutput]) -> Iterator[tuple[str, int, Buffer]]:
    """In the order of the tasks: it is the order of the rows."""
    for output in outputs:
        content = output.content
        view = memoryview(content) if isinstance(content, bytes) else read_staged(content)
        for entry in output.entries:
            yield entry.topic, entry.partition, view[entry.position : entry.position + entry.size]


def _timed_out(publication: Publication, last_problem: str = "") -> TransactionTimedOut:
    rows = sum(output.written.digest.rows for output in publication.outputs)
    size = sum(entry.size for output in publication.outputs for entry in output.entries)
    return TransactionTimedOut(
        f"publishing micro-batch {publication.batch} ({rows} rows, {size} bytes) takes longer than "
        f"kafka.transaction.timeout.ms={publication.options.transaction_timeout_ms}, after which brokers abort a "
        "transaction. Raise it (brokers allow up to transaction.max.timeout.ms, 15 minutes by default), or make "
        f"micro-batches smaller, such as with maxOffsetsPerTrigger{last_problem}"
    )
