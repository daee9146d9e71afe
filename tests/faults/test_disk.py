"""A broker with two log directories, one of which fails: a clear error there, the other one goes on (scenario 23)."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from server.conftest import create_topic
from support.bad_disk import TwoDisks, two_disks
from support.decoding import decode_all
from support.processes import HANG_SECONDS
from support.raw_client import RawClient

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.records.record import encode_batch
from tidelog.server.failures import StartFailure

PARTITIONS = 4


@pytest.fixture
def disks(tmp_path: Path) -> TwoDisks:
    return two_disks(tmp_path)


async def produce_everywhere(client: RawClient, number: int, topic: str = "t") -> dict[int, int]:
    """Error codes by partition."""
    codes = {}
    for partition in range(PARTITIONS):
        answer = await client.produce(topic, b"%d-%d" % (partition, number), partition=partition)
        codes[partition] = answer.error_code
    return codes


async def read(client: RawClient, topic_id: bytes, partition: int) -> tuple[int, list[bytes | None]]:
    wanted = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)
    topics = [FetchTopic(topic_id=topic_id, partitions=[wanted])]
    response = await client.ask(FetchRequest(max_wait_ms=0, session_epoch=-1, topics=topics))
    answer = response.responses[0].partitions[0]
    return answer.error_code, [record.value for record in decode_all(answer.records or b"")]


async def failed_directories(client: RawClient) -> list[str]:
    response = await client.ask(DescribeLogDirsRequest(topics=None))
    return [result.log_dir for result in response.results if result.error_code == ErrorCode.KAFKA_STORAGE_ERROR]


async def wait_until(condition: Callable[[], bool], within_seconds: float = HANG_SECONDS) -> None:
    deadline = time.monotonic() + within_seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not come true"
        await asyncio.sleep(0.01)


async def test_scenario_23_failed_write_takes_one_directory_offline_and_nothing_is_lost(
    disks: TwoDisks, caplog: pytest.LogCaptureFixture
) -> None:
    async with disks.running() as client:
        topic_id = await create_topic(client, "t", PARTITIONS)
        assert set((await produce_everywhere(client, 1)).values()) == {0}
        lost, kept = disks.partitions(disks.bad), disks.partitions(disks.good)
        assert len(lost) == len(kept) == 2
        disks.disk.fail(errno.EIO, "write", "read", "sync", "open", "create", "rename")
        for number in (2, 3):
            codes = await produce_everywhere(client, number)
            assert {codes[partition] for partition in lost} == {ErrorCode.KAFKA_STORAGE_ERROR}
            assert {codes[partition] for partition in kept} == {0}
        for partition in kept:
            assert await read(client, topic_id, partition) == (0, [b"%d-%d" % (partition, at) for at in (1, 2, 3)])
        for partition in lost:
            assert (await read(client, topic_id, partition))[0] == ErrorCode.KAFKA_STORAGE_ERROR
        assert await failed_directories(client) == [str(disks.bad)]
        assert os.strerror(errno.EIO) in caplog.text
        # New topics go where there is room.
        await create_topic(client, "new", 2)
        assert disks.partitions(disks.good, "new") == [0, 1]
        assert (await client.produce("new", b"x")).error_code == 0
    disks.disk.error = None
    async with disks.running() as client:
        for partition in lost:
            code, values = await read(client, topic_id, partition)
            # What was refused may be in the log or not; what was acknowledged is.
            assert code == 0
            assert values[0] == b"%d-1" % partition
            assert len(values) <= 2
        assert set((await produce_everywhere(client, 4)).values()) == {0}


async def test_scenario_23_full_directory_stays_readable_and_takes_records_again_when_there_is_room(
    disks: TwoDisks,
) -> None:
    async with disks.running() as client:
        topic_id = await create_topic(client, "t", PARTITIONS)
        assert set((await produce_everywhere(client, 1)).values()) == {0}
        full, others = disks.partitions(disks.bad), disks.partitions(disks.good)
        disks.disk.fail(errno.ENOSPC, "write", "create")
        for number in (2, 3):
            codes = await produce_everywhere(client, number)
            assert {codes[partition] for partition in full} == {ErrorCode.KAFKA_STORAGE_ERROR}
            assert {codes[partition] for partition in others} == {0}
        for partition in full:
            assert await read(client, topic_id, partition) == (0, [b"%d-1" % partition])
        assert await failed_directories(client) == []
        disks.disk.error = None
        assert set((await produce_everywhere(client, 4)).values()) == {0}
        for partition in full:
            assert await read(client, topic_id, partition) == (0, [b"%d-%d" % (partition, at) for at in (1, 4)])
    async with disks.running() as client:
        for partition in full:
            assert await read(client, topic_id, partition) == (0, [b"%d-%d" % (partition, at) for at in (1, 4)])


async def test_failed_flush_is_never_tried_again(disks: TwoDisks) -> None:
    async with disks.running() as client:
        await create_topic(client, "t", PARTITIONS, flush_messages="1")
        assert set((await produce_everywhere(client, 1)).values()) == {0}
        lost, kept = disks.partitions(disks.bad), disks.partitions(disks.good)
        disks.disk.fail(errno.EIO, "sync")
        assert disks.node is not None
        replicas = disks.node.node.replicas
        await produce_everywhere(client, 2)
        await wait_until(lambda: all(replicas.get("t", partition).offline for partition in lost))  # type: ignore[union-attr]
        disks.disk.error = None
        codes = await produce_everywhere(client, 3)
        # The disk would take it now, but what it did with the earlier records is unknown.
        assert {codes[partition] for partition in lost} == {ErrorCode.KAFKA_STORAGE_ERROR}
        assert {codes[partition] for partition in kept} == {0}


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC], ids=["broken", "full"])
async def test_compaction_on_a_failing_disk_stops_there_and_goes_on_elsewhere(disks: TwoDisks, error: int) -> None:
    def keyed(number: int) -> bytes:
        return encode_batch([(int(time.time() * 1000), b"k%d" % (number % 3), b"." * 300, ())])

    compacted: dict[str, Any] = {
        "cleanup_policy": "compact",
        "internal_segment_bytes": "5000",
        "min_cleanable_dirty_ratio": "0.01",
        # Nothing is compacted before the disk is broken.
        "min_compaction_lag_ms": "3600000",
    }
    async with disks.running() as client:
        await create_topic(client, "t", PARTITIONS, **compacted)
        for number in range(60):
            for partition in range(PARTITIONS):
                assert (await client.produce_batch("t", keyed(number), partition=partition)).error_code == 0
        lost, kept = disks.partitions(disks.bad), disks.partitions(disks.good)
        assert disks.node is not None
        replicas = disks.node.node.replicas
        disks.disk.fail(error, "write")
        now = AlterableConfig(name="min.compaction.lag.ms", config_operation=0, value="0")
        resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=[now])
        altered = await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
        assert altered.responses[0].error_code == 0
        if error == errno.EIO:
            await wait_until(lambda: all(replicas.get("t", partition).offline for partition in lost))  # type: ignore[union-attr]
        await wait_until(lambda: all(replicas.get("t", partition).log.cleaned_up_to for partition in kept))  # type: ignore[union-attr]
        assert all(replicas.get("t", partition).log.cleaned_up_to is None for partition in lost)  # type: ignore[union-attr]
        if error == errno.ENOSPC:
            # It goes on there as soon as there is room.
            disks.disk.error = None
            await wait_until(lambda: all(replicas.get("t", partition).log.cleaned_up_to for partition in lost))  # type: ignore[union-attr]
    disks.disk.error = None
    async with disks.running() as client:
        for partition in range(PARTITIONS):
            assert (await client.produce_batch("t", keyed(1), partition=partition)).error_code == 0


@pytest.mark.parametrize("kinds", [("make_directory",), ("list",), ("read",), ("open",)], ids=lambda kinds: kinds[0])
async def test_directory_that_is_broken_at_the_start_is_left_out(disks: TwoDisks, kinds: tuple[str, ...]) -> None:
    async with disks.running() as client:
        topic_id = await create_topic(client, "t", PARTITIONS)
        assert set((await produce_everywhere(client, 1)).values()) == {0}
    lost, kept = disks.partitions(disks.bad), disks.partitions(disks.good)
    disks.disk.fail(errno.EIO, *kinds)
    async with disks.running() as client:
        codes = await produce_everywhere(client, 2)
        assert {codes[partition] for partition in lost} == {ErrorCode.KAFKA_STORAGE_ERROR}
        assert {codes[partition] for partition in kept} == {0}
        assert await failed_directories(client) == [str(disks.bad)]
        # They must not begin anew, empty, in the other directory.
        assert disks.partitions(disks.good) == kept
        await create_topic(client, "new", 2)
        assert disks.partitions(disks.good, "new") == [0, 1]
    disks.disk.error = None
    async with disks.running() as client:
        for partition in lost:
            assert await read(client, topic_id, partition) == (0, [b"%d-1" % partition])
        for partition in kept:
            assert await read(client, topic_id, partition) == (0, [b"%d-1" % partition, b"%d-2" % partition])


async def test_nothing_starts_without_the_directory_of_the_metadata(disks: TwoDisks) -> None:
    disks.disk.fail(errno.EIO, "make_directory")
    with pytest.raises(StartFailure, match=f"cannot use the log directory {disks.bad}: Input/output error"):
        async with disks.running(**{"metadata.log.dir": str(disks.bad)}):
            pass
