"""What tasks and drivers of a mirror do, against a broker but without Spark."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from support.client_reading import read_all

from tidelog.client.admin import Admin
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.model.ids import TopicPartition
from tidelog.spark.mirror.progress import MirrorRefused
from tidelog.spark.mirror.runs import OffsetRun, read_runs
from tidelog.spark.mirror.sink import MirrorMode, MirrorOutput, mirror_group
from tidelog.spark.sink.columns import SinkColumns
from tidelog.spark.sink.options import SinkOptions, sink_options
from tidelog.spark.sink.plan import SinkPlan, TaskPlace
from tidelog.spark.sink.staging import plan_folder
from tidelog.testing.broker_thread import BrokerThread

TOPIC = "orders"
GROUP = mirror_group("m")
MODE = MirrorMode(GROUP, offset_column=4)
HEADERS = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))


@pytest.fixture
def options(tidelog_broker: BrokerThread, tmp_path: Path) -> SinkOptions:
    async def create() -> None:
        async with Admin(tidelog_broker.bootstrap_servers) as admin:
            await admin.create_topic(TOPIC, partitions=2)

    asyncio.run(create())
    return sink_options(
        {"kafka.bootstrap.servers": tidelog_broker.bootstrap_servers, "checkpointLocation": str(tmp_path)}
    )


def task(
    options: SinkOptions, *chunks: Sequence[int], partition: int = 0, query: str = "q", batch: int = 0, number: int = 0
) -> MirrorOutput:
    """The output of a task that reads these source offsets, in chunks as Spark hands them over."""
    rows = [
        pa.RecordBatch.from_arrays(
            [
                pa.array([TOPIC] * len(offsets)),
                pa.array([partition] * len(offsets), pa.int32()),
                pa.array([f"{partition}-{offset}".encode() for offset in offsets], pa.binary()),
                pa.array([[]] * len(offsets), HEADERS),
                pa.array(offsets, pa.int64()),
            ],
            names=["topic", "partition", "value", "headers", "offset"],
        )
        for offsets in chunks
    ]
    plan = SinkPlan(
        options=options,
        columns=SinkColumns(topic=0, partition=1, value=2, headers=3),
        partition_counts={TOPIC: 2},
        folder=plan_folder(options),
    )
    place = TaskPlace(query_id=query, batch=batch, task=number, attempt=number)
    return MODE.run_task(plan, place, iter(rows))


def visible(options: SinkOptions) -> list[str]:
    servers = options.client["bootstrap.servers"]
    records = asyncio.run(read_all(servers, TOPIC, isolation_level="read_committed"))
    return [(one.value or b"").decode() for one in sorted(records, key=lambda one: (one.partition, one.offset))]


def position(options: SinkOptions, partition: int = 0) -> OffsetAndMetadata:
    async def fetch() -> OffsetAndMetadata:
        async with Admin(options.client["bootstrap.servers"]) as admin:
            return (await admin.list_group_offsets(GROUP))[TopicPartition(TOPIC, partition)]

    return asyncio.run(fetch())


def test_records_and_source_offsets_are_committed_together(options: SinkOptions) -> None:
    MODE.commit(options, [task(options, [0, 1], [2, 5, 6]), task(options, [3], partition=1, number=1)], 0)
    assert visible(options) == ["0-0", "0-1", "0-2", "0-5", "0-6", "1-3"]
    assert position(options).offset == 7
    assert read_runs(position(options).metadata) == [OffsetRun(0, 0, 3), OffsetRun(5, 3, 2)]
    assert read_runs(position(options, 1).metadata) == [OffsetRun(3, 0, 1)]
    MODE.commit(options, [task(options, [7, 8], batch=1)], 1)
    # One offset of the target is the marker of the first transaction.
    assert read_runs(position(options).metadata) == [OffsetRun(0, 0, 3), OffsetRun(5, 3, 2), OffsetRun(7, 6, 2)]


def test_a_batch_that_is_run_again_is_mirrored_once_however_it_is_split(options: SinkOptions) -> None:
    MODE.commit(options, [task(options, [0, 1, 2, 3])], 0)
    MODE.commit(options, [task(options, [0, 1]), task(options, [2, 3], number=1)], 0)
    assert visible(options) == ["0-0", "0-1", "0-2", "0-3"]


def test_a_batch_without_records_does_nothing(options: SinkOptions) -> None:
    MODE.commit(options, [task(options)], 0)
    assert visible(options) == []


def test_a_new_checkpoint_goes_on_and_the_old_one_is_refused(options: SinkOptions) -> None:
    MODE.commit(options, [task(options, [0, 1])], 0)
    MODE.commit(options, [task(options, [2, 3, 4], query="other")], 0)
    with pytest.raises(MirrorRefused, match="another run of this mirror is ahead"):
        MODE.commit(options, [task(options, [2, 3, 4, 5], batch=1)], 1)
    assert visible(options) == ["0-0", "0-1", "0-2", "0-3", "0-4"]


def test_a_target_that_has_forgotten_its_offsets_is_refused(options: SinkOptions) -> None:
    with pytest.raises(MirrorRefused, match="has no offsets"):
        MODE.commit(options, [task(options, [4, 5], batch=3)], 3)
    assert visible(options) == []
