"""The source: topics as a DataFrame, for `spark.read` and `spark.readStream`. These classes are what Spark calls.

Options are read in `tidelog.spark.source.options`, ranges are planned in `tidelog.spark.source.ranges`, the driver asks
brokers through `tidelog.spark.source.cluster`, and workers read with `tidelog.spark.source.fetch`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.spark.source.cluster import Selected, SourceCluster, SourceProblem
from tidelog.spark.source.fetch import INSTRUCTION, DataLost, read_range
from tidelog.spark.source.offsets import PartitionOffsets, offsets_from_json, offsets_to_json
from tidelog.spark.source.options import SourceOptions, batch_options, stream_options
from tidelog.spark.source.ranges import OffsetRange, limit_offsets, new_offsets, plan_ranges, split_ranges
from tidelog.spark.source.schema import source_columns
from tidelog.spark.source.self_limited import for_this_spark
from tidelog.spark.versions.data_sources import (
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from tidelog.spark.workers.errors import spoken

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

logger = logging.getLogger(__name__)

SparkOffset = dict[str, dict[str, int]]


def batch_reader(options: Mapping[str, str], schema: StructType) -> BatchReader:
    return BatchReader(_with_fixed_columns(batch_options(options), schema))


def stream_reader(options: Mapping[str, str], schema: StructType) -> DataSourceStreamReader:
    return for_this_spark(StreamReader(_with_fixed_columns(stream_options(options), schema)))


def _with_fixed_columns(options: SourceOptions, schema: StructType) -> SourceOptions:
    if schema.names != source_columns(include_headers=options.include_headers).names:
        raise SourceProblem(
            "the tidelog source has fixed columns and takes no schema. Leave out `.schema(...)`, and decode key and "
            "value with DataFrame operations"
        )
    return options


@dataclass
class RangePartition(InputPartition):
    """One range for one task, and the topic that it was planned for."""

    wanted: OffsetRange
    topic_id: Uuid


@spoken
class BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        with SourceCluster(options) as cluster:
            selected = cluster.select()
            _refuse_missing(selected.missing)
            starting = cluster.resolve(options.starting, selected.partitions, starting=True).offsets
            ending = cluster.resolve(options.ending, selected.partitions, starting=False).offsets
        ranges = [
            OffsetRange(partition=partition, start=starting[partition], end=ending[partition])
            for partition in sorted(selected.partitions)
        ]
        return _tasks(ranges, options, selected.topic_ids)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition, self._options)


@spoken
class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lives in one process of the driver for as long as the query runs, except for `read`, which workers call.

    Spark does not keep where a query began: after a crash in its first batch it asks again. The answer "at the end"
    would then be another one, and records in between would be lost. So partitions that begin at their end take no part
    in the first batch, which makes it empty for them whenever it is run; they are read from the second batch on.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._cluster: SourceCluster | None = None
        self._initial: PartitionOffsets | None = None
        self._started_at_end: frozenset[TopicPartition] = frozenset()
        # Start and end of the first batch that began at `_initial`, once it was run.
        self._first_batch: tuple[PartitionOffsets, PartitionOffsets] | None = None
        self._topic_ids: dict[str, Uuid] = {}
        # Topics that were recreated while the query ran, with the query's offsets when that was seen.
        self._recreated: dict[str, PartitionOffsets] = {}
        self._latest: PartitionOffsets | None = None
        self._available_now = False
        self._target: PartitionOffsets | None = None
        self._last_batch_at: float | None = None

    # -- Spark calls these in the driver -------------------------------------------------------------------------

    def initialOffset(self) -> SparkOffset:
        if self._initial is None:
            selected = self._ask.select()
            _refuse_missing(selected.missing)
            self._remember(selected)
            resolved = self._ask.resolve(self._options.starting, selected.partitions, starting=True)
            self._initial = resolved.offsets
            self._started_at_end = resolved.at_end
        return offsets_to_json(self._initial)

    def getDefaultReadLimit(self) -> ReadLimit:
        # Spark knows no limit that is both; the options are looked at again in `latestOffset`.
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def latestOffset(self, start: Mapping[str, Any], limit: ReadLimit) -> SparkOffset:
        begin = offsets_from_json(start)
        latest = self._find_latest(begin)
        self._latest = latest
        earliest = self._ask.earliest(latest.keys() - begin.keys())
        end: PartitionOffsets = latest
        if not isinstance(limit, ReadAllAvailable):
            if self._wait_for_more(begin, latest, earliest):
                return offsets_to_json(begin)
            if isinstance(limit, ReadMaxRows):
                end = limit_offsets(limit.max_rows, begin, latest, earliest)
        if begin == self._initial and self._first_batch is None:
            end = {**end, **{part: begin[part] for part in self._started_at_end if part in end}}
        return offsets_to_json(end)

    def reportLatestOffset(self) -> SparkOffset | None:
        return None if self._latest is None else offsets_to_json(self._latest)

    def prepareForTriggerAvailableNow(self) -> None:
        self._available_now = True

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> Sequence[InputPartition]:
        begin, until = offsets_from_json(start), offsets_from_json(end)
        if not self._topic_ids:
            # The first thing after a restart may be to run a batch that was planned before it.
            self._remember(self._ask.select(known={partition.topic for partition in begin}))
        recreated = {topic for topic, offsets in self._recreated.items() if offsets == _of_topic(begin, topic)}
        unknown = {part for part in until if part not in begin or part.topic in recreated}
        there = {part for part in unknown if part.topic in self._topic_ids}
        if begin == self._initial and self._first_batch is None:
            self._first_batch = (begin, until)
        plan = plan_ranges(
            begin,
            until,
            self._ask.earliest(there),
            recreated=recreated,
            started_at_end=self._started_at_end if self._first_batch == (begin, until) else (),
        )
        for loss in plan.losses:
            self._report_loss(loss)
        ranges = []
        for one in plan.ranges:
            if one.partition.topic in self._topic_ids:
                ranges.append(one)
            else:
                self._report_loss(f"topic {one.partition.topic!r} no longer exists")
        return _tasks(ranges, self._options, self._topic_ids)

    def commit(self, end: Mapping[str, Any]) -> None:
        """Spark keeps the offsets in its checkpoint; there is nothing to do here."""

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    # -- and this one in workers ---------------------------------------------------------------------------------

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition, self._options)

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def _ask(self) -> SourceCluster:
        if self._cluster is None:
            self._cluster = SourceCluster(self._options)
        return self._cluster

    def _find_latest(self, begin: PartitionOffsets) -> PartitionOffsets:
        if self._target is not None:
            return self._target
        known = {partition.topic for partition in begin}
        selected = self._ask.select(known=known)
        _refuse_missing(selected.missing - known)
        for topic in sorted(selected.missing):
            self._report_loss(f"topic {topic!r} no longer exists")
        for topic in self._remember(selected):
            self._report_loss(f"topic {topic!r} was deleted and recreated")
            self._recreated[topic] = _of_topic(begin, topic)
        fresh = {partition: offset for partition, offset in begin.items() if partition.topic not in self._recreated}
        latest = self._ask.latest_from(selected.partitions, fresh)
        if self._available_now:
            # What comes later is for the next run.
            self._target = latest
        return latest

    def _remember(self, selected: Selected) -> list[str]:
        """Take note of the topics' ids; returns those that are not the topics they were."""
        changed = [
            topic for topic, topic_id in selected.topic_ids.items() if self._topic_ids.get(topic, topic_id) != topic_id
        ]
        self._topic_ids.update(selected.topic_ids)
        return changed

    def _wait_for_more(self, begin: PartitionOffsets, latest: PartitionOffsets, earliest: PartitionOffsets) -> bool:
        """Whether this batch should wait, for minOffsetsPerTrigger. It does not where the end is known."""
        least = self._options.min_offsets_per_trigger
        if least is None or self._available_now:
            return False
        now = time.monotonic() * 1000
        since = self._last_batch_at
        # The first batch of a query is not held back, as in Spark's own connector.
        overdue = since is None or now - since >= self._options.max_trigger_delay_ms
        if not overdue and new_offsets(begin, latest, earliest) < least:
            return True
        self._last_batch_at = now
        return False

    def _report_loss(self, what: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLost(f"{what}. {INSTRUCTION}")
        logger.warning("%s. The query continues, since failOnDataLoss=false", what)


def _tasks(
    ranges: Sequence[OffsetRange], options: SourceOptions, topic_ids: Mapping[str, Uuid]
) -> list[InputPartition]:
    pieces = split_ranges(ranges, min_partitions=options.min_partitions, max_records=options.max_records_per_partition)
    return [RangePartition(piece, topic_ids[piece.partition.topic]) for piece in pieces]


def _read(partition: InputPartition, options: SourceOptions) -> Iterator[pa.RecordBatch]:
    # Where there is nothing to read, Spark makes up a partition of its own.
    if isinstance(partition, RangePartition):
        return read_range(partition.wanted, partition.topic_id, options)
    return iter(())


def _refuse_missing(topics: Collection[str]) -> None:
    if topics:
        named = ", ".join(repr(topic) for topic in sorted(topics))
        raise SourceProblem(f"there is no topic {named}: create it first, or name another topic")


def _of_topic(offsets: PartitionOffsets, topic: str) -> PartitionOffsets:
    return {partition: offset for partition, offset in offsets.items() if partition.topic == topic}
