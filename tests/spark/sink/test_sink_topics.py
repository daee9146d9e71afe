"""Topics that rows go to: found, created as a producer would, or refused with what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from support.filled_topics import new_topic_name

from tidelog.client.admin import Admin
from tidelog.model.errors import ApiError
from tidelog.spark.sink.errors import InvalidSinkOptions, SinkError, UnknownTopic
from tidelog.spark.sink.event_loop import run
from tidelog.spark.sink.options import SinkOptions, sink_options
from tidelog.spark.sink.topics import partition_count, partition_counts
from tidelog.testing.broker_thread import BrokerThread


@pytest.fixture(scope="module")
def creating() -> Iterator[BrokerThread]:
    with BrokerThread(properties={"num.partitions": "3"}) as running:
        yield running


@pytest.fixture(scope="module")
def refusing() -> Iterator[BrokerThread]:
    with BrokerThread(properties={"auto.create.topics.enable": "false"}) as running:
        yield running


def options(broker: BrokerThread, **given: str) -> SinkOptions:
    return sink_options({"kafka.bootstrap.servers": broker.bootstrap_servers, **given})


def partitions_of(broker: BrokerThread, topic: str) -> int | None:
    async def describe() -> int | None:
        async with Admin(broker.bootstrap_servers) as admin:
            found = (await admin.describe_topics([topic]))[topic]
            return None if isinstance(found, ApiError) else len(found.partitions)

    return asyncio.run(describe())


def test_a_missing_topic_is_created_where_the_broker_creates_topics(creating: BrokerThread) -> None:
    topic = new_topic_name("created")

    assert run(partition_counts(options(creating, topic=topic))) == {topic: 3}
    assert partitions_of(creating, topic) == 3


def test_a_missing_topic_is_refused_at_once_where_it_does_not(refusing: BrokerThread) -> None:
    topic = new_topic_name("missing")
    message = (
        r"does not exist, and the broker has auto\.create\.topics\.enable=false\. Create it first, .* topicPartitions"
    )

    with pytest.raises(UnknownTopic, match=message):
        run(partition_counts(options(refusing, topic=topic)))
    assert partitions_of(refusing, topic) is None


@pytest.mark.parametrize("which", ["creating", "refusing"])
def test_topic_partitions_creates_it_anywhere(which: str, request: pytest.FixtureRequest) -> None:
    broker: BrokerThread = request.getfixturevalue(which)
    topic = new_topic_name("of-five")

    for _ in range(2):
        assert run(partition_counts(options(broker, topic=topic, topicPartitions="5"))) == {topic: 5}
    assert partitions_of(broker, topic) == 5


def test_topic_partitions_leaves_a_topic_that_is_there_as_it_is(creating: BrokerThread) -> None:
    topic = new_topic_name("there")
    run(partition_counts(options(creating, topic=topic)))

    assert run(partition_counts(options(creating, topic=topic, topicPartitions="7"))) == {topic: 3}


def test_a_topic_that_only_rows_name_is_created_by_the_first_task_that_meets_it(creating: BrokerThread) -> None:
    topic = new_topic_name("named-by-rows")
    given = options(creating)

    assert topic not in run(partition_counts(given))

    async def tasks() -> list[int]:
        return await asyncio.gather(*(partition_count(given, topic) for _ in range(4)))

    assert run(tasks()) == [3, 3, 3, 3]


def test_tasks_that_create_with_topic_partitions_at_once_count_alike(refusing: BrokerThread) -> None:
    topic = new_topic_name("raced")
    given = options(refusing, topicPartitions="4")

    async def tasks() -> list[int]:
        return await asyncio.gather(*(partition_count(given, topic) for _ in range(4)))

    assert run(tasks()) == [4, 4, 4, 4]


@pytest.mark.parametrize("name", ["a/b", "."])
def test_a_name_that_no_topic_can_have_is_refused(name: str, creating: BrokerThread) -> None:
    with pytest.raises(SinkError, match="INVALID_TOPIC_EXCEPTION"):
        run(partition_counts(options(creating, topic=name)))


def test_kafkas_own_topics_are_not_written_to(creating: BrokerThread) -> None:
    with pytest.raises(SinkError, match="internal to Kafka"):
        run(partition_counts(options(creating, topic="__consumer_offsets")))


@pytest.mark.parametrize("wrong", ["0", "-1", "many", "1.5"])
def test_topic_partitions_is_a_number_from_one_on(wrong: str) -> None:
    with pytest.raises(InvalidSinkOptions, match=f"topicPartitions={wrong} must be a number of partitions"):
        sink_options({"kafka.bootstrap.servers": "127.0.0.1:9092", "topicPartitions": wrong})
