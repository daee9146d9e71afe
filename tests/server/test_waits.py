"""Who looks at a partition and then waits for it misses nothing in between, and leaves nothing behind.

A test sends over a `Wire`, so that it can let something happen before the event loop has its next turn.
"""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from server.conftest import create_topic
from support.decoding import decode_all
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, produce_request
from support.raw_transactions import RawProducer
from support.wire import Wire

import tidelog
from tidelog.consensus.effects import Leadership
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.partition.producers import AppendOrigin
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.schema import Message
from tidelog.records.batch import parse_header
from tidelog.records.record import encode_batch
from tidelog.server.quorum.runtime import QuorumRuntime
from tidelog.server.replicas.replica import Replica
from tidelog.server.replicas.waits import FetchWait, OffsetWaits
from tidelog.storage.log.log import Log
from tidelog.storage.log.reader import sendable_records

READ_COMMITTED = 1
# Far more than a test may take: a reply that comes by its time is one that comes too late.
WAIT_MS = 60_000


def replica_of(broker: tidelog.Broker, topic: str, partition: int = 0) -> Replica:
    replica = broker.running.node.replicas.leader(topic, partition)
    assert not isinstance(replica, ErrorCode)
    return replica


def append(replica: Replica, value: bytes) -> None:
    batch = bytearray(encode_batch([(0, None, value, ())]))
    result = replica.append(batch, [parse_header(batch)], origin=AppendOrigin.CLIENT, all_in_sync=True)
    assert result.base_offset >= 0  # type: ignore[union-attr]


def fetch(topic_id: bytes, offset: int = 0, partitions: int = 1, **fields: Any) -> FetchRequest:
    wanted = [
        FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=1 << 20)
        for number in range(partitions)
    ]
    given = {"max_wait_ms": WAIT_MS, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1, **fields}
    return FetchRequest(topics=[FetchTopic(topic_id=topic_id, partitions=wanted)], **given)


async def answer(wire: Wire) -> Any:
    async with asyncio.timeout(HANG_SECONDS):
        while not wire.answered:
            await asyncio.sleep(0)
    return wire.reply()


def values(response: Any) -> list[bytes | None]:
    return [
        record.value
        for topic in response.responses
        for partition in topic.partitions
        for record in decode_all(partition.records)
    ]


def waiting(replica: Replica) -> int:
    return len(replica.fetch_waits) + len(replica.stable_waits) + len(replica.follower_waits)


@contextmanager
def nothing_unawaited() -> Iterator[None]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert [str(each.message) for each in caught if "never awaited" in str(each.message)] == []


# -- nothing is missed ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("isolation", [0, READ_COMMITTED])
async def test_what_is_written_in_the_turn_of_the_reading_ends_the_wait(
    broker: tidelog.Broker, client: RawClient, isolation: int
) -> None:
    topic_id = await create_topic(client, "t")
    wire = Wire(broker.running.node)
    wire.send(fetch(topic_id, isolation_level=isolation))
    append(replica_of(broker, "t"), b"now")
    assert values(await answer(wire)) == [b"now"]
    wire.lose()


