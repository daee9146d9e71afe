"""What the overview and the pages of topics and brokers read from a real broker."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

import pytest
from support.console_api import console_of
from support.eventually import eventually
from support.scripted_brokers import TOPIC, scripted_brokers

import tidelog
from tidelog.client.admin import NewTopic
from tidelog.console.connection import ClusterConnection
from tidelog.console.feeds import Feeds, FirstPart
from tidelog.console.pages.brokers import BrokersReader
from tidelog.console.pages.overview import OverviewReader
from tidelog.console.pages.topic import MOST_PARTITIONS, TopicReader
from tidelog.console.pages.topics import TopicsReader
from tidelog.console.parts import ConsoleParts
from tidelog.console.replies import Json, encoded
from tidelog.console.settings import ConsoleSettings
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import format_uuid
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest
from tidelog.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse


@pytest.fixture
async def broker() -> AsyncIterator[tidelog.Broker]:
    async with tidelog.Broker(port=0) as running:
        yield running


@pytest.fixture
async def parts(broker: tidelog.Broker) -> AsyncIterator[ConsoleParts]:
    client = {"bootstrap.servers": broker.bootstrap_servers}
    settings = ConsoleSettings(client=client, host="127.0.0.1", port=0, token=None, read_only=False)
    cluster = ClusterConnection(client)
    yield ConsoleParts(settings=settings, cluster=cluster, feeds=Feeds())
    await cluster.close()


def read(document: Json) -> Any:
    """As the browser gets it."""
    return json.loads(encoded(document))


async def create(parts: ConsoleParts, name: str, partitions: int = 1, **configs: str) -> None:
    admin = await parts.cluster.admin()
    new = NewTopic(
        name=name, partitions=partitions, configs={key.replace("_", "."): value for key, value in configs.items()}
    )
    admin.raise_any(cast(Mapping[str, Any], await admin.create_topics([new])))


async def produce(broker: tidelog.Broker, topic: str, values: int, partition: int = 0) -> None:
    async with tidelog.Producer(broker.bootstrap_servers) as producer:
        for number in range(values):
            await producer.send(topic, value=b"%d" % number, partition=partition)


async def test_overview_of_an_empty_broker(parts: ConsoleParts) -> None:
    shown = read(await OverviewReader(parts).read())
    (node,) = shown["brokers"]
    assert node["controller"]
    assert node["latency_ms"] > 0
    assert shown["quorum"]["leader"] == node["id"]
    assert shown["partitions"] == {"topics": 0, "count": 0, "offline": 0, "under_replicated": 0}
    assert shown["attention"] == []


async def test_overview_counts_what_is_written(parts: ConsoleParts, broker: tidelog.Broker) -> None:
    await create(parts, "orders", 3)
    reader = OverviewReader(parts)
    first = read(await reader.read())
    assert first["points"][-1]["records_per_second"] is None, "one reading has no rate"
    assert first["brokers"][0]["leads"] == 3
    await produce(broker, "orders", 40)
    second = read(await reader.read())
    assert second["points"][-1]["records_per_second"] > 0


async def test_overview_tells_of_transactions_that_stay_open(
    parts: ConsoleParts, broker: tidelog.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.console.pages.overview._LONG_OPEN_MS", 1)
    await create(parts, "payments")
    async with tidelog.Producer(broker.bootstrap_servers, transactional_id="till/1") as producer:
        await producer.init_transactions()
        async with producer.transaction():
            await producer.send("payments", value=b"1")
            await producer.flush()
            reader = OverviewReader(parts)

            async def it_is_told() -> None:
                told = read(await reader.read())["attention"]
                assert [each["link"] for each in told] == ["/transactions/till%2F1"]
                assert "till/1" in told[0]["text"]

            await eventually(it_is_told)

    async def it_has_ended() -> None:
        # The producer is answered when the outcome is decided, before all partitions have their marker.
        assert read(await reader.read())["attention"] == []

    await eventually(it_has_ended)


async def test_topics_have_offsets_rates_and_sizes(parts: ConsoleParts, broker: tidelog.Broker) -> None:
    await create(parts, "orders", 2)
    await produce(broker, "orders", 30, partition=1)
    reader = TopicsReader(parts)
    soon = await reader.read()
    assert isinstance(soon, FirstPart)
    assert read(soon.document)["lags_told"] is None
    whole = read(await soon.rest())
    assert whole["lags_told"] is True
    (first,) = whole["topics"]
    assert {**first, "lag": None} == read(soon.document)["topics"][0]
    assert (first["name"], first["partitions"], first["replication"], first["offsets"]) == ("orders", 2, 1, 30)
    assert first["rate"] is None
    assert first["size"] > 0
    await produce(broker, "orders", 10)
    later = await reader.read()
    assert not isinstance(later, FirstPart)
    (second,) = read(later)["topics"]
    assert second["offsets"] == 40
    assert second["rate"] > 0


async def test_one_topic_has_marks_epochs_and_segments(parts: ConsoleParts, broker: tidelog.Broker) -> None:
    await create(parts, "orders", 2, min_insync_replicas="1")
    await produce(broker, "orders", 25, partition=1)
    shown = read(await TopicReader(parts, "orders", 1).read())
    assert shown["settings"]["cleanup.policy"] == "delete"
    assert shown["lag_time_max_ms"] == 30_000
    (replica,) = shown["partitions"][1]["replicas"]
    assert replica["leader"]
    assert replica["in_sync"]
    assert replica["offsets"] == {"start": 0, "stable": 25, "watermark": 25, "end": 25}
    assert shown["shown"]["epochs"] == [{"epoch": shown["partitions"][1]["leader_epoch"], "start": 0, "end": 25}]
    (told,) = shown["shown"]["segments"]
    assert [(each["base"], each["next"], each["state"]) for each in told["segments"]] == [(0, 25, "active")]


async def test_an_open_transaction_holds_the_last_stable_offset_back(
    parts: ConsoleParts, broker: tidelog.Broker
) -> None:
    await create(parts, "payments")
    await produce(broker, "payments", 3)
    reader = TopicReader(parts, "payments", 0)
    async with tidelog.Producer(broker.bootstrap_servers, transactional_id="till-1") as producer:
        await producer.init_transactions()
        async with producer.transaction():
            await producer.send("payments", value=b"1")
            await producer.flush()
            (replica,) = read(await reader.read())["partitions"][0]["replicas"]
            assert replica["offsets"] == {"start": 0, "stable": 3, "watermark": 4, "end": 4}


async def test_a_topic_that_was_recreated_begins_again(parts: ConsoleParts, broker: tidelog.Broker) -> None:
    await create(parts, "orders")
    await produce(broker, "orders", 5)
    reader = TopicReader(parts, "orders", 0)
    first = read(await reader.read())
    admin = await parts.cluster.admin()
    admin.raise_any(await admin.delete_topics(["orders"]))
    with pytest.raises(ApiError) as refused:
        await reader.read()
    assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    await create(parts, "orders")
    second = read(await reader.read())
    assert second["id"] != first["id"]
    assert second["partitions"][0]["rate"] is None
    assert second["shown"]["epochs"] == []


async def test_of_a_topic_with_many_partitions_one_is_asked_for(parts: ConsoleParts, broker: tidelog.Broker) -> None:
    await create(parts, "wide", MOST_PARTITIONS + 1)
    await produce(broker, "wide", 2, partition=7)
    shown = read(await TopicReader(parts, "wide", 7).read())
    assert shown["left_out"] == MOST_PARTITIONS
    known = [each["partition"] for each in shown["partitions"] if each["replicas"][0]["offsets"]]
    assert known == [7]


async def test_a_partition_that_does_not_exist_is_no_failure(parts: ConsoleParts) -> None:
    await create(parts, "orders")
    shown = read(await TopicReader(parts, "orders", 5).read())
    assert shown["shown"] is None
    assert len(shown["partitions"]) == 1


async def test_brokers_have_directories(parts: ConsoleParts, broker: tidelog.Broker) -> None:
    await create(parts, "orders", 4)
    (shown,) = read(await BrokersReader(parts).read())["brokers"]
    assert (shown["leads"], shown["holds"]) == (4, 4)
    (directory,) = shown["directories"]
    assert directory["replicas"] >= 4
    assert 0 < directory["usable"] <= directory["total"]


# -- deleting topics ------------------------------------------------------------------------------------------------


async def test_a_topic_that_is_recreated_at_the_last_moment_is_not_deleted(
    broker: tidelog.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the console has looked, and before it deletes."""
    async with console_of({"bootstrap.servers": broker.bootstrap_servers}) as api:
        admin = await api.console.parts.cluster.admin()
        shown = format_uuid((await admin.create_topic("orders", partitions=1)).topic_id)
        describe = admin.describe_topics

        async def described_and_recreated(names: list[str]) -> Any:
            found = await describe(names)
            monkeypatch.undo()
            admin.raise_any(await admin.delete_topics(names))

            async def create_again() -> None:
                assert not isinstance((await admin.create_topics([NewTopic(name=names[0])]))[names[0]], ApiError)

            await eventually(create_again)
            return found

        monkeypatch.setattr(admin, "describe_topics", described_and_recreated)
        await api.post("topic/delete", {"name": "orders", "id": shown}, expected=404)
        now = format_uuid(admin.raise_any(await admin.describe_topics(["orders"]))["orders"].topic_id)
        assert now != shown
        await api.post("topic/delete", {"name": "orders", "id": shown}, expected=409)
        await api.post("topic/delete", {"name": "orders", "id": now})
        assert await admin.list_topics() == []


async def test_brokers_that_take_no_ids_delete_topics_by_name() -> None:
    async with scripted_brokers(1) as cluster:
        (broker,) = cluster.brokers
        broker.newest[DeleteTopicsRequest] = 5
        asked: list[list[str]] = []

        def delete(request: DeleteTopicsRequest) -> DeleteTopicsResponse:
            asked.append(list(request.topic_names))
            return DeleteTopicsResponse(responses=[DeletableTopicResult(name=name) for name in request.topic_names])

        broker.answer(DeleteTopicsRequest, delete)
        async with console_of({"bootstrap.servers": cluster.bootstrap_servers}) as api:
            await api.post("topic/delete", {"name": TOPIC, "id": format_uuid(b"t" * 16)})
        assert asked == [[], [TOPIC]], "without ids nothing is named at first"
