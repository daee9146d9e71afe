"""Fetches whose records the kernel sends from their files: readers see what they would see otherwise."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from server.conftest import create_topic
from support.decoding import decode_all
from support.raw_client import RawClient, raw_client

import tidelog
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.metadata_request import MetadataRequest

MUCH = 1 << 30


class Sendfile:
    """Counts what the kernel is asked to send, and lets it fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.sent_bytes = 0
        self.is_broken = False
        self._real = os.sendfile
        monkeypatch.setattr(os, "sendfile", self)

    def __call__(self, *arguments: int) -> int:
        self.calls += 1
        if self.is_broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sent = self._real(*arguments)
        self.sent_bytes += sent
        return sent


@pytest.fixture
def sendfile(monkeypatch: pytest.MonkeyPatch) -> Sendfile:
    return Sendfile(monkeypatch)


def fetch(topic_id: bytes, *partitions: int, max_bytes: int = MUCH) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=MUCH,
        session_epoch=-1,
        topics=[
            FetchTopic(
                topic_id=topic_id,
                partitions=[
                    FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=max_bytes)
                    for number in partitions
                ],
            )
        ],
    )


def values(partition: Any) -> list[bytes]:
    return [record.value or b"" for record in decode_all(partition.records)]


async def test_partitions_with_many_and_with_few_bytes_in_one_reply(client: RawClient, sendfile: Sendfile) -> None:
    random = Random(1)
    topic_id = await create_topic(client, "t", partitions=12)
    stored: list[list[bytes]] = []
    for number in range(12):
        stored.append([random.randbytes(random.choice((10, 150_000))) for _ in range(random.randrange(6))])
        for value in stored[-1]:
            await client.produce("t", value, partition=number)
    for _ in range(3):
        reply = await client.ask(fetch(topic_id, *range(12)))
        (topic,) = reply.responses
        assert [values(partition) for partition in topic.partitions] == stored
    large = sum(sum(map(len, each)) > 150_000 for each in stored)
    assert large > 3
    assert sendfile.calls >= 3 * large


async def test_small_requests_behind_a_large_fetch_keep_their_order(client: RawClient, sendfile: Sendfile) -> None:
    topic_id = await create_topic(client, "t")
    value = os.urandom(900_000)
    for _ in range(20):
        await client.produce("t", value)
    asked = []
    for _ in range(3):
        asked.append(client.send(fetch(topic_id, 0)))
        asked.append(client.send(MetadataRequest(topics=[])))
    replies = [await client.receive(each) for each in asked]
    assert [values(reply.responses[0].partitions[0]) for reply in replies[::2]] == [[value] * 20] * 3
    assert [bool(reply.brokers) for reply in replies[1::2]] == [True] * 3
    assert sendfile.calls > 3


async def test_many_readers_at_once(broker: tidelog.Broker, client: RawClient, sendfile: Sendfile) -> None:
    topic_id = await create_topic(client, "t")
    value = os.urandom(500_000)
    for _ in range(10):
        await client.produce("t", value)

    async def read() -> None:
        async with raw_client(broker.bootstrap_servers) as reader:
            for _ in range(3):
                reply = await reader.ask(fetch(topic_id, 0))
                assert values(reply.responses[0].partitions[0]) == [value] * 10

    await asyncio.gather(*(read() for _ in range(10)))
    assert sendfile.calls >= 30


async def test_a_topic_deleted_under_a_reader_does_not_harm_the_broker(
    client: RawClient, broker: tidelog.Broker
) -> None:
    topic_id = await create_topic(client, "t")
    value = os.urandom(900_000)
    for _ in range(40):
        await client.produce("t", value)
    async with raw_client(broker.bootstrap_servers) as slow:
        asked = slow.send(fetch(topic_id, 0))
        # Until the reply has begun: nothing is in the way of the next request of another connection.
        await client.ask(MetadataRequest(topics=[]))
        reply = await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=5000))
        assert reply.responses[0].error_code == 0
        # The files are renamed first, and removed much later.
        answer = (await slow.receive(asked)).responses[0].partitions[0]
        assert answer.error_code or values(answer) == [value] * 40


async def test_a_disk_that_fails_while_it_is_sent_from_goes_offline(
    tmp_path: Path, sendfile: Sendfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = os.pread

    def refused(descriptor: int, size: int, position: int) -> bytes:
        if os.readlink(f"/proc/self/fd/{descriptor}").startswith(f"{tmp_path}/second/"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return read(descriptor, size, position)

    directories = f"{tmp_path}/first,{tmp_path}/second"
    async with tidelog.Broker(data_dir=directories) as broker, raw_client(broker.bootstrap_servers) as client:
        topic_id = await create_topic(client, "t", partitions=2)
        for number in (0, 1):
            await client.produce("t", os.urandom(200_000), partition=number)
        (bad,) = (int(path.name[-1]) for path in (tmp_path / "second").glob("t-*"))
        sendfile.is_broken = True
        # It can still be read: only the short way is closed.
        reply = await client.ask(fetch(topic_id, bad))
        assert len(values(reply.responses[0].partitions[0])[0]) == 200_000
        assert sendfile.calls == 1
        monkeypatch.setattr(os, "pread", refused)
        asked = client.send(fetch(topic_id, bad))
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await client.receive(asked)
        async with raw_client(broker.bootstrap_servers) as again:
            reply = await again.ask(fetch(topic_id, bad, 1 - bad))
            offline, good = reply.responses[0].partitions
            assert offline.error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert len(values(good)[0]) == 200_000


async def test_records_from_before_a_restart_are_checked_before_they_are_sent(
    tmp_path: Path, sendfile: Sendfile
) -> None:
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        topic_id = await create_topic(client, "t")
        for _ in range(3):
            await client.produce("t", os.urandom(200_000))
    path = tmp_path / "t-0" / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    content[500_000] ^= 1
    path.write_bytes(content)
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        partition = (await client.ask(fetch(topic_id, 0))).responses[0].partitions[0]
        assert [len(value) for value in values(partition)] == [200_000] * 2
        assert sendfile.calls == 0
        partition = (await client.ask(fetch(topic_id, 0, max_bytes=300_000))).responses[0].partitions[0]
        assert len(partition.records) == 300_000
        # In one call or in several: a socket takes what its buffer has room for.
        assert sendfile.sent_bytes == 300_000
