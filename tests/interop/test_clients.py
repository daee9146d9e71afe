"""Unmodified Kafka clients of several languages do their daily work against tidelog."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from support.clients.confluent import ConfluentClient
from support.clients.contract import ALL_CODECS, ForeignClient, Message
from support.present import present
from support.processes import wait_until

TOPIC_ALREADY_EXISTS = 36
INVALID_CONFIG = 40


def sample_messages(*, null_header: bool = True, count: int = 12) -> list[Message]:
    """Keys, values and headers of every kind that a record can have."""
    start = int(time.time() * 1000) - 60_000
    kinds = [
        Message(key=b"key", value=b"value", timestamp_ms=0),
        Message(key=None, value=b"no key", timestamp_ms=0),
        Message(key=b"tombstone", value=None, timestamp_ms=0),
        Message(key=b"", value=b"", timestamp_ms=0),
        Message(key=b"\x00\xff", value=bytes(range(256)), timestamp_ms=0, headers=(("binary", b"\x00\xff"),)),
        Message(
            key="조류".encode(),
            value="기록".encode(),
            timestamp_ms=0,
            headers=(("이름", "값".encode()), ("repeated", b"1"), ("repeated", b"2"), ("empty", b"")),
        ),
        Message(key=b"large", value=b"0123456789abcdef" * 4096, timestamp_ms=0),
    ]
    if null_header:
        kinds.append(Message(key=b"null header", value=b"v", timestamp_ms=0, headers=(("nothing", None),)))
    return [
        replace(kinds[index % len(kinds)], timestamp_ms=start + index * 1000, offset=index) for index in range(count)
    ]


@pytest.mark.parametrize("codec", ALL_CODECS)
def test_what_a_client_produces_it_reads_back(client: ForeignClient, topic: str, codec: str) -> None:
    messages = sample_messages(null_header=client.writes_null_headers)
    assert client.create_topic(topic) == 0
    assert client.produce(topic, messages, compression=codec) == list(range(len(messages)))
    assert client.read(topic, count=len(messages)) == messages
    assert client.read(topic, start=5, count=len(messages) - 5) == messages[5:]


def test_what_another_client_wrote_with_any_codec_can_be_read(
    client: ForeignClient, topic: str, writer: ConfluentClient
) -> None:
    messages = sample_messages(null_header=client.reads_null_headers, count=16)
    assert writer.create_topic(topic) == 0
    expected: list[Message] = []
    for codec in ALL_CODECS:
        offsets = writer.produce(topic, messages, compression=codec)
        expected += [replace(message, offset=offset) for message, offset in zip(messages, offsets, strict=True)]
    assert client.read(topic, count=len(expected)) == expected


def test_an_idempotent_producer_is_served(client: ForeignClient, topic: str) -> None:
    messages = sample_messages(null_header=False)
    assert client.create_topic(topic) == 0
    assert client.produce(topic, messages, idempotent=True) == list(range(len(messages)))
    assert client.read(topic, count=len(messages)) == messages


def test_partitions_are_written_and_read_on_their_own(client: ForeignClient, topic: str) -> None:
    assert client.create_topic(topic, partitions=3) == 0
    messages = [replace(message, partition=index % 3) for index, message in enumerate(plain_messages(9))]
    assert client.produce(topic, messages) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    for partition in range(3):
        mine = [message for message in messages if message.partition == partition]
        expected = [replace(message, offset=offset) for offset, message in enumerate(mine)]
        assert client.read(topic, partition=partition, count=3) == expected


def test_an_offset_is_found_by_time(client: ForeignClient, topic: str) -> None:
    messages = plain_messages(6)
    assert client.create_topic(topic) == 0
    # One batch per half, so that the answer lies inside of a batch and in another than the first.
    client.produce(topic, messages[:3])
    client.produce(topic, messages[3:], compression="gzip")
    assert client.offset_for_time(topic, messages[0].timestamp_ms - 5000) == 0
    assert [client.offset_for_time(topic, message.timestamp_ms) for message in messages] == [0, 1, 2, 3, 4, 5]
    assert client.offset_for_time(topic, messages[3].timestamp_ms + 1) == 4
    assert client.offset_for_time(topic, messages[5].timestamp_ms + 1) is None
    found = client.offset_for_time(topic, messages[4].timestamp_ms - 10)
    assert found is not None
    assert client.read(topic, start=found, count=2) == [replace(messages[4], offset=4), replace(messages[5], offset=5)]


def test_a_group_goes_on_where_it_committed(client: ForeignClient, topic: str) -> None:
    group = f"group-of-{topic}"
    messages = plain_messages(10)
    assert client.create_topic(topic) == 0
    client.produce(topic, messages)
    assert client.committed_offset(topic, group) is None
    assert values(client.read_in_group(topic, group, count=4)) == values(messages[:4])
    assert client.committed_offset(topic, group) == 4
    assert values(client.read_in_group(topic, group, count=6)) == values(messages[4:])
    assert client.committed_offset(topic, group) == 10


def test_a_group_reads_all_partitions(client: ForeignClient, topic: str) -> None:
    messages = [replace(message, partition=index % 3) for index, message in enumerate(plain_messages(12))]
    assert client.create_topic(topic, partitions=3) == 0
    client.produce(topic, messages)
    read = client.read_in_group(topic, f"group-of-{topic}", count=12)
    assert sorted(map(present, values(read))) == sorted(map(present, values(messages)))
    assert {message.partition for message in read} == {0, 1, 2}


def test_topics_are_created_described_and_deleted(client: ForeignClient, topic: str) -> None:
    assert client.create_topic(topic, partitions=4, configs={"retention.ms": "12345", "cleanup.policy": "compact"}) == 0
    assert client.partition_count(topic) == 4
    described = client.describe_topic(topic)
    assert described["retention.ms"] == "12345"
    assert described["cleanup.policy"] == "compact"
    assert described["segment.bytes"] == "1073741824"
    assert client.delete_topic(topic) == 0
    wait_until(lambda: client.partition_count(topic) == 0, what="the end of the deleted topic")


def test_a_refused_topic_is_reported_with_its_error(client: ForeignClient, topic: str) -> None:
    assert client.create_topic(topic) == 0
    assert client.create_topic(topic) == TOPIC_ALREADY_EXISTS
    assert client.create_topic(f"{topic}-other", configs={"retention.ms": "soon"}) == INVALID_CONFIG


def test_the_cluster_is_described(client: ForeignClient, broker_address: tuple[str, int]) -> None:
    cluster = client.describe_cluster()
    ((broker_id, host, port),) = cluster.brokers
    assert (host, port) == broker_address
    assert cluster.controller_id == broker_id
    assert cluster.cluster_id is None or len(cluster.cluster_id) == 22


def plain_messages(count: int) -> list[Message]:
    start = int(time.time() * 1000) - 60_000
    return [
        Message(key=b"key-%d" % index, value=b"value-%d" % index, timestamp_ms=start + index * 100)
        for index in range(count)
    ]


def values(messages: Sequence[Message]) -> list[bytes | None]:
    return [message.value for message in messages]
