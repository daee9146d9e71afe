"""Old records go: clients and files see it, and it survives a restart."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from server.conftest import create_topic
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, raw_client

import tidelog
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tidelog.records.record import encode_batch

EARLIEST = -2
TOPIC_RESOURCE = 2
PROPERTIES = {"log.retention.check.interval.ms": "20"}


@pytest.fixture
async def broker() -> AsyncIterator[tidelog.Broker]:
    async with tidelog.Broker(properties=PROPERTIES) as running:
        yield running


async def wait_until(condition: Callable[[], bool], within_seconds: float = HANG_SECONDS) -> None:
    deadline = time.monotonic() + within_seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not come true"
        await asyncio.sleep(0.01)


def now_ms() -> int:
    return int(time.time() * 1000)


async def earliest(client: RawClient, topic: str) -> int:
    wanted = ListOffsetsPartition(partition_index=0, timestamp=EARLIEST)
    response = await client.ask(
        ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[wanted])])
    )
    offset: int = response.topics[0].partitions[0].offset
    return offset


async def fetch_code(client: RawClient, topic_id: bytes, offset: int) -> tuple[int, int]:
    """(error code, log start offset) that a reader is told."""
    wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1000)
    request = FetchRequest(max_wait_ms=0, session_epoch=-1, topics=[FetchTopic(topic_id=topic_id, partitions=[wanted])])
    partition = (await client.ask(request)).responses[0].partitions[0]
    return partition.error_code, partition.log_start_offset


async def alter(client: RawClient, topic: str, **config: str) -> None:
    configs = [AlterableConfig(name=key.replace("_", "."), value=value) for key, value in config.items()]
    resource = AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=topic, configs=configs)
    response = await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
    assert response.responses[0].error_code == 0


async def test_records_older_than_retention_go_with_their_files(broker: tidelog.Broker, client: RawClient) -> None:
    """As the study notes show it: retention.ms is set low, and at the next check the old file is gone."""
    topic_id = await create_topic(client, "t", internal_segment_bytes="1000", file_delete_delay_ms="0")
    for _ in range(30):
        await client.produce("t", b"x" * 200, timestamp=now_ms() - 60_000)
    folder = Path(broker.data_dir) / "t-0"
    assert len(list(folder.glob("*.log"))) > 5
    assert await earliest(client, "t") == 0
    await alter(client, "t", retention_ms="1000")
    # Also what is in the active segment, which nobody writes to any more.
    await wait_until(lambda: [path.stem for path in folder.glob("*.log")] == [f"{30:020d}"])
    assert await earliest(client, "t") == 30
    assert (await fetch_code(client, topic_id, 5))[0] == ErrorCode.OFFSET_OUT_OF_RANGE
    assert await fetch_code(client, topic_id, 30) == (0, 30)
    await wait_until(lambda: not list(folder.glob("*.deleted")))
    assert (await client.produce("t", b"next")).base_offset == 30


async def test_log_is_kept_within_its_size(broker: tidelog.Broker, client: RawClient) -> None:
    await create_topic(client, "t", internal_segment_bytes="1000", retention_bytes="3000", file_delete_delay_ms="0")
    for _ in range(60):
        await client.produce("t", b"x" * 200, timestamp=now_ms())
    folder = Path(broker.data_dir) / "t-0"
    await wait_until(lambda: sum(path.stat().st_size for path in folder.glob("*.log")) < 4000)
    assert 40 < await earliest(client, "t") < 60


async def test_files_stay_for_the_delay(broker: tidelog.Broker, client: RawClient) -> None:
    await create_topic(client, "t", retention_ms="1000", file_delete_delay_ms="60000")
    await client.produce("t", b"x", timestamp=now_ms() - 60_000)
    folder = Path(broker.data_dir) / "t-0"
    await wait_until(lambda: bool(list(folder.glob("*.log.deleted"))))
    assert await earliest(client, "t") == 1


async def test_segments_are_rolled_by_time_when_something_is_written(broker: tidelog.Broker, client: RawClient) -> None:
    await create_topic(client, "t", segment_ms="1000")
    start = now_ms() - 100_000
    for number in range(4):
        await client.produce("t", b"x", timestamp=start + number * 700)
    folder = Path(broker.data_dir) / "t-0"
    assert sorted(int(path.stem) for path in folder.glob("*.log")) == [0, 2]


async def test_deleted_records_stay_deleted(tmp_path: Path) -> None:
    async with tidelog.Broker(data_dir=str(tmp_path), properties=PROPERTIES) as broker:
        async with raw_client(broker.bootstrap_servers) as client:
            topic_id = await create_topic(client, "t", internal_segment_bytes="1000", file_delete_delay_ms="0")
            for _ in range(20):
                await client.produce("t", b"x" * 200, timestamp=now_ms())
            wanted = DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=10)])
            response = await client.ask(DeleteRecordsRequest(topics=[wanted], timeout_ms=5000))
            assert response.topics[0].partitions[0].low_watermark == 10
            assert (await fetch_code(client, topic_id, 9))[0] == ErrorCode.OFFSET_OUT_OF_RANGE
            assert await fetch_code(client, topic_id, 10) == (0, 10)
            folder = tmp_path / "t-0"
            await wait_until(lambda: not (folder / f"{0:020d}.log").exists())
        # No mark of a clean end, as after a crash.
        await broker.running.abandon()
    async with (
        tidelog.Broker(data_dir=str(tmp_path)) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        assert await earliest(client, "t") == 10


async def test_compacted_and_deleting_topic_loses_old_segments(broker: tidelog.Broker, client: RawClient) -> None:
    await create_topic(
        client, "t", cleanup_policy="compact,delete", internal_segment_bytes="1000", retention_bytes="2500"
    )
    for number in range(40):
        batch = encode_batch([(now_ms(), b"key-%d" % number, b"x" * 200, ())])
        assert (await client.produce_batch("t", batch)).error_code == 0
    folder = Path(broker.data_dir) / "t-0"
    await wait_until(lambda: sum(path.stat().st_size for path in folder.glob("*.log")) < 3600)
    assert await earliest(client, "t") > 20
