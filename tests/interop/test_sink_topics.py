"""The sink's topics on Apache Kafka, which answers that there is none and creates it behind that answer."""

from __future__ import annotations

import asyncio

import pytest
from support.apache_kafka import ApacheKafka

from tidelog.spark.sink.errors import SinkError
from tidelog.spark.sink.event_loop import run
from tidelog.spark.sink.options import SinkOptions, sink_options
from tidelog.spark.sink.topics import partition_count, partition_counts

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm"), pytest.mark.slow]


def options(kafka: ApacheKafka, **given: str) -> SinkOptions:
    return sink_options({"kafka.bootstrap.servers": kafka.bootstrap_servers, **given})


def test_a_missing_topic_is_created_as_for_a_producer(apache_kafka: ApacheKafka) -> None:
    counts = run(partition_counts(options(apache_kafka, topic="sink-by-option")))
    assert counts == {"sink-by-option": 1}

    given = options(apache_kafka)

    async def tasks() -> list[int]:
        return await asyncio.gather(*(partition_count(given, "sink-by-rows") for _ in range(4)))

    assert run(tasks()) == [1, 1, 1, 1]


def test_topic_partitions_creates_it_with_so_many(apache_kafka: ApacheKafka) -> None:
    counts = run(partition_counts(options(apache_kafka, topic="sink-of-five", topicPartitions="5")))
    assert counts == {"sink-of-five": 5}


def test_a_name_that_no_topic_can_have_is_refused(apache_kafka: ApacheKafka) -> None:
    with pytest.raises(SinkError, match="INVALID_TOPIC_EXCEPTION"):
        run(partition_counts(options(apache_kafka, topic="a/b")))
