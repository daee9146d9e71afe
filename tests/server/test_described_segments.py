"""What only tidelog tells: the segments of a replica, and the last batches of a producer (decision 46)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from server.conftest import create_topic
from server.test_cleaning import COMPACTED, keyed, log_of, wait_until
from support.raw_client import RawClient, raw_client

import tidelog
from tidelog.model.errors import ErrorCode
from tidelog.model.segment_states import SegmentState
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from tidelog.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from tidelog.server.api import describe_log_dirs
from tidelog.storage.files.filesystem import StorageFailure

SMALL: dict[str, Any] = {"internal_segment_bytes": "5000"}
DIRTY, CLEAN, ACTIVE = SegmentState.DIRTY, SegmentState.CLEAN, SegmentState.ACTIVE


async def described(client: RawClient, *topics: str, version: int = 5, include: bool = True) -> dict[str, Any]:
    """The first partition of each topic."""
    asked = [DescribableLogDirTopic(topic=topic, partitions=[0]) for topic in topics] if topics else None
    reply = await client.ask(DescribeLogDirsRequest(topics=asked, include_segments=include), version)
    (directory,) = reply.results
    assert directory.error_code == 0
    return {topic.name: topic.partitions[0] for topic in directory.topics}


async def test_segments_are_told_to_those_who_ask(broker: tidelog.Broker, client: RawClient) -> None:
    await create_topic(client, "t", **SMALL)
    await create_topic(client, "other")
    for number in range(12):
        await client.produce("t", b"x" * 1000, timestamp=1_700_000_000_000 + number)
    found = await described(client, "t")
    assert set(found) == {"t"}
    partition = found["t"]
    bases = log_of(broker, "t").segments.base_offsets
    assert len(bases) > 2
    assert [each.base_offset for each in partition.segments] == bases
    assert [each.next_offset for each in partition.segments] == [*bases[1:], 12]
    assert sum(each.size_in_bytes for each in partition.segments) == partition.partition_size
    assert partition.segments[-1].largest_timestamp == 1_700_000_000_011
    assert [each.state for each in partition.segments] == [*[SegmentState.NOT_COMPACTED] * (len(bases) - 1), ACTIVE]
    assert partition.omitted_segments == 0
    assert set(await described(client)) == {"t", "other"}


async def test_who_does_not_ask_gets_none(client: RawClient) -> None:
    await create_topic(client, "t")
    await client.produce("t", b"x")
    plain = await described(client, "t", include=False)
    assert plain["t"].segments is None
    size = client.last_reply_size
    # Before version 2 there are no tagged fields, so nobody can ask.
    for version, told in [(1, False), (2, True), (3, True), (4, True), (5, True)]:
        assert ((await described(client, "t", version=version))["t"].segments is not None) == told
    assert client.last_reply_size > size


async def test_more_segments_than_a_reply_has_are_counted(client: RawClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describe_log_dirs, "MOST_SEGMENTS", 2)
    await create_topic(client, "t", **SMALL)
    for _ in range(12):
        await client.produce("t", b"x" * 1000)
    partition = (await described(client, "t"))["t"]
    assert [each.state for each in partition.segments] == [SegmentState.NOT_COMPACTED, ACTIVE]
    assert partition.segments[-1].next_offset == 12
    assert partition.omitted_segments == 1


async def test_the_cleaner_makes_segments_clean(tmp_path: Path) -> None:
    properties = {"log.cleaner.backoff.ms": "20"}
    lag: dict[str, Any] = {"min_compaction_lag_ms": "3600000"}
    async with (
        tidelog.Broker(data_dir=str(tmp_path), properties=properties) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        await create_topic(client, "dirty", **COMPACTED, **lag)
        await create_topic(client, "clean", **COMPACTED)
        for number in range(120):
            for topic in ("dirty", "clean"):
                await client.produce_batch(topic, keyed((b"k%d" % (number % 5), b"." * 700)))
        log = log_of(broker, "clean")
        await wait_until(lambda: (log.cleaned_up_to or 0) >= log.segments.active.base_offset)
        found = await described(client, "dirty", "clean")
        states = {topic: [each.state for each in partition.segments] for topic, partition in found.items()}
        assert states["dirty"] == [*[DIRTY] * (len(states["dirty"]) - 1), ACTIVE]
        assert states["clean"] == [*[CLEAN] * (len(states["clean"]) - 1), ACTIVE]
        # Full segments that are cleaned together stay apart: only a later round merges them.
        assert len(states["dirty"]) >= len(states["clean"]) > 1
    # Nothing is known of the files in memory then.
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        assert await described(client, "dirty", "clean") == found


async def test_a_topic_may_be_deleted_meanwhile(broker: tidelog.Broker, client: RawClient) -> None:
    for number in range(20):
        await create_topic(client, f"t{number}", partitions=5)
    async with raw_client(broker.bootstrap_servers) as other:
        asked = [other.send(DescribeLogDirsRequest(topics=None, include_segments=True)) for _ in range(20)]
        names = [DeleteTopicState(name=f"t{number}") for number in range(20)]
        await client.ask(DeleteTopicsRequest(topics=names, timeout_ms=5000))
        for each in asked:
            assert [directory.error_code for directory in (await other.receive(each)).results] == [0]
    assert all(directory.failure is None for directory in broker.running.node.replicas.directories)


async def test_what_cannot_be_read_costs_the_answer_of_its_directory(
    client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StorageFailure("a log", OSError(24, "too many open files"))

    await create_topic(client, "t")
    monkeypatch.setattr(describe_log_dirs, "describe_segments", fail)
    reply = await client.ask(DescribeLogDirsRequest(topics=None, include_segments=True))
    assert [directory.error_code for directory in reply.results] == [ErrorCode.KAFKA_STORAGE_ERROR]
    # Who asks for sizes only is not concerned.
    assert set(await described(client, include=False)) == {"t"}


async def batches(client: RawClient, *, include: bool = True) -> list[tuple[int, int, int, int]] | None:
    topics = [TopicRequest(name="t", partition_indexes=[0])]
    reply = await client.ask(DescribeProducersRequest(topics=topics, include_batches=include))
    (producer,) = reply.topics[0].partitions[0].active_producers
    if producer.last_batches is None:
        return None
    return [
        (each.base_sequence, each.last_sequence, each.last_offset, each.timestamp) for each in producer.last_batches
    ]


async def test_the_last_five_batches_of_a_producer_are_told(client: RawClient) -> None:
    await create_topic(client, "t")

    async def produce(sequence: int, epoch: int = 0) -> None:
        producer = {"producer_id": 77, "producer_epoch": epoch, "base_sequence": sequence}
        answer = await client.produce("t", b"a", b"b", timestamp=1000 + sequence, **producer)
        assert answer.error_code == 0

    await produce(0)
    assert await batches(client) == [(0, 1, 1, 1000)]
    for sequence in range(2, 14, 2):
        await produce(sequence)
    assert await batches(client) == [(first, first + 1, first + 1, 1000 + first) for first in range(4, 14, 2)]
    assert await batches(client, include=False) is None
    # A new epoch begins with new sequences.
    await produce(0, epoch=1)
    assert await batches(client) == [(0, 1, 15, 1000)]