@pytest.mark.plain_python
async def test_what_happens_to_a_partition_while_the_others_are_read_ends_the_wait(
    broker: tidelog.Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic_id = await create_topic(client, "t", partitions=2)
    first, second = replica_of(broker, "t", 0), replica_of(broker, "t", 1)

    def read_and_disturb(log: Log, *arguments: Any, **options: Any) -> Any:
        if log is second.log and not first.log.log_end_offset:
            append(first, b"meanwhile")
        return sendable_records(log, *arguments, **options)

    monkeypatch.setattr("tidelog.server.api.fetch.sendable_records", read_and_disturb)
    wire = Wire(broker.running.node)
    wire.send(fetch(topic_id, partitions=2))
    assert values(await answer(wire)) == [b"meanwhile"]
    wire.lose()


async def test_a_reader_of_committed_records_wakes_for_a_whole_transaction_and_not_before(
    broker: tidelog.Broker, client: RawClient
) -> None:
    """Its records are many bytes, the marker that sets them free is few; min.bytes lies between."""
    topic_id = await create_topic(client, "t")
    producer = RawProducer(client, "x", protocol=2)
    await producer.init()
    await producer.send("t", "a" * 1_000)
    wire = Wire(broker.running.node)
    wire.send(fetch(topic_id, isolation_level=READ_COMMITTED, min_bytes=500))
    await producer.send("t", "b" * 1_000)
    await asyncio.sleep(0)
    assert not wire.answered
    assert len(replica_of(broker, "t").stable_waits) == 1
    await producer.end(commit=True)
    assert [len(value or b"") for value in values(await answer(wire))][:2] == [1_000, 1_000]
    wire.lose()


async def test_a_fetch_counts_the_bytes_of_several_writes(broker: tidelog.Broker, client: RawClient) -> None:
    topic_id = await create_topic(client, "t")
    replica = replica_of(broker, "t")
    wire = Wire(broker.running.node)
    wire.send(fetch(topic_id, min_bytes=250))
    append(replica, b"x" * 100)
    await asyncio.sleep(0)
    assert not wire.answered
    append(replica, b"y" * 100)
    assert len(values(await answer(wire))) == 2
    wire.lose()


async def test_a_controller_deposed_in_the_turn_of_its_append_is_told_so(
    broker: tidelog.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would wait for the commit of whatever its successor writes at the same offset."""
    quorum = broker.running.node.control.quorum

    async def deposed_before_the_commit(_: QuorumRuntime) -> None:
        quorum._lead(Leadership(epoch=quorum.replica.epoch + 1, leader_id=None))

    monkeypatch.setattr(QuorumRuntime, "_flush_and_report", deposed_before_the_commit)
    record = ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="1")
    with pytest.raises(ApiError, match="controller"):
        await asyncio.wait_for(quorum.append([record], quorum.replica.epoch), HANG_SECONDS)


# -- nothing is left behind ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [0, 1, 5])
async def test_a_lost_connection_leaves_no_wait_behind(broker: tidelog.Broker, client: RawClient, turns: int) -> None:
    topic_id = await create_topic(client, "t", partitions=3)
    replicas = [replica_of(broker, "t", number) for number in range(3)]
    with nothing_unawaited():
        wire = Wire(broker.running.node)
        wire.send(fetch(topic_id, partitions=3))
        for _ in range(turns):
            await asyncio.sleep(0)
        assert [waiting(replica) for replica in replicas] == [1, 1, 1]
        wire.lose()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert [waiting(replica) for replica in replicas] == [0, 0, 0]


@pytest.mark.plain_python
async def test_a_fetch_that_is_answered_at_once_leaves_no_wait_behind(
    broker: tidelog.Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic_id = await create_topic(client, "t", partitions=2)
    first, second = replica_of(broker, "t", 0), replica_of(broker, "t", 1)
    append(second, b"x")
    wire = Wire(broker.running.node)
    wire.send(fetch(topic_id, partitions=2))
    assert values(wire.reply()) == [b"x"]
    assert waiting(first) == waiting(second) == 0

    def fail(log: Log, *arguments: Any, **options: Any) -> Any:
        raise RuntimeError("planted")

    monkeypatch.setattr("tidelog.server.api.fetch.sendable_records", fail)
    monkeypatch.setattr("tidelog.server.fetching.sessions.FetchPlan.already_told", lambda *_: True)
    wire.send(fetch(topic_id, partitions=2))
    assert waiting(first) == waiting(second) == 0
    wire.lose()


async def test_those_who_gave_up_waiting_for_an_offset_do_not_add_up() -> None:
    waits = OffsetWaits()
    lasting = waits.add(5)
    for _ in range(10_000):
        waits.add(7).cancel()
    assert len(waits) < 200
    waits.advanced(5)
    assert lasting.result() is ErrorCode.NONE


@pytest.mark.parametrize("something_happens", [False, True])
async def test_a_wait_is_overdue_only_if_nothing_happened_between_its_time_and_the_answer(
    something_happens: bool,
) -> None:
    place: dict[FetchWait, None] = {}
    wait = FetchWait()
    wait.watch(place)
    begun = wait.begin(100, WAIT_MS)
    wait._expire()
    if something_happens:
        wait.grown(10)
    await begun
    await asyncio.sleep(0)
    assert place == {}
    assert wait.overdue is not something_happens


# -- coroutines have an owner ----------------------------------------------------------------------------------------


def asks(topic: str, topic_id: bytes, name: str) -> dict[str, Callable[[], tuple[Message, int | None]]]:
    """Requests that are answered later, each in its own way."""
    from tidelog.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
    from tidelog.protocol.messages.end_txn_request import EndTxnRequest
    from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
    from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
    from tidelog.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
    from tidelog.protocol.messages.offset_commit_request import (
        OffsetCommitRequest,
        OffsetCommitRequestPartition,
        OffsetCommitRequestTopic,
    )

    records = encode_batch([(0, None, b"x", ())])
    committed = [
        OffsetCommitRequestTopic(name=each, partitions=[OffsetCommitRequestPartition(committed_offset=1)])
        for each in (topic, "missing")
    ]
    return {
        "produce": lambda: (produce_request(topic, records), 11),
        "fetch": lambda: (fetch(topic_id), None),
        "metadata": lambda: (MetadataRequest(topics=[MetadataRequestTopic(name="new")]), None),
        "find coordinator": lambda: (FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), None),
        "init producer id": lambda: (InitProducerIdRequest(transactional_id=None), None),
        "init transactions": lambda: (InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1000), None),
        "end transaction": lambda: (EndTxnRequest(transactional_id=name, producer_id=1, producer_epoch=0), None),
        "add offsets": lambda: (AddOffsetsToTxnRequest(transactional_id=name, group_id="g"), None),
        "commit": lambda: (OffsetCommitRequest(group_id="g", topics=committed), 8),
    }


@pytest.mark.parametrize("turns", [0, 1, 2, 4])
async def test_a_connection_may_be_lost_at_any_turn_of_a_request(
    broker: tidelog.Broker, client: RawClient, turns: int
) -> None:
    """With flush.messages=1 a produce request has to wait for the device."""
    topic_id = await create_topic(client, "t", flush_messages="1")
    for request in asks("t", topic_id, "x").values():
        with nothing_unawaited():
            wire = Wire(broker.running.node)
            wire.send(*request())
            for _ in range(turns):
                await asyncio.sleep(0)
            wire.lose()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert waiting(replica_of(broker, "t")) == 0
