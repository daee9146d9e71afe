"""From rows to finished record batches: which topic and partition each row goes to. For tasks.

Batches are complete but for what only the producer knows: its id, epoch and sequence numbers. The loops over rows are
those of `tidelog.records.columns`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.records.columns import RowEncoder, RowSource, rows_by_partition
from tidelog.records.compression import COMPRESSION_NAMES
from tidelog.records.content_digest import ContentDigest
from tidelog.spark.sink.encode_columns import (
    binary_column,
    headers_column,
    integers,
    milliseconds,
)
from tidelog.spark.sink.errors import InvalidColumns, MessageTooLarge, UnknownTopic
from tidelog.spark.sink.event_loop import run
from tidelog.spark.sink.plan import SinkPlan, Volume
from tidelog.spark.sink.publish_errors import explained
from tidelog.spark.sink.topics import partition_count

# (topic, partition, number of rows, the batch)
Emit = Callable[[str, int, int, bytes], None]

# Rows are collected up to this size before they are dealt out, so that many partitions do not make for tiny batches.
_SMALLEST_CHUNK = 4 * 1024 * 1024
_LARGEST_CHUNK = 64 * 1024 * 1024
_MOST_NAMES_SHOWN = 5


# Stands for a time that the query leaves to us.
_NO_TIME = -1


@cache
def _seed(topic: str) -> int:
    return int.from_bytes(hashlib.blake2b(topic.encode(), digest_size=8).digest(), "little")


class TaskEncoder:
    """Takes the rows of one task in their order and emits batches; those of one partition are in that order too."""

    def __init__(
        self, plan: SinkPlan, emit: Emit, *, task: int, find_topic: Callable[[str], int] | None = None
    ) -> None:
        """`find_topic` gives the number of partitions of a topic that is not in the plan; it may create it."""
        self.digest = ContentDigest()
        self.volumes: dict[str, Volume] = {}
        self._plan = plan
        self._options = plan.options
        self._emit = emit
        self._codec = COMPRESSION_NAMES[plan.options.compression]
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        partitions = max(plan.partition_counts.values(), default=1)
        self._chunk_bytes = min(max(plan.options.batch_bytes * partitions, _SMALLEST_CHUNK), _LARGEST_CHUNK)
        # For rows without a key: tasks begin at different partitions, and go to the next one after about a batch.
        self._task = task
        self._next_partition: dict[str, int] = {}
        self._partition_counts = dict(plan.partition_counts)
        self._find_topic = find_topic or self._ask_broker

    def add(self, rows: pa.RecordBatch) -> None:
        self._waiting.append(rows)
        self._waiting_bytes += rows.nbytes
        if self._waiting_bytes >= self._chunk_bytes:
            self.finish()

    def finish(self) -> None:
        """Encode what waits."""
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if sum(map(len, waiting)):
            for chunk in pa.Table.from_batches(waiting).combine_chunks().to_batches():
                for topic, rows in self._by_topic(chunk):
                    self._encode(topic, rows)

    def _by_topic(self, chunk: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        place = self._plan.columns.topic
        if place is None:
            assert self._options.topic is not None
            yield self._options.topic, chunk
            return
        column = chunk.column(place)
        if column.null_count:
            raise InvalidColumns(
                f"the column `topic` is null in {column.null_count} rows, and there is no option `topic`"
            )
        encoded = column.dictionary_encode()
        names = encoded.dictionary.to_pylist()
        numbers = integers(encoded.indices)
        for number, name in enumerate(names):
            yield name, chunk if len(names) == 1 else chunk.take(pa.array(np.flatnonzero(numbers == number)))

    def _encode(self, topic: str, rows: pa.RecordBatch) -> None:
        columns, options = self._plan.columns, self._options
        count = self._partition_count(topic)
        now_ms = time.time_ns() // 1_000_000
        keys = None if columns.key is None else binary_column(rows.column(columns.key))
        encoder = RowEncoder(
            RowSource(
                row_count=len(rows),
                keys=keys,
                values=binary_column(rows.column(columns.value)),
                headers=None if columns.headers is None else headers_column(rows.column(columns.headers)),
                timestamps=None if columns.timestamp is None else milliseconds(rows.column(columns.timestamp), now_ms),
                now_ms=now_ms,
            )
        )
        self.digest += encoder.digest(*self._numbers(rows), seed=_seed(topic))
        partitions, self._next_partition[topic] = encoder.partitions(
            keys,
            count,
            chosen=self._named_partitions(topic, rows, count),
            run_bytes=options.batch_bytes,
            first_partition=self._next_partition.get(topic, self._task),
        )
        size = 0
        for partition, members in rows_by_partition(partitions, len(rows), count):
            for batch in encoder.encode(
                members, batch_size=options.batch_bytes, compression=self._codec, level=options.compression_level
            ):
                self._check_size(len(batch.data))
                size += len(batch.data)
                self._emit(topic, partition, batch.record_count, batch.data)
        before = self.volumes.get(topic, Volume(0, 0))
        self.volumes[topic] = Volume(before.rows + len(rows), before.bytes + size)

    def _numbers(self, rows: pa.RecordBatch) -> Iterator[bytes]:
        """What belongs to a row beside its fields, if the query gives it: what we choose differs from run to run."""
        columns = self._plan.columns
        if columns.partition is not None:
            yield integers(rows.column(columns.partition)).tobytes()
        if columns.timestamp is not None:
            yield milliseconds(rows.column(columns.timestamp), _NO_TIME)

    def _named_partitions(self, topic: str, rows: pa.RecordBatch, count: int) -> bytes | None:
        place = self._plan.columns.partition
        if place is None:
            return None
        named = rows.column(place)
        limits = pc.min_max(named).as_py()
        for wrong in (limits["min"], limits["max"]):
            if wrong is not None and not 0 <= wrong < count:
                raise UnknownTopic(
                    f"a row names partition {wrong} of topic {topic!r}, which has the partitions 0 to {count - 1}"
                )
        return integers(named, np.int32).tobytes()

    def _partition_count(self, topic: str) -> int:
        count = self._partition_counts.get(topic)
        if count is None:
            try:
                count = self._partition_counts[topic] = self._find_topic(topic)
            except UnknownTopic as error:
                known = sorted(self._plan.partition_counts)
                named = ", ".join(known[:_MOST_NAMES_SHOWN]) + (", ..." if len(known) > _MOST_NAMES_SHOWN else "")
                raise UnknownTopic(
                    f"a row names a topic that does not exist (existing topics: {named or 'none'}): {error}"
                ) from error
        return count

    def _ask_broker(self, topic: str) -> int:
        with explained(f"looking up topic {topic!r}", self._options):
            return run(partition_count(self._options, topic))

    def _check_size(self, size: int) -> None:
        """Only a row that is too large by itself makes a batch that is."""
        limit = self._options.max_record_bytes
        if size > limit:
            raise MessageTooLarge(
                f"a row takes {size} bytes, and kafka.max.request.size is {limit}. Raise it, and the topic's "
                "max.message.bytes with it, or make the row smaller"
            )
