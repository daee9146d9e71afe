"""How a task reads its range of one partition: one Fetch after another, the next on its way while Spark gets the last.

A worker process runs one task at a time and is used again for the next, so it keeps its connections. The event loop of
the client runs only while a task waits for a reply. What a reply means is decided in `tidelog.spark.source.batches`.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any

import pyarrow as pa

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.routing import LEADER_MOVED
from tidelog.client.config import consumer_config
from tidelog.client.consumer.fetched import FetchedPartition
from tidelog.client.errors import ClientError, api_error
from tidelog.client.offsets.listing import list_offsets
from tidelog.client.options import ConsumerConfig
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.model.offset_times import EARLIEST
from tidelog.network.client_connection import ConnectionProblem
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.fetch_response import FetchResponse, PartitionData
from tidelog.spark.source.batches import VisibleBatch, arrow_batches
from tidelog.spark.source.options import SourceOptions
from tidelog.spark.source.ranges import OffsetRange

logger = logging.getLogger(__name__)

# Up to this version a Fetch request names topics; from the next on it has their ids.
_NAMED_TOPICS = 12
_NO_SESSION = 0
_SESSIONLESS_EPOCH = -1
# All batches of a reply at once: only their headers are looked at before they are decoded group by group.
_ALL = 1 << 62
# A leader that says that it has all up to the end, and gives nothing, is believed when it has said so this often.
_EMPTY_REPLIES_THAT_MEAN_A_GAP = 2

_GONE = frozenset({ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INCONSISTENT_TOPIC_ID})

INSTRUCTION = (
    "Records may have aged out, or the topic may have been deleted or recreated, before the query had read them. "
    "To continue with what is left, set failOnDataLoss=false"
)


class DataLost(Exception):
    """Records that the query has to read are not there any more."""


class ReadTimedOut(Exception):
    """The records of a range did not come within kafkaConsumer.pollTimeoutMs."""


def read_range(wanted: OffsetRange, topic_id: Uuid, options: SourceOptions) -> Iterator[pa.RecordBatch]:
    """All records of the range, once, in order. Raises DataLost or ReadTimedOut.

    `topic_id` is the topic that the driver planned for; another one of the same name has other records.
    """
    client = _client_for(options.consumer)
    reading = _RangeReading(client, wanted, topic_id, options)
    try:
        yield from _read(client, reading, wanted, options)
    except BaseException:
        # Also when Spark has seen enough: a reply that nobody waits for must not be the answer to the next task.
        _forget_client()
        raise


def _read(
    client: _Client, reading: _RangeReading, wanted: OffsetRange, options: SourceOptions
) -> Iterator[pa.RecordBatch]:
    position = wanted.start
    pending = client.begin(reading.next_answer(position))
    while True:
        answer = client.finish(pending)
        if answer is None:
            return
        rest = OffsetRange(partition=wanted.partition, start=position, end=wanted.end)
        batches: list[VisibleBatch] = []
        if isinstance(answer, int):
            # Records before this offset are lost, and we may go on without them.
            position = answer
        else:
            chunk = _fetched(answer, rest, client.config).take_batches(_ALL)
            position, batches = chunk.next_offset, chunk.batches
        if position < wanted.end:
            pending = client.begin(reading.next_answer(position))
        yield from arrow_batches(
            batches, rest, include_headers=options.include_headers, check_crcs=client.config.check_crcs
        )
        if position >= wanted.end:
            return


def _fetched(answer: PartitionData, rest: OffsetRange, config: ConsumerConfig) -> FetchedPartition:
    assert answer.records is not None
    aborted = None
    if config.read_committed:
        aborted = [(one.producer_id, one.first_offset) for one in answer.aborted_transactions or ()]
    return FetchedPartition(rest.partition, rest.start, answer.records, aborted=aborted)


class _Client:
    """A cluster and a loop that runs when it is asked to."""

    def __init__(self, consumer: Mapping[str, str]) -> None:
        self.consumer = consumer
        self.config = consumer_config(consumer)
        self._runner = asyncio.Runner()
        self.cluster = self._runner.run(self._start())

    async def _start(self) -> Cluster:
        cluster = Cluster(self.config)
        await cluster.start()
        return cluster

    def begin(self, question: Coroutine[Any, Any, _Answer]) -> asyncio.Task[_Answer]:
        """Let it go as far as it gets without waiting, which is far enough for the request to be written."""
        pending = self._runner.get_loop().create_task(question)
        self._runner.run(asyncio.sleep(0))
        return pending

    def finish(self, pending: asyncio.Task[_Answer]) -> _Answer:
        return self._runner.get_loop().run_until_complete(pending)

    def close(self) -> None:
        self._runner.run(self.cluster.close())
        self._runner.close()


# The records of a reply; the offset to go on from after a loss; or None if the range has nothing more.
_Answer = PartitionData | int | None


class _RangeReading:
    """Fetches for one task, with all that can get in between."""

    def __init__(self, client: _Client, wanted: OffsetRange, topic_id: Uuid, options: SourceOptions) -> None:
        self._cluster = client.cluster
        self._config = client.config
        self._partition = wanted.partition
        self._end = wanted.end
        self._topic_id = topic_id
        self._options = options

    async def next_answer(self, position: int) -> _Answer:
        """Ask until there are records, there can be none, or the time is up."""
        clock = self._cluster.clock
        deadline = clock.monotonic_ms() + self._options.poll_timeout_ms
        failures = empty = 0
        while True:
            problem: Exception | None = None
            try:
                answer = await self._fetch(position)
            except (ConnectionProblem, ApiError, ClientError) as error:
                problem = error
            if problem is None:
                if answer.records:
                    return answer
                empty += 1
                if self._bound(answer) >= self._end and empty >= _EMPTY_REPLIES_THAT_MEAN_A_GAP:
                    return None
            else:
                code = problem.code if isinstance(problem, ApiError) else None
                if code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    moved = await self._out_of_range(position)
                    if moved is not None:
                        return moved
                elif code is not None and code not in LEADER_MOVED | _GONE:
                    raise problem
                self._cluster.mark_stale()
                failures += 1
                await asyncio.sleep(self._cluster.retry_pause_ms(failures) / 1000)
                if code in _GONE and await self._topic_is_gone():
                    self._lost(f"topic {self._partition.topic!r} was deleted or recreated")
                    return None
            if clock.monotonic_ms() > deadline:
                raise self._timed_out(position, problem) from problem

    async def _fetch(self, position: int) -> PartitionData:
        cluster, partition = self._cluster, self._partition
        where = f"partition {partition}"
        cluster.watch((partition.topic,))
        if cluster.metadata.leader_of(partition) is None:
            cluster.mark_stale()
        await cluster.refresh_if_stale()
        leader = cluster.metadata.leader_of(partition)
        if leader is None:
            raise api_error(cluster.metadata.topic_errors.get(partition.topic, ErrorCode.LEADER_NOT_AVAILABLE), where)
        known_id = cluster.metadata.topics[partition.topic].topic_id
        if known_id != self._topic_id:
            raise api_error(ErrorCode.INCONSISTENT_TOPIC_ID, where)
        request = FetchRequest(
            max_wait_ms=self._config.fetch_max_wait_ms,
            min_bytes=self._config.fetch_min_bytes,
            max_bytes=self._config.fetch_max_bytes,
            isolation_level=int(self._config.read_committed),
            session_id=_NO_SESSION,
            session_epoch=_SESSIONLESS_EPOCH,
            topics=[
                FetchTopic(
                    topic=partition.topic,
                    topic_id=known_id,
                    partitions=[
                        FetchPartition(
                            partition=partition.partition,
                            current_leader_epoch=leader.leader_epoch,
                            fetch_offset=position,
                            partition_max_bytes=self._config.max_partition_fetch_bytes,
                        )
                    ],
                )
            ],
        )
        reply = await cluster.ask_node(
            leader.leader,
            request,
            FetchResponse,
            at_most=_NAMED_TOPICS if known_id == ZERO_UUID else None,
            timeout_ms=self._config.request_timeout_ms + self._config.fetch_max_wait_ms,
        )
        answers = [answer for topic in reply.responses for answer in topic.partitions]
        code = reply.error_code or (answers[0].error_code if answers else ErrorCode.UNKNOWN_TOPIC_ID)
        if code != ErrorCode.NONE:
            raise api_error(code, where)
        return answers[0]

    def _bound(self, answer: PartitionData) -> int:
        return answer.last_stable_offset if self._config.read_committed else answer.high_watermark

    async def _out_of_range(self, position: int) -> int | None:
        """The offset to go on from; None if the leader has to be asked again, since it has not caught up yet."""
        found = (await list_offsets(self._cluster, {self._partition: EARLIEST})).get(self._partition)
        if found is None or isinstance(found, ApiError) or found.offset <= position:
            return None
        until = min(found.offset, self._end)
        self._lost(f"partition {self._partition} begins at offset {found.offset}: {position} to {until - 1} are gone")
        return found.offset

    async def _topic_is_gone(self) -> bool:
        topic = self._partition.topic
        metadata = await self._cluster.fetch_metadata((topic,))
        found = metadata.topics.get(topic)
        if found is None:
            return metadata.topic_errors.get(topic) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return found.topic_id != self._topic_id

    def _lost(self, what: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLost(f"{what}. {INSTRUCTION}")
        logger.warning("%s. The query continues without them, since failOnDataLoss=false", what)

    def _timed_out(self, position: int, problem: Exception | None) -> ReadTimedOut:
        reason = f"; the last error: {problem}" if problem is not None else ""
        return ReadTimedOut(
            f"the records from offset {position} to {self._end} of partition {self._partition} did not "
            f"arrive within {self._options.poll_timeout_ms} ms (kafkaConsumer.pollTimeoutMs){reason}"
        )


_client: _Client | None = None


def _client_for(consumer: Mapping[str, str]) -> _Client:
    global _client
    if _client is None or _client.consumer != consumer:
        _forget_client()
        _client = _Client(consumer)
    return _client


def _forget_client() -> None:
    global _client
    if _client is not None:
        client, _client = _client, None
        client.close()


# A loop that is still open when Python ends makes it complain.
atexit.register(_forget_client)
