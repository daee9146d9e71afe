"""The driver's part: one transaction for all rows of a micro-batch.

1. InitProducerId. It fences every earlier driver of the query, and waits for a commit of theirs that is under way.
2. Read the marker, and decide. Only now: before, an earlier transaction could still have become visible.
3. Publish all batches and the marker, and commit.
4. After an outcome that is not definite, forget the producer and begin at 1. The marker will tell what has happened.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from crc32c import crc32c

from tidelog.client.committed import OffsetAndMetadata
from tidelog.client.errors import (
    ApiError,
    ClientError,
    ConnectionProblem,
    DeliveryFailed,
    ErrorCode,
    FatalError,
    FencedError,
    RecordTooLarge,
    TransactionError,
)
from tidelog.client.producer import Producer
from tidelog.records.batch import Buffer
from tidelog.spark.crash_points import crash_point
from tidelog.spark.marker import Marker, Refuse, Skip, decide
from tidelog.spark.marker_store import ensure_marker_topic, fetch_marker, marker_partition
from tidelog.spark.sink_errors import (
    CannotTellIfPublished,
    MessageTooLarge,
    PublishFailed,
    PublishFenced,
    TransactionTimedOut,
    UnknownTopic,
)
from tidelog.spark.sink_options import MissingMarker, SinkOptions
from tidelog.spark.sink_plan import TaskOutput
from tidelog.spark.staging import read_staged

logger = logging.getLogger(__name__)

_ATTEMPTS = 5
_FIRST_PAUSE_SECONDS = 0.2


# Where tests let the driver die, in the order in which a micro-batch comes by; the last one is in `tidelog.spark.sink`.
DRIVER_CRASH_POINTS = (
    "before-init-producer-id",
    "after-init-producer-id",
    "after-offset-fetch",
    "after-half-of-the-batches",
    "before-marker",
    "after-marker",
    "before-end-txn",
    "after-end-txn",
    "before-commit-log",
)


class Outcome(Enum):
    PUBLISHED = auto()
    # It was there already.
    SKIPPED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A micro-batch that is to be in the topics once. `name` is transactional id and marker group at once."""

    options: SinkOptions
    name: str
    batch: int
    outputs: Sequence[TaskOutput]

    @property
    def rows(self) -> int:
        return sum(output.rows for output in self.outputs)

    def marker(self) -> Marker:
        digest = f"{crc32c(';'.join(output.digest for output in self.outputs).encode()):08x}"
        return Marker(batch=self.batch, tasks=len(self.outputs), rows=self.rows, digest=digest)


