"""AlterReplicaLogDirs: replicas move between the log directories of a running broker (KIP-113)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from server.conftest import create_topic
from support.decoding import decode_all
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, raw_client

from tidelog.client.admin import Admin
from tidelog.config.broker import BrokerConfig
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, format_uuid
from tidelog.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tidelog.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tidelog.server.broker import single_node_properties
from tidelog.server.startup import RunningNode
from tidelog.storage.log.reader import read_records


@asynccontextmanager
async def broker(first: Path, second: Path, **properties: str) -> AsyncIterator[tuple[RunningNode, RawClient]]:
    given = single_node_properties(
        host="127.0.0.1",
        port=0,
        data_dir=f"{first},{second}",
        properties={name.replace("_", "."): value for name, value in properties.items()},
    )
    running = RunningNode(BrokerConfig.from_properties(given))
    await running.start()
    try:
        host, port = running.addresses[0]
        async with raw_client(f"{host}:{port}") as client:
            yield running, client
    finally:
        await running.stop()


async def move(client: RawClient, path: Path, topic: str = "t", partition: int = 0) -> int:
    wanted = AlterReplicaLogDir(path=str(path), topics=[AlterReplicaLogDirTopic(name=topic, partitions=[partition])])
    response = await client.ask(AlterReplicaLogDirsRequest(dirs=[wanted]))
    return int(response.results[0].partitions[0].error_code)


async def where(client: RawClient) -> dict[tuple[str, bool], tuple[int, int]]:
    """(directory, whether it is a future replica) of partition 0, with its size and lag."""
    response = await client.ask(DescribeLogDirsRequest(topics=None))
    return {
        (result.log_dir, partition.is_future_key): (partition.partition_size, partition.offset_lag)
        for result in response.results
        for topic in result.topics
        for partition in topic.partitions
        if topic.name == "t"
    }


async def until(condition: Callable[[], bool], within_seconds: float = HANG_SECONDS) -> None:
    deadline = time.monotonic() + within_seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not come true"
        await asyncio.sleep(0.01)


def directory_of(running: RunningNode) -> str:
    replica = running.node.replicas.get("t", 0)
    assert replica is not None
    directory = running.node.replicas.directory_of(replica)
    assert directory is not None
    return directory.path


def copied_bytes(running: RunningNode) -> int:
    return sum(0 if each.future is None else each.future.size for each in running.node.moves.under_way())


def values(running: RunningNode) -> list[bytes | None]:
    replica = running.node.replicas.get("t", 0)
    assert replica is not None
    found: list[bytes | None] = []
    offset = replica.log.log_start_offset
    while offset < replica.log.log_end_offset:
        result = read_records(replica.log, offset, max_bytes=1 << 20)
        records = decode_all(result.records)  # type: ignore[union-attr]
        found += [record.value for record in records]
        offset = records[-1].offset + 1
    return found


async def test_a_replica_moves_while_it_is_written_to_and_nothing_is_lost(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    written: list[bytes | None] = []
    async with broker(first, second) as (running, client):
        await create_topic(client, "t", 1, segment_bytes="1048576")
        other = second if directory_of(running) == str(first) else first
        before = first if other == second else second

        async def write() -> None:
            value = b"%d" % len(written)
            answer = await client.produce("t", value + bytes(1000))
            assert answer.error_code == ErrorCode.NONE
            written.append(value + bytes(1000))

        for _ in range(200):
            await write()
        assert await move(client, other) == ErrorCode.NONE
        while directory_of(running) != str(other):
            assert len(written) < 5_000, "it does not move"
            await write()
        for _ in range(50):
            await write()
        assert values(running) == written
        assert set(await where(client)) == {(str(other), False)}
        assert [path.name for path in before.glob("t-0")] == []
        meta = next(each.meta for each in running.node.replicas.directories if each.path == str(other))
        assert meta is not None
        partition = running.node.image.partition("t", 0)
        assert partition is not None
        assert meta.directory_id is not None
        assert format_uuid(partition.directory_of(running.node.broker_id)) == format_uuid(meta.directory_id)
    async with broker(first, second) as (running, client):
        assert directory_of(running) == str(other)
        assert values(running) == written
        assert (await client.produce("t", b"more")).error_code == ErrorCode.NONE


async def test_a_replica_whose_first_records_were_deleted_moves_without_them(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    async with broker(first, second) as (running, client):
        await create_topic(client, "t", 1)
        # The start lies within a batch, which the copy has whole.
        assert (await client.produce("t", b"0", b"1", b"2")).error_code == 0
        below = DeleteRecordsPartition(partition_index=0, offset=2)
        await client.ask(DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=[below])]))
        other = second if directory_of(running) == str(first) else first
        assert await move(client, other) == 0
        await until(lambda: directory_of(running) == str(other))
        replica = running.node.replicas.get("t", 0)
        assert replica is not None
        assert (replica.log.log_start_offset, replica.log.high_watermark) == (2, 3)
        assert (await client.produce("t", b"3")).base_offset == 3


async def test_a_throttled_move_is_shown_goes_on_after_a_restart_and_can_be_called_off(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    slow = {"replica_alter_log_dirs_io_max_bytes_per_second": "1"}
    async with broker(first, second, **slow) as (running, client):
        await create_topic(client, "t", 1)
        at = directory_of(running)
        other = second if at == str(first) else first
        for number in range(40):
            assert (await client.produce("t", b"%d" % number + bytes(20_000))).error_code == ErrorCode.NONE
        assert await move(client, other) == ErrorCode.NONE
        await until(lambda: copied_bytes(running) > 0)
        shown = await where(client)
        assert set(shown) == {(at, False), (str(other), True)}
        size, lag = shown[str(other), True]
        assert 0 < size < shown[at, False][0]
        assert lag > 0
        assert list(other.glob("t-0.*-future"))
    async with broker(first, second, **slow) as (running, client):
        # It begins again by itself, and is called off by moving the replica to where it is.
        assert directory_of(running) == at
        await until(lambda: len(running.node.moves.under_way()) == 1)
        assert await move(client, Path(at)) == ErrorCode.NONE
        assert running.node.moves.under_way() == []
        assert set(await where(client)) == {(at, False)}
        assert len(values(running)) == 40


@pytest.mark.parametrize(
    ("directory", "topic", "code"),
    [
        ("elsewhere", "t", ErrorCode.LOG_DIR_NOT_FOUND),
        ("second", "unknown", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("second", "__cluster_metadata", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
async def test_a_move_that_makes_no_sense_is_refused(
    tmp_path: Path, directory: str, topic: str, code: ErrorCode
) -> None:
    async with broker(tmp_path / "first", tmp_path / "second") as (_, client):
        await create_topic(client, "t", 1)
        assert await move(client, tmp_path / directory, topic) == code


async def test_a_replica_that_is_not_here_yet_is_made_where_somebody_wants_it(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    async with broker(first, second) as (running, client):
        # Without that it would be in the one with fewer partitions, which is the second.
        assert await move(client, first) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await create_topic(client, "other", 1)
        await create_topic(client, "t", 1)
        assert directory_of(running) == str(first)


async def test_a_deleted_topic_takes_its_move_along(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    async with broker(first, second, replica_alter_log_dirs_io_max_bytes_per_second="1") as (running, client):
        await create_topic(client, "t", 1)
        other = second if directory_of(running) == str(first) else first
        for _ in range(20):
            assert (await client.produce("t", bytes(20_000))).error_code == ErrorCode.NONE
        assert await move(client, other) == ErrorCode.NONE
        await until(lambda: any(each.future is not None for each in running.node.moves.under_way()))
        gone = [DeleteTopicState(name="t")]
        assert not (await client.ask(DeleteTopicsRequest(topics=gone, timeout_ms=10_000))).responses[0].error_code
        assert running.node.moves.under_way() == []
        assert not list(other.glob("*-future"))


async def test_the_client_moves_a_replica(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    async with broker(first, second) as (running, client):
        await create_topic(client, "t", 1)
        other = second if directory_of(running) == str(first) else first
        key = (TopicPartition("t", 0), running.node.broker_id)
        host, port = running.addresses[0]
        async with Admin(f"{host}:{port}") as admin:
            refused = (await admin.alter_replica_log_dirs({key: str(tmp_path)}))[key]
            assert refused is not None
            assert refused.code is ErrorCode.LOG_DIR_NOT_FOUND
            assert await admin.alter_replica_log_dirs({key: str(other)}) == {key: None}
        await until(lambda: directory_of(running) == str(other))
