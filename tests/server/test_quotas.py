"""Quotas on a real broker: what is answered, when, and what happens to the connection meanwhile.

The broker's clock is stopped, so that the throttle times are those of the formula. That the formula is Kafka's is
tested in tests/security/quotas; that a broker of Kafka behaves like this one, in test_same_throttling.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from server.conftest import create_topic
from server.test_cleaning import wait_until
from support.hand_clock import HandClock
from support.nodes_in_process import nodes
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, produce_request, raw_client

import tidelog
from tidelog.config.broker import BrokerConfig
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from tidelog.protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from tidelog.protocol.messages.fetch_response import FetchResponse
from tidelog.protocol.messages.metadata_request import MetadataRequest
from tidelog.records.record import encode_batch
from tidelog.server.broker import single_node_properties
from tidelog.server.routing import connections
from tidelog.server.startup import RunningNode, system_ports

# In the eleven windows of one second that are the default, a rate is at first that of ten seconds.
SPAN_SECONDS = 10


class QuotaBroker:
    def __init__(self, running: RunningNode, clock: HandClock) -> None:
        self.running = running
        self.clock = clock
        self.addresses = [f"{host}:{port}" for host, port in running.addresses]
        self.address = self.addresses[0]

    @asynccontextmanager
    async def client(self) -> AsyncIterator[RawClient]:
        async with raw_client(self.address) as connected:
            yield connected

    async def set_quota(self, key: str, value: float | None, **entity: str | None) -> None:
        async with self.client() as client:
            await set_quota(client, key, value, **entity)


async def set_quota(client: RawClient, key: str, value: float | None, **entity: str | None) -> None:
    """Of all clients, unless an entity is given: user, client_id or ip."""
    named = [
        EntityData(entity_type=kind.replace("_", "-"), entity_name=name)
        for kind, name in (entity or {"client_id": None}).items()
    ]
    operation = OpData(key=key, value=value or 0.0, remove=value is None)
    reply = await client.ask(AlterClientQuotasRequest(entries=[EntryData(entity=named, ops=[operation])]))
    assert [entry.error_code for entry in reply.entries] == [0], reply


StartBroker = Callable[..., Awaitable[QuotaBroker]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[StartBroker]:
    started: list[RunningNode] = []

    async def begin(**properties: str) -> QuotaBroker:
        clock = HandClock()
        given = {name.replace("_", "."): value for name, value in properties.items()}
        config = single_node_properties(host="127.0.0.1", port=0, data_dir=str(tmp_path), properties=given)
        running = RunningNode(BrokerConfig.from_properties(config), replace(system_ports(), clock=clock))
        await running.start()
        started.append(running)
        return QuotaBroker(running, clock)

    yield begin
    for running in started:
        await running.stop()


@pytest.fixture
async def broker(start: StartBroker) -> QuotaBroker:
    return await start()


async def is_muted(broker: QuotaBroker, client: RawClient) -> bool:
    """Whether a request stays unanswered while those of others are answered."""
    client.send(MetadataRequest())
    async with broker.client() as other:
        for _ in range(20):
            await other.ask(MetadataRequest())
    return not client.has_received


def throttle_ms(size: float, quota: float) -> int:
    return round((size / SPAN_SECONDS - quota) / quota * SPAN_SECONDS * 1000)


def records(count: int, size: int) -> bytes:
    """Batches of one record each."""
    return b"".join(encode_batch([(1_700_000_000_000, None, bytes(size), ())]) for _ in range(count))


# -- produce -----------------------------------------------------------------------------------------------------------


async def test_a_produce_above_the_quota_is_appended_and_answered_and_the_connection_is_muted(
    broker: QuotaBroker,
) -> None:
    async with broker.client() as client:
        await create_topic(client, "t")
        await broker.set_quota("producer_byte_rate", 1_000)
        broker.clock.stop()
        request = produce_request("t", records(1, 20_000))
        reply = await client.ask(request, 11)
        assert reply.responses[0].partition_responses[0].base_offset == 0
        assert reply.throttle_time_ms == throttle_ms(client.last_size, 1_000)
        assert await is_muted(broker, client)


async def test_a_produce_within_the_quota_is_not_throttled(broker: QuotaBroker) -> None:
    async with broker.client() as client:
        await create_topic(client, "t")
        await broker.set_quota("producer_byte_rate", 1_000)
        broker.clock.stop()
        for _ in range(4):
            reply = await client.ask(produce_request("t", records(1, 1_500)), 11)
            assert reply.throttle_time_ms == 0


async def test_the_connection_is_read_again_when_the_time_is_over(broker: QuotaBroker) -> None:
    async with broker.client() as client:
        await create_topic(client, "t")
        request = produce_request("t", records(1, 10_000))
        client.send(request, 11)
        await client.receive((0, 11))
        # A hundredth above the quota: it takes a hundredth of the span.
        quota = client.last_size / SPAN_SECONDS / 1.01
        await broker.set_quota("producer_byte_rate", int(quota))
        broker.clock.stop()
        first = client.send(request, 11)
        second = client.send(MetadataRequest())
        reply = await client.receive(first)
        assert 50 < reply.throttle_time_ms < 200
        assert (await client.receive(second)).cluster_id


async def test_a_produce_without_acks_mutes_the_connection(broker: QuotaBroker) -> None:
    async with broker.client() as client:
        await create_topic(client, "t")
        await broker.set_quota("producer_byte_rate", 1_000)
        broker.clock.stop()
        client.send(produce_request("t", records(1, 20_000), acks=0), 11)
        assert await is_muted(broker, client)
        replica = broker.running.node.replicas.get("t", 0)
        assert replica is not None
        assert replica.log.log_end_offset == 1


async def test_a_quota_that_is_removed_does_not_count(broker: QuotaBroker) -> None:
    async with broker.client() as client:
        await create_topic(client, "t")
        await broker.set_quota("producer_byte_rate", 1_000)
        await broker.set_quota("producer_byte_rate", None)
        reply = await client.ask(produce_request("t", records(1, 20_000)), 11)
        assert reply.throttle_time_ms == 0
        assert not broker.running.node.throttling.is_limited


@pytest.mark.parametrize(("entity", "applies"), [({"user": "ANONYMOUS"}, True), ({"user": "alice"}, False)], ids=str)
async def test_a_client_without_credentials_has_the_quota_of_the_anonymous_user(
    broker: QuotaBroker, entity: dict[str, str], applies: bool
) -> None:
    async with broker.client() as client:
        await create_topic(client, "t")
        await broker.set_quota("producer_byte_rate", 1_000, **entity)
        reply = await client.ask(produce_request("t", records(1, 20_000)), 11)
        assert (reply.throttle_time_ms > 0) == applies


# -- fetch -------------------------------------------------------------------------------------------------------------


def fetch(
    topic_id: bytes, *, most: int = 1 << 20, session: tuple[int, int] = (0, -1), replica_id: int = -1
) -> FetchRequest:
    """From the beginning; by default without a session."""
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=most)
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1 << 20,
        session_id=session[0],
        session_epoch=session[1],
        replica_state=ReplicaState(replica_id=replica_id, replica_epoch=-1),
        topics=[FetchTopic(topic_id=topic_id, partitions=[wanted])],
    )


def fetched_bytes(reply: FetchResponse) -> int:
    return sum(len(each.records or b"") for topic in reply.responses for each in topic.partitions)


async def test_a_fetch_above_the_quota_returns_nothing_and_later_everything(broker: QuotaBroker) -> None:
    async with broker.client() as client:
        topic_id = await create_topic(client, "t")
        await client.produce_batch("t", records(1, 3_000))
        for _ in range(4):
            await client.produce_batch("t", records(1, 3_000))
        await broker.set_quota("consumer_byte_rate", 1_000)
        broker.clock.stop()
        request = fetch(topic_id, most=9_000)
        reply = await client.ask(request)
        assert (fetched_bytes(reply), reply.throttle_time_ms) == (9_000, 0)
        # Without the tags of its header.
        size = client.last_reply_size - 1
        empty = await client.ask(request)
        assert fetched_bytes(empty) == 0
        assert empty.throttle_time_ms == throttle_ms(2 * size, 1_000)
        assert await is_muted(broker, client)
    broker.clock.advance(12_000)
    async with broker.client() as client:
        reply = await client.ask(request)
        assert (fetched_bytes(reply), reply.throttle_time_ms) == (9_000, 0)


async def test_no_more_is_returned_than_the_quota_allows_in_all_windows(broker: QuotaBroker) -> None:
    async with broker.client() as client:
        topic_id = await create_topic(client, "t")
        for _ in range(5):
            await client.produce_batch("t", records(1, 3_000))
    await broker.set_quota("consumer_byte_rate", 1_000)
    broker.clock.stop()
    async with broker.client() as client:
        # What is not records is too much, by a little.
        reply = await client.ask(fetch(topic_id))
        assert 0 < reply.throttle_time_ms < 200
    broker.clock.advance(reply.throttle_time_ms)
    async with broker.client() as client:
        reply = await client.ask(fetch(topic_id))
        assert (fetched_bytes(reply), reply.throttle_time_ms) == (10_000, 0)


async def test_what_a_throttled_fetch_would_have_returned_is_not_counted(broker: QuotaBroker) -> None:
    async with broker.client() as client:
        topic_id = await create_topic(client, "t")
        await client.produce_batch("t", records(1, 9_000))
    await broker.set_quota("consumer_byte_rate", 1_000)
    broker.clock.stop()
    times = []
    for _ in range(4):
        async with broker.client() as client:
            times.append((await client.ask(fetch(topic_id))).throttle_time_ms)
    assert times[0] == 0 < times[1] == times[2] == times[3]


async def test_a_session_goes_on_after_a_throttled_fetch(broker: QuotaBroker) -> None:
    async with broker.client() as client:
        topic_id = await create_topic(client, "t")
        begun = await client.ask(fetch(topic_id, session=(0, 0)))
        await client.produce_batch("t", records(1, 9_000))
        await broker.set_quota("consumer_byte_rate", 100)
        throttled = await client.ask(FetchRequest(max_wait_ms=0, session_id=begun.session_id, session_epoch=1))
        assert throttled.throttle_time_ms > 0
        assert (throttled.session_id, list(throttled.responses)) == (begun.session_id, [])
    await broker.set_quota("consumer_byte_rate", None)
    async with broker.client() as client:
        reply = await client.ask(
            FetchRequest(max_wait_ms=0, max_bytes=1 << 20, session_id=begun.session_id, session_epoch=2)
        )
        assert fetched_bytes(reply) > 9_000


async def test_a_throttled_fetch_begins_no_session(broker: QuotaBroker) -> None:
    async with broker.client() as client:
        topic_id = await create_topic(client, "t")
        await client.produce_batch("t", records(1, 9_000))
        await broker.set_quota("consumer_byte_rate", 100)
        reply = await client.ask(fetch(topic_id, session=(0, 0)))
        assert reply.throttle_time_ms > 0
        assert reply.session_id == 0
        assert len(broker.running.node.fetch_sessions) == 0


async def test_a_fetch_waits_for_no_more_than_its_quota_allows(broker: QuotaBroker) -> None:
    async with broker.client() as client:
        topic_id = await create_topic(client, "t")
        await client.produce_batch("t", records(1, 800))
        await client.produce_batch("t", records(1, 800))
        await broker.set_quota("consumer_byte_rate", 100)
        request = fetch(topic_id)
        patient = FetchRequest(
            max_wait_ms=300_000, min_bytes=1 << 20, max_bytes=1 << 20, session_epoch=-1, topics=request.topics
        )
        # A thousand bytes are all that it may get at once; with what is not records, that is a little too much.
        reply = await client.ask(patient)
        assert 0 < reply.throttle_time_ms < 1_000


async def test_who_only_claims_to_be_a_broker_is_not_exempt(broker: QuotaBroker) -> None:
    async with broker.client() as client:
        topic_id = await create_topic(client, "t")
        await broker.set_quota("request_percentage", 0.000_001)
        reply = await client.ask(fetch(topic_id, replica_id=7))
        assert reply.throttle_time_ms > 0


# -- the time of requests ----------------------------------------------------------------------------------------------


async def test_requests_that_take_too_much_time_are_throttled_for_one_window_at_most(broker: QuotaBroker) -> None:
    await broker.set_quota("request_percentage", 0.001)
    async with broker.client() as client:
        # Whoever looks at the clock takes a millisecond.
        broker.clock.stop(step_ms=1)
        reply = await client.ask(MetadataRequest())
        assert reply.throttle_time_ms == 1_000
        assert (await client.ask(MetadataRequest())).cluster_id


async def test_a_request_of_an_asynchronous_handler_counts_only_the_time_of_its_steps(broker: QuotaBroker) -> None:
    """Creating a topic waits for the disk, which is not the client's use of the event loop."""
    broker.clock.stop()
    await broker.set_quota("request_percentage", 0.001)
    async with broker.client() as client:
        reply = await client.ask(CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1)]))
        assert reply.throttle_time_ms == 0
        broker.clock.stop(step_ms=1)
        reply = await client.ask(CreateTopicsRequest(topics=[CreatableTopic(name="u", num_partitions=1)]))
        assert reply.throttle_time_ms > 0


