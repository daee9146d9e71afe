"""The sink of a mirror: the exactly-once sink, whose transactions carry the source offsets instead of a batch number.

Its transactional id is that of the mirror, not of the query: a mirror that was restarted with another checkpoint
fences the one before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.offsets.committed import OffsetAndMetadata, fetch_committed
from tidelog.client.producer.delivery import Delivery
from tidelog.client.producer.producer import Producer
from tidelog.model.ids import TopicPartition
from tidelog.spark.mirror.progress import is_last_batch, is_mirrored
from tidelog.spark.mirror.runs import Stretch, extend, joined, match, read_runs, stretches, write_runs
from tidelog.spark.mirror.topics import MirroredTopics, keep_topics_in_step
from tidelog.spark.sink.batch import BatchMode
from tidelog.spark.sink.batch_identity import BatchIdentity
from tidelog.spark.sink.columns import SinkColumns, sink_columns
from tidelog.spark.sink.crash_points import crash_point
from tidelog.spark.sink.modes import identity_of
from tidelog.spark.sink.note_store import fetch_note, send_note
from tidelog.spark.sink.options import SinkOptions, sink_options
from tidelog.spark.sink.plan import SinkPlan, TaskOutput, TaskPlace
from tidelog.spark.sink.publish import Publication
from tidelog.spark.sink.writers import MicroBatchWriter
from tidelog.spark.versions.data_sources import DataSource
from tidelog.spark.workers.errors import spoken
from tidelog.spark.workers.planning import planned

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "tidelog-mirror"
SOURCE_PREFIX = "source."
OFFSET = "offset"

NAME = "mirror"
TOPICS = "mirrorTopics"
PATTERN = "mirrorPattern"
TOPIC_PREFIX = "mirrorPrefix"
_OWN = frozenset({NAME, TOPICS.lower(), PATTERN.lower(), TOPIC_PREFIX.lower()})


def mirror_group(name: str) -> str:
    """The group at the target that holds the source offsets, and the transactional id."""
    return f"tidelog-mirror-{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorOutput(TaskOutput):
    """What a task has encoded, and which source offsets it is, by partition of the target."""

    stretches: Mapping[TopicPartition, tuple[Stretch, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorPublication(Publication):
    """A micro-batch of a mirror. `name` is transactional id and group."""

    def stretches(self) -> dict[TopicPartition, list[Stretch]]:
        """In the order of the tasks, which is the order of the records."""
        found: dict[TopicPartition, list[Stretch]] = {}
        for output in self.outputs:
            assert isinstance(output, MirrorOutput)
            for partition, parts in output.stretches.items():
                found.setdefault(partition, []).extend(parts)
        return {partition: joined(parts) for partition, parts in found.items()}

    @property
    def note_group(self) -> str:
        """What the last batch was is noted apart from the offsets, which belong to the mirrored topics."""
        return f"{self.name}.batch"

    def identity(self) -> BatchIdentity:
        """Whether it is the same start of the query does not matter here, but whether it is the same query does."""
        one = identity_of([output.written for output in self.outputs])
        return replace(one, run=self.outputs[0].written.place.query_id)

    async def is_published(self, cluster: Cluster) -> bool:
        committed = await self._committed(cluster)
        note = await fetch_note(cluster, self.options, self.note_group)
        crash_point("after-offset-fetch", self.batch)
        if is_last_batch(self.identity(), note, group=self.note_group):
            return True
        offsets = {partition: position.offset for partition, position in committed.items()}
        spans = {partition: range(parts[0].first, parts[-1].end) for partition, parts in self.stretches().items()}
        # A batch without records is noted, so that the next one goes on behind it.
        return bool(spans) and is_mirrored(self.batch, spans, offsets, group=self.name)

    async def leave_note(self, producer: Producer, deliveries: Sequence[Delivery]) -> None:
        placed: dict[TopicPartition, list[Stretch]] = {}
        entries = [entry for output in self.outputs for entry in output.entries]
        for entry, delivery in zip(entries, deliveries, strict=True):
            base = (await delivery).offset
            placed.setdefault(TopicPartition(entry.topic, entry.partition), []).append(Stretch(base, entry.rows))
        known = await self._committed(producer.cluster)
        positions = {}
        for partition, parts in self.stretches().items():
            history = read_runs(known[partition].metadata) if partition in known else []
            runs = extend(history, match(parts, placed[partition]))
            positions[partition] = OffsetAndMetadata(offset=parts[-1].end, metadata=write_runs(runs))
        if positions:
            await producer.send_offsets(positions, self.name)
        await send_note(producer, self.options, self.note(), self.note_group)

    async def _committed(self, cluster: Cluster) -> dict[TopicPartition, OffsetAndMetadata]:
        return await fetch_committed(cluster, self.name, None, require_stable=True)


@dataclass(frozen=True)
class MirrorMode(BatchMode):
    """`offset_column` is where rows hold their source offset."""

    name: str
    offset_column: int

    def run_task(self, plan: SinkPlan, place: TaskPlace, rows: Iterator[pa.RecordBatch]) -> MirrorOutput:
        found: dict[TopicPartition, list[Stretch]] = {}
        output = super().run_task(plan, place, self._watched(plan.columns, rows, found))
        return MirrorOutput(
            written=output.written,
            entries=output.entries,
            content=output.content,
            folder=output.folder,
            stretches={partition: tuple(joined(parts)) for partition, parts in found.items()},
        )

    def publication(
        self, options: SinkOptions, outputs: Sequence[TaskOutput], query_id: str, batch: int
    ) -> Publication:
        return MirrorPublication(options=options, name=self.name, batch=batch, outputs=outputs)

    def _watched(
        self, columns: SinkColumns, batches: Iterator[pa.RecordBatch], found: dict[TopicPartition, list[Stretch]]
    ) -> Iterator[pa.RecordBatch]:
        """Passes rows on and notes their source offsets."""
        assert columns.topic is not None
        assert columns.partition is not None
        for rows in batches:
            for topic, of_topic in _groups(rows, columns.topic):
                for partition, of_partition in _groups(of_topic, columns.partition):
                    offsets = of_partition.column(self.offset_column).to_numpy(zero_copy_only=False)
                    found.setdefault(TopicPartition(topic, partition), []).extend(stretches(offsets))
            yield rows


@spoken
class MirrorSink(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def streamWriter(self, schema: StructType, overwrite: bool) -> MirrorWriter:
        del overwrite
        given = {name.lower(): text for name, text in self.options.items()}
        topics = MirroredTopics(
            source={
                name.removeprefix(SOURCE_PREFIX): text for name, text in given.items() if name.startswith(SOURCE_PREFIX)
            },
            names=tuple(filter(None, given.get(TOPICS.lower(), "").split(","))),
            pattern=given.get(PATTERN.lower(), ""),
            prefix=given.get(TOPIC_PREFIX.lower(), ""),
        )
        own = {name: text for name, text in given.items() if name not in _OWN and not name.startswith(SOURCE_PREFIX)}
        # The topics of a mirror are created as they are at the source.
        options = replace(sink_options(own), create_topics=False)
        mode = MirrorMode(mirror_group(given[NAME]), schema.fieldNames().index(OFFSET))
        return planned(MirrorWriter(options, sink_columns(schema, options), mode, topics))


@spoken
class MirrorWriter(MicroBatchWriter):
    def __init__(self, options: SinkOptions, columns: SinkColumns, mode: MirrorMode, topics: MirroredTopics) -> None:
        super().__init__(options, columns)
        self._mode = mode
        self._topics = topics

    def plan(self) -> None:
        # Before partitions are counted for this micro-batch: it may be the first one with a new topic.
        asyncio.run(keep_topics_in_step(self._topics, self._options.connection()))
        super().plan()


def _groups(rows: pa.RecordBatch, column: int) -> Iterator[tuple[Any, pa.RecordBatch]]:
    """Rows by the value of a column, in their order. Nearly always there is one value."""
    import pyarrow.compute as pc

    values = rows.column(column).unique().to_pylist()
    for value in values:
        yield value, rows if len(values) == 1 else rows.filter(pc.equal(rows.column(column), value))