async def publish(publication: Publication) -> Outcome:
    """Publish exactly once, or raise SinkError; then starting again with the same micro-batch is safe."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return await _publish_once(publication)
        except _Repeatable as error:
            logger.warning("micro-batch %d of %s: %s", publication.batch, publication.name, error)
            if attempt == _ATTEMPTS:
                raise PublishFailed(
                    f"micro-batch {publication.batch} could not be published in {_ATTEMPTS} attempts; the last "
                    f"problem: {error}. Start the query again: what is in the topics is not published a second time"
                ) from error.__cause__
        await asyncio.sleep(_FIRST_PAUSE_SECONDS * attempt)
    raise AssertionError("the last attempt returns or raises")


class _Repeatable(Exception):
    """It is not known what has happened, or known that nothing has: begin at 1."""


async def _publish_once(publication: Publication) -> Outcome:
    options = publication.options
    started = time.monotonic()
    crash_point("before-init-producer-id", publication.batch)
    try:
        await ensure_marker_topic(options)
        config = {**options.client, "transactional.id": publication.name}
        async with Producer(config=config) as producer:
            await producer.init_transactions()
            crash_point("after-init-producer-id", publication.batch)
            if await _is_published(publication):
                return Outcome.SKIPPED
            started = time.monotonic()
            await _run_transaction(producer, publication)
    except (ClientError, ApiError, ConnectionProblem, OSError) as error:
        raise _explained(publication, error, time.monotonic() - started) from error
    crash_point("after-end-txn", publication.batch)
    return Outcome.PUBLISHED


async def _is_published(publication: Publication) -> bool:
    marker = await fetch_marker(publication.options, publication.name)
    crash_point("after-offset-fetch", publication.batch)
    decision = decide(
        publication.batch,
        marker,
        group=publication.name,
        publish_without_marker=publication.options.missing_marker is MissingMarker.PUBLISH,
    )
    if isinstance(decision, Refuse):
        raise CannotTellIfPublished(decision.problem)
    if isinstance(decision, Skip) and marker is not None and marker.rows != publication.rows:
        logger.warning(
            "micro-batch %d of %s is in the topics with %d rows, and has %d now: the query does not give the same rows "
            "for the same input",
            publication.batch,
            publication.name,
            marker.rows,
            publication.rows,
        )
    return isinstance(decision, Skip)


async def _run_transaction(producer: Producer, publication: Publication) -> None:
    options = publication.options
    deadline = time.monotonic() + options.transaction_timeout_ms / 1000
    total = sum(len(output.entries) for output in publication.outputs)
    await producer.begin_transaction()
    for number, (topic, partition, batch) in enumerate(_batches(publication.outputs)):
        if number == total // 2:
            crash_point("after-half-of-the-batches", publication.batch)
        # Later the coordinator has aborted the transaction, and rather says so about the epoch.
        if time.monotonic() > deadline:
            raise _timed_out(publication)
        await producer.publish(topic, partition, batch)
    crash_point("before-marker", publication.batch)
    marker = publication.marker()
    position = OffsetAndMetadata(offset=marker.batch, metadata=marker.metadata())
    await producer.send_offsets({marker_partition(options): position}, publication.name)
    crash_point("after-marker", publication.batch)
    await producer.flush()
    if time.monotonic() > deadline:
        raise _timed_out(publication)
    crash_point("before-end-txn", publication.batch)
    await producer.commit_transaction()


def _batches(outputs: Sequence[TaskOutput]) -> Iterator[tuple[str, int, Buffer]]:
    """In the order of the tasks: it is the order of the rows."""
    for output in outputs:
        content = output.content
        view = memoryview(content) if isinstance(content, bytes) else read_staged(content)
        for entry in output.entries:
            yield entry.topic, entry.partition, view[entry.position : entry.position + entry.size]


# -- what users are told -------------------------------------------------------------------------------------------


def _timed_out(publication: Publication) -> TransactionTimedOut:
    size = sum(entry.size for output in publication.outputs for entry in output.entries)
    return TransactionTimedOut(
        f"publishing micro-batch {publication.batch} ({publication.rows} rows, {size} bytes) takes longer than "
        f"kafka.transaction.timeout.ms={publication.options.transaction_timeout_ms}, after which brokers abort a "
        "transaction. Raise it (brokers allow up to transaction.max.timeout.ms, 15 minutes unless changed), or make "
        "micro-batches smaller, such as with maxOffsetsPerTrigger"
    )


def _explained(publication: Publication, error: Exception, seconds: float) -> Exception:
    """The same in the sink's words; _Repeatable if another attempt may help."""
    cause = _root_of(error)
    if isinstance(error, FencedError):
        if seconds * 1000 >= publication.options.transaction_timeout_ms:
            return _timed_out(publication)
        return PublishFenced(
            f"another driver publishes as {publication.name!r}: the query has been started a second time with the same "
            f"checkpoint, or two queries share a jobId. This one stops ({error})"
        )
    if isinstance(cause, RecordTooLarge):
        return MessageTooLarge(str(cause))
    if isinstance(cause, ApiError):
        match cause.code:
            case ErrorCode.MESSAGE_TOO_LARGE | ErrorCode.RECORD_LIST_TOO_LARGE:
                return MessageTooLarge(
                    f"the broker refuses a record batch as too large ({cause}). Raise the topic's max.message.bytes, "
                    f"or lower kafka.batch.size, which is {publication.options.batch_bytes}, below it; a row that is "
                    "larger by itself cannot be written to this topic"
                )
            case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION | ErrorCode.UNKNOWN_TOPIC_ID:
                return UnknownTopic(f"a topic that rows go to does not exist any more ({cause})")
    if isinstance(error, FatalError) or (isinstance(cause, ApiError) and not cause.code.retriable):
        return PublishFailed(f"micro-batch {publication.batch} cannot be published: {error}")
    return _Repeatable(str(error))


def _root_of(error: BaseException) -> BaseException:
    """What a broker or the client has said first."""
    while isinstance(error, (TransactionError, DeliveryFailed)) and error.cause is not None:
        error = error.cause
    return error
