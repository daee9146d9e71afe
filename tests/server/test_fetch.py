"""Fetch over a real socket: bounds, waiting, sessions, epochs, and those who claim to be replicas."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from server.conftest import create_topic
from support.decoding import decode_all
from support.raw_client import RawClient, raw_client

import tidelog
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)


def fetch(topic_id: bytes, *partitions: FetchPartition, **fields: Any) -> FetchRequest:
    given = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1, **fields}
    return FetchRequest(topics=[FetchTopic(topic_id=topic_id, partitions=partitions)], **given)


def wanted(offset: int = 0, partition: int = 0, max_bytes: int = 1 << 20, **fields: Any) -> FetchPartition:
    return FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes, **fields)


def only_partition(response: Any) -> Any:
    ((partition,),) = (topic.partitions for topic in response.responses)
    return partition


async def test_a_reader_gets_what_was_produced_and_the_bounds_of_the_log(client: RawClient) -> None:
    topic_id = await create_topic(client, "t")
    await client.produce("t", b"a", b"b")
    await client.produce("t", b"c")
    answer = only_partition(await client.ask(fetch(topic_id, wanted())))
    assert [record.value for record in decode_all(answer.records)] == [b"a", b"b", b"c"]
    assert (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (3, 3, 0)


async def test_the_first_batch_is_whole_even_above_all_limits(client: RawClient) -> None:
    topic_id = await create_topic(client, "t")
    await client.produce("t", b"x" * 50_000)
    answer = only_partition(await client.ask(fetch(topic_id, wanted(max_bytes=10), max_bytes=10)))
    assert [len(record.value or b"") for record in decode_all(answer.records)] == [50_000]


async def test_names_are_used_before_version_13(client: RawClient) -> None:
    await create_topic(client, "t")
    await client.produce("t", b"a")
    request = FetchRequest(
        max_wait_ms=0, min_bytes=1, session_epoch=-1, topics=[FetchTopic(topic="t", partitions=[wanted()])]
    )
    for version in (4, 7, 11, 12):
        answer = only_partition(await client.ask(request, version))
        assert [record.value for record in decode_all(answer.records)] == [b"a"], version


@pytest.mark.parametrize("offset", [-1, 2, 100])
async def test_offsets_outside_of_the_log_are_refused(client: RawClient, offset: int) -> None:
    topic_id = await create_topic(client, "t")
    await client.produce("t", b"a")
    answer = only_partition(await client.ask(fetch(topic_id, wanted(offset))))
    assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert answer.high_watermark == -1


async def test_unknown_topics_and_partitions_are_named_as_such(client: RawClient) -> None:
    topic_id = await create_topic(client, "t")
    answer = only_partition(await client.ask(fetch(b"\x01" * 16, wanted())))
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    answer = only_partition(await client.ask(fetch(topic_id, wanted(partition=7))))
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_wrong_leader_epoch_is_refused(client: RawClient) -> None:
    topic_id = await create_topic(client, "t")
    answer = only_partition(await client.ask(fetch(topic_id, wanted(current_leader_epoch=50))))
    assert answer.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


async def test_scenario_24_a_client_that_claims_to_be_a_replica_is_refused(client: RawClient) -> None:
    topic_id = await create_topic(client, "t")
    await client.produce("t", b"a")
    for replica in (0, 1, 5):
        request = fetch(topic_id, wanted(), replica_state=ReplicaState(replica_id=replica, replica_epoch=1))
        answer = only_partition(await client.ask(request))
        assert answer.error_code != ErrorCode.NONE
        assert not answer.records


async def test_a_fetch_waits_for_min_bytes_and_no_longer_than_it_must(
    broker: tidelog.Broker, client: RawClient
) -> None:
    topic_id = await create_topic(client, "t")
    loop = asyncio.get_running_loop()
    started = loop.time()
    asked = client.send(fetch(topic_id, wanted(), max_wait_ms=15_000, min_bytes=1))
    async with raw_client(broker.bootstrap_servers) as other:
        await asyncio.sleep(0.05)
        await other.produce("t", b"now")
    answer = only_partition(await client.receive(asked))
    assert [record.value for record in decode_all(answer.records)] == [b"now"]
    assert loop.time() - started < 10


async def test_a_fetch_without_data_is_answered_when_its_time_is_up(client: RawClient) -> None:
    topic_id = await create_topic(client, "t")
    loop = asyncio.get_running_loop()
    started = loop.time()
    answer = only_partition(await client.ask(fetch(topic_id, wanted(), max_wait_ms=200)))
    assert not answer.records
    assert loop.time() - started >= 0.19


async def test_a_deleted_topic_ends_the_waiting(broker: tidelog.Broker, client: RawClient) -> None:
    from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState

    topic_id = await create_topic(client, "t")
    asked = client.send(fetch(topic_id, wanted(), max_wait_ms=15_000))
    async with raw_client(broker.bootstrap_servers) as other:
        await other.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=5000))
    answer = only_partition(await client.receive(asked))
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID


async def test_a_session_only_mentions_what_has_changed(client: RawClient) -> None:
    topic_id = await create_topic(client, "t", partitions=3)
    first = await client.ask(fetch(topic_id, *(wanted(0, number) for number in range(3)), session_epoch=0))
    assert first.session_id > 0
    assert [p.partition_index for p in first.responses[0].partitions] == [0, 1, 2]
    await client.produce("t", b"a", partition=1)
    session = {"session_id": first.session_id, "max_wait_ms": 0, "min_bytes": 1}
    second = await client.ask(FetchRequest(session_epoch=1, **session))
    assert [p.partition_index for p in second.responses[0].partitions] == [1]
    read = FetchTopic(topic_id=topic_id, partitions=[wanted(1, 1)])
    third = await client.ask(FetchRequest(session_epoch=2, topics=[read], **session))
    assert list(third.responses) == []


async def test_a_session_forgets_partitions_on_request(client: RawClient) -> None:
    topic_id = await create_topic(client, "t", partitions=2)
    first = await client.ask(fetch(topic_id, wanted(0, 0), wanted(0, 1), session_epoch=0))
    forgotten = [ForgottenTopic(topic_id=topic_id, partitions=[1])]
    session = {"session_id": first.session_id, "max_wait_ms": 0, "min_bytes": 1}
    await client.ask(FetchRequest(session_epoch=1, forgotten_topics_data=forgotten, **session))
    await client.produce("t", b"a", partition=1)
    after = await client.ask(FetchRequest(session_epoch=2, **session))
    assert list(after.responses) == []


async def test_lost_sessions_and_wrong_epochs_are_told(client: RawClient) -> None:
    topic_id = await create_topic(client, "t")
    unknown = await client.ask(FetchRequest(session_id=12345, session_epoch=3, max_wait_ms=0))
    assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    first = await client.ask(fetch(topic_id, wanted(), session_epoch=0))
    skipped = await client.ask(FetchRequest(session_id=first.session_id, session_epoch=5, max_wait_ms=0))
    assert skipped.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


async def test_replies_keep_the_order_of_the_requests(client: RawClient) -> None:
    """A waiting fetch holds up what comes behind it on the same connection, as in Kafka."""
    topic_id = await create_topic(client, "t")
    waiting = client.send(fetch(topic_id, wanted(), max_wait_ms=300))
    behind = client.send(fetch(topic_id, wanted(), max_wait_ms=0))
    assert not only_partition(await client.receive(waiting)).records
    assert not only_partition(await client.receive(behind)).records