# -- mutations of the controller ---------------------------------------------------------------------------------------


async def test_what_is_beyond_the_tokens_is_refused_in_new_versions(broker: QuotaBroker) -> None:
    await broker.set_quota("controller_mutation_rate", 1)
    broker.clock.stop()
    async with broker.client() as client:
        # Eleven tokens, of which twenty are taken.
        first = await create(client, "a", 20)
        assert (first.topics[0].error_code, first.throttle_time_ms) == (0, 0)
        second = await create(client, "b", 1)
        assert second.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert second.topics[0].error_message == "The throttling quota has been exceeded."
        assert second.throttle_time_ms == 9_000
        assert await is_muted(broker, client)
    async with broker.client() as client:
        deletion = DeleteTopicsRequest(topics=[DeleteTopicState(name="a")], timeout_ms=1_000)
        reply = await client.ask(deletion)
        assert (reply.responses[0].error_code, reply.throttle_time_ms) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 9_000)
    async with broker.client() as client:
        growth = CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name="a", count=30, assignments=None)], timeout_ms=1_000
        )
        reply = await client.ask(growth)
        assert (reply.results[0].error_code, reply.throttle_time_ms) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 9_000)
    broker.clock.advance(9_000)
    async with broker.client() as client:
        third = await create(client, "b", 1)
        assert (third.topics[0].error_code, third.throttle_time_ms) == (0, 0)


