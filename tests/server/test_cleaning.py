"""A broker that compacts while clients write and read."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest
from server.conftest import create_topic
from support.decoding import decode_all
from support.present import present
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, raw_client

import tidelog
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tidelog.records.batch import iterate_headers, parse_header
from tidelog.records.record import encode_batch
from tidelog.server.upkeep.cleaning import Throttle
from tidelog.storage.log.log import Log

COMPACTED: dict[str, Any] = {
    "cleanup_policy": "compact",
    "internal_segment_bytes": "20000",
    "min_cleanable_dirty_ratio": "0.1",
    "file_delete_delay_ms": "0",
}


@pytest.fixture
async def quick_broker() -> AsyncIterator[tidelog.Broker]:
    async with tidelog.Broker(properties={"log.cleaner.backoff.ms": "20"}) as running:
        yield running


async def wait_until(condition: Callable[[], bool], within_seconds: float = HANG_SECONDS) -> None:
    deadline = time.monotonic() + within_seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not come true"
        await asyncio.sleep(0.01)


def keyed(*pairs: tuple[bytes, bytes | None], **options: Any) -> bytes:
    return encode_batch([(int(time.time() * 1000), key, value, ()) for key, value in pairs], **options)


async def read_all(client: RawClient, topic_id: bytes) -> dict[int, tuple[bytes | None, bytes | None]]:
    """Offset to key and value, over as many fetches as it takes."""
    found: dict[int, tuple[bytes | None, bytes | None]] = {}
    offset = 0
    while True:
        wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=5000)
        topics = [FetchTopic(topic_id=topic_id, partitions=[wanted])]
        response = await client.ask(FetchRequest(max_wait_ms=0, session_epoch=-1, topics=topics))
        partition = response.responses[0].partitions[0]
        assert partition.error_code == 0
        headers = [header for _, header in iterate_headers(partition.records or b"")]
        if not headers:
            return found
        for record in decode_all(partition.records):
            if record.offset >= offset:
                assert record.offset not in found
                found[record.offset] = (record.key, record.value)
        assert headers[-1].next_offset > offset
        offset = headers[-1].next_offset


def log_of(broker: tidelog.Broker, topic: str) -> Log:
    replica = broker.running.node.replicas.get(topic, 0)
    assert replica is not None
    return replica.log


async def test_readers_and_writers_go_on_while_a_topic_is_compacted(quick_broker: tidelog.Broker) -> None:
    async with (
        raw_client(quick_broker.bootstrap_servers) as writer,
        raw_client(quick_broker.bootstrap_servers) as reader,
    ):
        topic_id = await create_topic(writer, "t", **COMPACTED)
        log = log_of(quick_broker, "t")
        written: dict[int, tuple[bytes, bytes]] = {}
        for number in range(900):
            pair = (b"k%d" % (number % 10), b"%d" % number + b"." * 200)
            answer = await writer.produce_batch("t", keyed(pair))
            assert answer.error_code == 0
            written[answer.base_offset] = pair
            if number % 30 == 0:
                found = await read_all(reader, topic_id)
                assert found.items() <= written.items()
                # The last value of each key is always there.
                assert dict(found.values()) == dict(written.values())
        await wait_until(lambda: (log.cleaned_up_to or 0) >= log.segments.active.base_offset)
        found = await read_all(reader, topic_id)
        assert found.items() <= written.items()
        assert dict(found.values()) == dict(written.values())
        assert len(found) < 200
        directory = Path(quick_broker.data_dir)
        checkpoint = directory / "cleaner-offset-checkpoint"
        # Written a moment after the exchange.
        await wait_until(
            lambda: checkpoint.exists() and f"t 0 {log.cleaned_up_to}" in checkpoint.read_text().splitlines()
        )
        await wait_until(lambda: not list((directory / "t-0").glob("*.deleted")))
        assert not [path for path in (directory / "t-0").iterdir() if path.suffix in (".swap", ".cleaned")]


async def test_what_is_compacted_survives_a_restart(tmp_path: Path) -> None:
    properties = {"log.cleaner.backoff.ms": "20"}
    async with tidelog.Broker(data_dir=str(tmp_path), properties=properties) as broker:
        async with raw_client(broker.bootstrap_servers) as client:
            topic_id = await create_topic(client, "t", **COMPACTED)
            for number in range(300):
                await client.produce_batch("t", keyed((b"k%d" % (number % 5), b"%d" % number + b"." * 200)))
        log = log_of(broker, "t")
        await wait_until(lambda: (log.cleaned_up_to or 0) >= log.segments.active.base_offset)
        cleaned_up_to = log.cleaned_up_to
        size = log.size
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker:
        log = log_of(broker, "t")
        assert (log.cleaned_up_to, log.size) == (cleaned_up_to, size)
        async with raw_client(broker.bootstrap_servers) as client:
            found = await read_all(client, topic_id)
            assert {key: present(value)[:3] for key, value in found.values()} == {
                b"k%d" % (number % 5): b"%d" % number for number in range(295, 300)
            }


async def test_topic_may_be_deleted_while_it_is_compacted(quick_broker: tidelog.Broker) -> None:
    async with raw_client(quick_broker.bootstrap_servers) as client:
        for attempt in range(8):
            await create_topic(client, "t", **COMPACTED)
            for number in range(120):
                await client.produce_batch("t", keyed((b"k%d" % (number % 5), b"." * 700)))
            if attempt % 2:
                await asyncio.sleep(0.005 * attempt)
            response = await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=5000))
            assert response.responses[0].error_code == 0
        await create_topic(client, "other", **COMPACTED)
        for number in range(120):
            await client.produce_batch("other", keyed((b"k%d" % (number % 5), b"." * 700)))
        log = log_of(quick_broker, "other")
        await wait_until(lambda: (log.cleaned_up_to or 0) > 0)
    assert all(directory.failure is None for directory in quick_broker.running.node.replicas.directories)


async def test_damaged_log_is_named_and_left_alone_and_others_are_compacted(
    quick_broker: tidelog.Broker, caplog: pytest.LogCaptureFixture
) -> None:
    async with raw_client(quick_broker.bootstrap_servers) as client:
        # Not compacted while the damage is made.
        await create_topic(client, "bad", **{**COMPACTED, "min_compaction_lag_ms": "3600000"})
        await create_topic(client, "good", **COMPACTED)
        for number in range(120):
            await client.produce_batch("bad", keyed((b"k%d" % (number % 5), b"." * 700)))
        path = Path(quick_broker.data_dir) / "bad-0" / "00000000000000000000.log"
        content = bytearray(path.read_bytes())
        content[1000] ^= 0x10
        path.write_bytes(content)
        bad = log_of(quick_broker, "bad")
        node = quick_broker.running.node
        bad.config = dataclasses.replace(bad.config, min_compaction_lag_ms=0)
        await wait_until(lambda: "is damaged at byte" in caplog.text)
        size = parse_header(content).size
        assert f"{path} is damaged at byte {size}: the checksum does not match" in caplog.text
        assert bad.cleaned_up_to is None
        for number in range(120):
            await client.produce_batch("good", keyed((b"k%d" % (number % 5), b"." * 700)))
        good = log_of(quick_broker, "good")
        await wait_until(lambda: (good.cleaned_up_to or 0) > 0)
        assert b"tidelog_cleaner_uncleanable_partitions 1.0" in generate_latest(node.metrics.registry())


async def test_committed_offsets_are_compacted_and_survive_a_restart(tmp_path: Path) -> None:
    properties = {
        "log.cleaner.backoff.ms": "20",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.segment.bytes": "10000",
    }
    async with tidelog.Broker(data_dir=str(tmp_path), properties=properties) as broker:
        async with raw_client(broker.bootstrap_servers) as client:
            await create_topic(client, "t")
            await find_coordinator(client)
            for number in range(300):
                await commit(client, f"group-{number % 3}", number)
        log = log_of(broker, "__consumer_offsets")
        await wait_until(lambda: (log.cleaned_up_to or 0) >= log.segments.active.base_offset > 100)
        assert len(list(log.segments.first.headers())) < 10
    async with (
        tidelog.Broker(data_dir=str(tmp_path), properties=properties) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        await find_coordinator(client)
        assert [await committed(client, f"group-{number}") for number in range(3)] == [297, 298, 299]


async def find_coordinator(client: RawClient) -> None:
    """Until the coordinator has its topic and has read it."""
    deadline = time.monotonic() + 20
    while True:
        response = await client.ask(FindCoordinatorRequest(coordinator_keys=["group-0"]))
        if response.coordinators[0].error_code == 0:
            fetched = await client.ask(
                OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="group-0", topics=[])]), 8
            )
            if fetched.groups[0].error_code == 0:
                return
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def commit(client: RawClient, group: str, offset: int) -> None:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topics = [OffsetCommitRequestTopic(name="t", partitions=[partition])]
    response = await client.ask(OffsetCommitRequest(group_id=group, topics=topics), 8)
    assert response.topics[0].partitions[0].error_code == 0


async def committed(client: RawClient, group: str) -> int:
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])
    response = await client.ask(request, 8)
    offset: int = response.groups[0].topics[0].partitions[0].committed_offset
    return offset


def test_throttle_spreads_bytes_over_time() -> None:
    throttle = Throttle()
    assert throttle.pause_ms(1000, 1e6, now_ms=50.0) == pytest.approx(1.0)
    assert throttle.pause_ms(1000, 1e6, now_ms=50.5) == pytest.approx(1.5)
    # What was not used is not saved up.
    assert throttle.pause_ms(1000, 1e6, now_ms=5000.0) == pytest.approx(1.0)
    assert throttle.pause_ms(1 << 30, 1.7976931348623157e308, now_ms=6000.0) == pytest.approx(0.0)


async def first_batches(client: RawClient, topic_id: bytes, offset: int) -> list[tuple[int, int, int]]:
    """(base offset, last offset, record count) of the batches in one reply."""
    wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=5000)
    topics = [FetchTopic(topic_id=topic_id, partitions=[wanted])]
    response = await client.ask(FetchRequest(max_wait_ms=0, session_epoch=-1, topics=topics))
    partition = response.responses[0].partitions[0]
    assert partition.error_code == 0
    headers = [header for _, header in iterate_headers(partition.records or b"")]
    return [(header.base_offset, header.last_offset, header.record_count) for header in headers]


async def test_a_reader_that_starts_at_a_batch_without_records_gets_the_next_ones(
    quick_broker: tidelog.Broker,
) -> None:
    """Some clients ask for the same offset for ever if a reply holds nothing but an emptied batch."""
    async with raw_client(quick_broker.bootstrap_servers) as client:
        topic_id = await create_topic(client, "t", **COMPACTED)
        # The last batch of a producer stays, for the sake of its sequence number.
        for producer_id in range(3):
            batch = keyed((b"same", b"v"), producer_id=producer_id, producer_epoch=0, base_sequence=0)
            assert (await client.produce_batch("t", batch)).error_code == 0
        for _ in range(60):
            await client.produce_batch("t", keyed((b"same", b"v" * 1000)))
        log = log_of(quick_broker, "t")
        await wait_until(lambda: (log.cleaned_up_to or 0) >= 19 and not log.exchange.running)

        emptied = [header for segment in log.segments for _, header in segment.headers(0) if header.record_count == 0]

        assert [header.base_offset for header in emptied[:3]] == [0, 1, 2]
        for header in emptied:
            ((base_offset, _, count), *_) = await first_batches(client, topic_id, header.base_offset)
            assert base_offset > header.last_offset
            assert count > 0


async def test_old_records_of_a_topic_that_compacts_and_deletes_go_with_each_round_of_the_cleaner(
    quick_broker: tidelog.Broker,
) -> None:
    """As in Kafka, whose cleaner does it, and not after log.retention.check.interval.ms, which is five minutes."""
    async with raw_client(quick_broker.bootstrap_servers) as client:
        await create_topic(client, "t", cleanup_policy="compact,delete", retention_ms="60000")
        await create_topic(client, "kept", cleanup_policy="compact", retention_ms="60000")
        old = encode_batch([(int(time.time() * 1000) - 120_000, b"k", b"v", ())])
        for topic in ("t", "kept"):
            assert (await client.produce_batch(topic, old)).error_code == 0
        log = log_of(quick_broker, "t")

        await wait_until(lambda: log.log_start_offset == 1)

        assert log.segments.active.base_offset == 1
        assert log_of(quick_broker, "kept").log_start_offset == 0
