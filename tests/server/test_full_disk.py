"""A disk without room: what is stored stays readable, writers get a retriable error, and writing goes on afterwards."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from server.conftest import create_topic
from support.decoding import decode_all
from support.eventually import eventually
from support.present import present
from support.raw_client import RawClient, raw_client

from tidelog.config.broker import BrokerConfig
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.server.broker import single_node_properties
from tidelog.server.startup import RunningNode, system_ports
from tidelog.storage.files.filesystem import File
from tidelog.storage.files.local_filesystem import LocalFileSystem

DISK_BYTES = 8 << 20
BATCH_BYTES = 100_000


class _MeteredFile:
    """A file that takes no more bytes once the disk is full."""

    def __init__(self, disk: FullDisk, file: File) -> None:
        self._disk = disk
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, position: int, data: Any) -> None:
        if self._disk.full and position + len(data) > self._file.size():
            # A full disk takes a part first.
            self._file.write(position, memoryview(data)[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._file.write(position, data)


class FullDisk(LocalFileSystem):
    """The real file system, which is full when it is told to be."""

    def __init__(self) -> None:
        super().__init__()
        self.full = False

    def open(self, path: str, *, create: bool = False) -> File:
        if self.full and create and not os.path.exists(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return _MeteredFile(self, super().open(path, create=create))


async def start(directory: Path, filesystem: LocalFileSystem | None = None, **properties: str) -> RunningNode:
    config = BrokerConfig.from_properties(
        single_node_properties(
            host="127.0.0.1",
            port=0,
            data_dir=str(directory),
            properties={
                "offsets.topic.num.partitions": "1",
                "transaction.state.log.num.partitions": "1",
                "log.flush.offset.checkpoint.interval.ms": "50",
                "replica.high.watermark.checkpoint.interval.ms": "50",
                **{name.replace("_", "."): value for name, value in properties.items()},
            },
        )
    )
    ports = system_ports()
    node = RunningNode(config, ports if filesystem is None else replace(ports, filesystem=filesystem))
    await node.start()
    return node


async def read_all(client: RawClient, topic: str, end: int) -> list[bytes]:
    values: list[bytes] = []
    while len(values) < end:
        partition = FetchPartition(partition=0, fetch_offset=len(values), partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0, max_bytes=1 << 20, topics=[FetchTopic(topic=topic, partitions=[partition])]
        )
        (answer,) = (await client.ask(request, 11)).responses[0].partitions
        assert answer.error_code == 0, answer
        found = [present(record.value) for record in decode_all(bytes(answer.records)) if record.offset >= len(values)]
        assert found, f"nothing at offset {len(values)}"
        values += found
    return values


def address(node: RunningNode) -> str:
    host, port = node.addresses[0]
    return f"{host}:{port}"


async def fill(client: RawClient, topic: str) -> list[bytes]:
    """Produce until the disk refuses; what was acknowledged."""
    stored: list[bytes] = []
    for number in range(1000):
        value = b"%06d" % number + os.urandom(BATCH_BYTES)
        answer = await client.produce(topic, value)
        if answer.error_code:
            assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert "No space left" in answer.error_message
            return stored
        stored.append(value)
    raise AssertionError("the disk is never full")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    at = tmp_path / "disk"
    at.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(at)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
    yield at
    subprocess.run(["umount", "-l", str(at)], check=True)


@pytest.fixture
async def full_disk(tmp_path: Path) -> AsyncIterator[tuple[RunningNode, FullDisk]]:
    disk = FullDisk()
    node = await start(tmp_path / "data", disk)
    yield node, disk
    disk.full = False
    await node.abandon()


async def test_scenario_23_a_really_full_disk_is_read_and_written_again_when_there_is_room(
    small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ballast = small_disk / "ballast"
    node = await start(small_disk / "data")
    async with raw_client(address(node)) as client:
        await create_topic(client, "events")
        await create_topic(client, "others")
        assert (await client.produce("others", b"first")).error_code == 0
        ballast.write_bytes(bytes(2 << 20))
        stored = await fill(client, "events")
        assert len(stored) > 10
        # Until nothing at all fits any more, however small.
        while (await client.produce("others", b"x" * 1000)).error_code == 0:
            pass
        for _ in range(20):
            assert (await client.produce("others", b"y" * 1000)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert await read_all(client, "events", len(stored)) == stored
        assert (await read_all(client, "others", 1))[0] == b"first"
        # Room comes back while the broker runs.
        ballast.unlink()
        answer = await client.produce("events", b"goes on")
        assert answer.error_code == 0
        assert answer.base_offset == len(stored)
        assert await read_all(client, "events", len(stored) + 1) == [*stored, b"goes on"]
    assert (
        "No space left on device (errno 28); nothing can be written there until there is free space again"
        in caplog.text
    )
    assert present(node.node.metrics.registry().get_sample_value("tidelog_disk_full_total")) >= 21
    await node.stop()
    node = await start(small_disk / "data")
    async with raw_client(address(node)) as client:
        assert await read_all(client, "events", len(stored) + 1) == [*stored, b"goes on"]
    await node.abandon()


async def test_topics_can_be_deleted_while_the_disk_is_full(small_disk: Path) -> None:
    node = await start(small_disk / "data", log_segment_delete_delay_ms="0")
    async with raw_client(address(node)) as client:
        await create_topic(client, "events")
        await create_topic(client, "others")
        await fill(client, "events")
        # A record of the metadata log fits still.
        deleted = await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="events")], timeout_ms=5000))
        assert deleted.responses[0].error_code == 0

        async def there_is_room() -> None:
            assert (await client.produce("others", bytes(BATCH_BYTES))).error_code == 0

        await eventually(there_is_room)
    await node.stop()


async def test_no_part_of_a_refused_batch_stays(full_disk: tuple[RunningNode, FullDisk]) -> None:
    node, disk = full_disk
    async with raw_client(address(node)) as client:
        await create_topic(client, "events")
        assert (await client.produce("events", b"first")).error_code == 0
        log = present(node.node.replicas.get("events", 0)).log
        path = Path(log.directory) / f"{0:020d}.log"
        size = path.stat().st_size
        disk.full = True
        for _ in range(3):
            assert (await client.produce("events", b"refused")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert path.stat().st_size == size
        assert await read_all(client, "events", 1) == [b"first"]
        disk.full = False
        assert (await client.produce("events", b"second")).base_offset == 1
        assert await read_all(client, "events", 2) == [b"first", b"second"]


async def test_deletion_of_records_is_refused_until_it_can_be_remembered(
    full_disk: tuple[RunningNode, FullDisk], tmp_path: Path
) -> None:
    """Whoever asks again is not told that it is done already: the records would come back with the next start."""
    node, disk = full_disk
    async with raw_client(address(node)) as client:
        await create_topic(client, "events")
        assert (await client.produce("events", b"first", b"second")).error_code == 0
        below = DeleteRecordsPartition(partition_index=0, offset=1)
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name="events", partitions=[below])], timeout_ms=20_000
        )
        checkpoint = tmp_path / "data" / "log-start-offset-checkpoint"
        disk.full = True
        for _ in range(2):
            (refused,) = (await client.ask(request)).topics[0].partitions
            assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert not checkpoint.exists() or "events 0 1" not in checkpoint.read_text()
        disk.full = False
        (deleted,) = (await client.ask(request)).topics[0].partitions
        assert (deleted.error_code, deleted.low_watermark) == (0, 1)
        assert "events 0 1" in checkpoint.read_text()


async def test_roll_of_a_segment_is_refused_and_done_later(full_disk: tuple[RunningNode, FullDisk]) -> None:
    node, disk = full_disk
    async with raw_client(address(node)) as client:
        await create_topic(client, "events", index_interval_bytes="1")
        for number in range(30):
            assert (await client.produce("events", b"%d" % number)).error_code == 0
        log = present(node.node.replicas.get("events", 0)).log
        log.config = replace(log.config, segment_bytes=log.size + 1)
        disk.full = True
        for _ in range(3):
            assert (await client.produce("events", b"refused")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert len(await read_all(client, "events", 30)) == 30
        disk.full = False
        assert (await client.produce("events", b"in the next segment")).base_offset == 30
        assert log.segments.base_offsets == [0, 30]
        assert len(await read_all(client, "events", 31)) == 31
    await node.stop()


async def test_topic_is_refused_or_made_when_there_is_room(full_disk: tuple[RunningNode, FullDisk]) -> None:
    """The metadata log is on the full disk, too: nothing is changed, and the broker goes on."""
    node, disk = full_disk
    async with raw_client(address(node)) as client:
        disk.full = True
        request = CreateTopicsRequest(
            topics=[CreatableTopic(name="later", num_partitions=1, replication_factor=1)], timeout_ms=5000
        )
        (refused,) = (await client.ask(request)).topics
        assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert node.failure is None
        disk.full = False
        (made,) = (await client.ask(request)).topics
        assert made.error_code == 0
        assert (await client.produce("later", b"first")).error_code == 0


@pytest.mark.plain_python
async def test_sync_that_fails_on_a_full_disk_takes_the_directory_offline(
    full_disk: tuple[RunningNode, FullDisk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After that it is unknown what the device holds, whatever the reason was."""
    node, _ = full_disk
    async with raw_client(address(node)) as client:
        await create_topic(client, "events", flush_messages="1")
        assert (await client.produce("events", b"first")).error_code == 0

        def fail(self: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr("tidelog.storage.files.local_filesystem.LocalFile.sync", fail)
        assert (await client.produce("events", b"lost")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        monkeypatch.undo()
        assert (await client.produce("events", b"refused")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert node.node.replicas.directories[0].failure is not None