async def test_old_versions_are_done_and_throttled(broker: QuotaBroker) -> None:
    await broker.set_quota("controller_mutation_rate", 1)
    broker.clock.stop()
    async with broker.client() as client:
        reply = await create(client, "a", 20, version=5)
        assert (reply.topics[0].error_code, reply.throttle_time_ms) == (0, 9_000)
        assert await is_muted(broker, client)
    async with broker.client() as client:
        reply = await client.ask(DeleteTopicsRequest(topic_names=["a"], timeout_ms=1_000), 4)
        assert (reply.responses[0].error_code, reply.throttle_time_ms) == (0, 29_000)


async def test_each_topic_of_a_request_is_decided_on_its_own(broker: QuotaBroker) -> None:
    await broker.set_quota("controller_mutation_rate", 1)
    broker.clock.stop()
    async with broker.client() as client:
        topics = [CreatableTopic(name=name, num_partitions=12, replication_factor=1) for name in "ab"]
        reply = await client.ask(CreateTopicsRequest(topics=topics))
        assert [each.error_code for each in reply.topics] == [0, ErrorCode.THROTTLING_QUOTA_EXCEEDED]


async def create(client: RawClient, name: str, partitions: int, version: int | None = None) -> Any:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    return await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), version)


# -- connections -------------------------------------------------------------------------------------------------------


