"""What clients measure of themselves: the arithmetic of samples, and figures of real traffic."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tidelog.client.admin import Admin
from tidelog.client.consumer import Consumer
from tidelog.client.errors import DeliveryFailed
from tidelog.client.metrics import SAMPLE_MS, Samples
from tidelog.client.producer.producer import Producer
from tidelog.model.ids import TopicPartition

if TYPE_CHECKING:
    from tidelog.testing.broker_thread import BrokerThread


def test_rate_average_and_maximum_are_those_of_two_samples() -> None:
    samples = Samples(0.0)
    samples.add(10, 0.0)
    samples.add(30, 10_000.0)

    assert samples.read(20_000.0) == (2.0, 20.0, 30.0)
    samples.add(5, SAMPLE_MS)
    assert samples.read(SAMPLE_MS + 10_000.0) == (45 / 40, 15.0, 30.0)
    assert samples.total == 45


def test_samples_are_forgotten_when_their_time_is_over() -> None:
    samples = Samples(0.0)
    samples.add(10, 0.0)

    rate, average, most = samples.read(3 * SAMPLE_MS)

    assert rate == 0
    assert math.isnan(average)
    assert math.isnan(most)
    assert samples.total == 10


def test_a_rate_is_taken_over_a_second_at_least() -> None:
    samples = Samples(0.0)
    samples.add(10, 1.0)

    assert samples.read(2.0)[0] == 10


@pytest.fixture
async def topic(tidelog_session_broker: BrokerThread, unique: str) -> str:
    async with Admin(tidelog_session_broker.bootstrap_servers) as admin:
        await admin.create_topic(unique, partitions=1)
    return unique


async def test_a_producer_counts_what_it_sends(tidelog_session_broker: BrokerThread, topic: str) -> None:
    servers = tidelog_session_broker.bootstrap_servers
    async with Producer(servers, compression_type="gzip", linger_ms=60_000) as producer:
        deliveries = [await producer.send(topic, bytes(1_000)) for _ in range(10)]
        waiting = producer.metrics()
        await producer.flush()
        for delivery in deliveries:
            await delivery
        found = producer.metrics()

    assert waiting["buffer-available-bytes"] < waiting["buffer-total-bytes"] - 10_000
    assert waiting["record-send-total"] == 0
    assert math.isnan(waiting["request-latency-avg"])
    assert found["record-send-total"] == 10
    assert found["request-total"] == 1
    assert found["records-per-request-avg"] == 10
    assert found["record-send-rate"] > 0
    assert 0 < found["batch-size-avg"] == found["batch-size-max"] < 1_000
    assert 0 < found["compression-rate-avg"] < 0.1
    assert 0 < found["request-latency-avg"] <= found["request-latency-max"]
    assert found["record-queue-time-avg"] >= 0
    assert (found["record-error-total"], found["record-retry-total"], found["requests-in-flight"]) == (0, 0, 0)
    assert found["buffer-available-bytes"] == found["buffer-total-bytes"]


async def test_a_producer_counts_errors_and_splits(tidelog_session_broker: BrokerThread, topic: str) -> None:
    servers = tidelog_session_broker.bootstrap_servers
    async with Admin(servers) as admin:
        limited = f"{topic}-limited"
        await admin.create_topic(limited, partitions=1, configs={"max.message.bytes": "1000"})
    async with Producer(servers, linger_ms=60_000, batch_size=100_000) as producer:
        delivery = await producer.send(limited, bytes(5_000))
        await producer.send(limited, b"x")
        with pytest.raises(DeliveryFailed):
            await producer.flush()
        with pytest.raises(DeliveryFailed):
            await delivery
        found = producer.metrics()

    assert found["record-error-total"] == 1
    assert found["record-error-rate"] > 0
    assert found["batch-split-total"] == 1


async def test_a_consumer_counts_what_it_reads_and_how_far_it_is_behind(
    tidelog_session_broker: BrokerThread, topic: str
) -> None:
    servers = tidelog_session_broker.bootstrap_servers
    async with Producer(servers) as producer:
        for _ in range(10):
            await producer.send(topic, bytes(100))
    async with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        nothing = consumer.metrics()
        assert len(await consumer.poll(timeout_ms=60_000, max_records=4)) == 4
        found = consumer.metrics()
        async for _ in consumer:
            break
        later = consumer.metrics()

    assert math.isnan(nothing["records-lag-max"])
    assert (found["records-consumed-total"], found["records-lag-max"], found["records-lead-min"]) == (4, 6, 4)
    assert found["bytes-consumed-total"] > 1_000
    assert found["fetch-total"] >= 1
    assert found["fetch-size-max"] > 1_000
    assert found["fetch-latency-avg"] > 0
    assert found["assigned-partitions"] == 1
    assert later["records-consumed-total"] > 4


async def test_the_reference_names_every_metric(tidelog_session_broker: BrokerThread) -> None:
    servers = tidelog_session_broker.bootstrap_servers
    async with Producer(servers) as producer, Consumer(bootstrap_servers=servers) as consumer:
        measured = {*producer.metrics(), *consumer.metrics()}
    reference = Path(__file__).parents[2] / "docs" / "reference" / "client-metrics.md"
    rows = [line.split("|")[1] for line in reference.read_text().splitlines() if line.startswith("| `")]

    assert {name for row in rows for name in re.findall("`([^`]+)`", row)} == measured