async def test_an_address_that_connects_too_often_is_closed_later(broker: QuotaBroker) -> None:
    await broker.set_quota("connection_creation_rate", 1, ip="127.0.0.1")
    broker.clock.stop()
    held = broker.running.node.connections
    async with broker.client() as kept:
        await kept.ask(MetadataRequest())
        for _ in range(SPAN_SECONDS - 1):
            async with broker.client() as client:
                await client.ask(MetadataRequest())
        async with broker.client() as refused:
            asked = refused.send(MetadataRequest())
            await wait_until(lambda: held.waiting == 1)
            assert asked is not None
            assert await refused.closed_by_broker()
        await kept.ask(MetadataRequest())
        broker.clock.advance(11_000)
        async with broker.client() as client:
            await client.ask(MetadataRequest())


async def test_the_quota_of_a_host_name_is_that_of_its_address(broker: QuotaBroker) -> None:
    await broker.set_quota("connection_creation_rate", 1, ip="localhost")
    broker.clock.stop()
    throttled = False
    async with asyncio.timeout(HANG_SECONDS):
        # It is looked up in the background.
        while not throttled:
            async with broker.client() as client:
                client.send(MetadataRequest())
                throttled = await client.closed_by_broker()


async def test_connections_beyond_the_rate_of_the_broker_wait(start: StartBroker) -> None:
    broker = await start(max_connection_creation_rate="1")
    broker.clock.stop()
    held = broker.running.node.connections
    for _ in range(SPAN_SECONDS):
        async with broker.client() as client:
            await client.ask(MetadataRequest())
    async with broker.client() as first, broker.client() as second:
        asked = first.send(MetadataRequest()), second.send(MetadataRequest())
        await wait_until(lambda: held.waiting == 2)
        broker.clock.advance(1_000)
        assert (await first.receive(asked[0])).cluster_id
        await wait_until(lambda: held.waiting == 1)
        broker.clock.advance(11_000)
        assert (await second.receive(asked[1])).cluster_id


async def test_only_so_many_connections_wait(start: StartBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_WAITING", 2)
    broker = await start(max_connections="1")
    async with broker.client() as only:
        await only.ask(MetadataRequest())
        async with broker.client() as first, broker.client() as second, broker.client() as third:
            assert await third.closed_by_broker()
            asked = first.send(MetadataRequest()), second.send(MetadataRequest())
            only.close()
            # In the order in which they came.
            assert (await first.receive(asked[0])).cluster_id
            first.close()
            assert (await second.receive(asked[1])).cluster_id


async def test_a_client_that_does_not_wait_gives_its_place_to_the_next(start: StartBroker) -> None:
    broker = await start(max_connections="1")
    held = broker.running.node.connections
    async with broker.client() as only:
        await only.ask(MetadataRequest())
        async with broker.client() as impatient, broker.client() as patient:
            await wait_until(lambda: held.waiting == 2)
            impatient.close()
            asked = patient.send(MetadataRequest())
            only.close()
            assert (await patient.receive(asked)).cluster_id


async def test_the_listener_of_brokers_is_let_in_and_an_idle_client_makes_room(start: StartBroker) -> None:
    properties = {
        "listeners": "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
        "listener_security_protocol_map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
        "inter_broker_listener_name": "INSIDE",
        "max_connections": "1",
    }
    inside, outside = (await start(**properties)).addresses
    async with raw_client(outside) as idle:
        await idle.ask(MetadataRequest())
        async with raw_client(inside) as needed:
            await needed.ask(MetadataRequest())
            assert await idle.closed_by_broker()


# -- between nodes -----------------------------------------------------------------------------------------------------


async def test_followers_and_the_quorum_have_no_quota(tmp_path: Path) -> None:
    """Nodes without credentials are the anonymous user, as clients are: only what they ask tells them apart."""
    roles = dict.fromkeys((1, 2, 3), "broker,controller")
    async with nodes(tmp_path, roles, min_insync_replicas="3") as cluster:
        address = cluster.address(1)
        async with raw_client(address) as client:
            await create_topic(client, "t", replication_factor=3)
        async with raw_client(address) as client:
            for key in ("request_percentage", "consumer_byte_rate"):
                await set_quota(client, key, 0.000_001 if "percentage" in key else 1, user=None)
        async with tidelog.Producer(bootstrap_servers=address, acks="all") as producer:
            for _ in range(5):
                await (await producer.send("t", bytes(10_000)))
        for running in cluster.running.values():
            read = running.node.metrics.registry().get_sample_value
            for api in ("Fetch", "Vote", "BrokerHeartbeat", "AlterPartition"):
                labels = {"api": api, "quota": "request_percentage"}
                assert read("tidelog_throttled_requests_total", labels) is None
                assert read("tidelog_throttled_requests_total", {**labels, "quota": "consumer_byte_rate"}) is None


# -- what operators see ------------------------------------------------------------------------------------------------


async def test_throttles_are_counted_by_api_and_quota(broker: QuotaBroker) -> None:
    async with broker.client() as client:
        await create_topic(client, "t")
        await broker.set_quota("producer_byte_rate", 1_000)
        broker.clock.stop()
        reply = await client.ask(produce_request("t", records(1, 20_000)), 11)
    values = broker.running.node.metrics.registry()
    labels = {"api": "Produce", "quota": "producer_byte_rate"}
    assert values.get_sample_value("tidelog_throttled_requests_total", labels) == 1
    seconds = values.get_sample_value("tidelog_throttle_seconds_total", labels)
    assert seconds == reply.throttle_time_ms / 1000
    counted = {"quota": "producer_byte_rate", "user": "", "client_id": "raw"}
    assert values.get_sample_value("tidelog_client_quota", counted) == 1_000
    assert values.get_sample_value("tidelog_client_throttle_seconds", counted) == seconds
    rate = values.get_sample_value("tidelog_client_rate", counted)
    assert rate is not None
    assert throttle_ms(rate * SPAN_SECONDS, 1_000) == reply.throttle_time_ms


# -- our own clients ---------------------------------------------------------------------------------------------------


async def test_our_clients_wait_as_they_are_asked_to_and_lose_nothing(start: StartBroker) -> None:
    broker = await start(quota_window_num="2")
    await broker.set_quota("producer_byte_rate", 100_000)
    await broker.set_quota("consumer_byte_rate", 100_000)
    options: dict[str, Any] = {"bootstrap_servers": broker.address, "client_id": "throttled"}
    async with tidelog.Producer(**options, batch_size=20_000, linger_ms=0) as producer:
        for delivery in [await producer.send("t", bytes(15_000)) for _ in range(10)]:
            await delivery
    async with tidelog.Consumer(
        "t", **options, auto_offset_reset="earliest", max_partition_fetch_bytes=20_000
    ) as consumer:
        for _ in range(10):
            record = await anext(consumer)
            assert record.value == bytes(15_000)
    throttled = broker.running.node.metrics.registry().get_sample_value
    for api, key in (("Produce", "producer_byte_rate"), ("Fetch", "consumer_byte_rate")):
        count = throttled("tidelog_throttled_requests_total", {"api": api, "quota": key})
        assert count is not None, api


async def test_an_administrator_tries_again_what_the_controller_refused_for_its_quota(start: StartBroker) -> None:
    broker = await start()
    await broker.set_quota("controller_mutation_rate", 10)
    async with tidelog.Admin(bootstrap_servers=broker.address) as admin:
        # 110 tokens: the second topic takes the last ones, and the third has to wait for a tenth of a second each.
        await admin.create_topic("a", partitions=100)
        await admin.create_topic("b", partitions=15)
        await admin.create_topic("c", partitions=1)
        assert {"a", "b", "c"} <= {topic.name for topic in await admin.list_topics()}
