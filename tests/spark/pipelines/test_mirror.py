from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.apache_kafka import kafka_jars, running_apache_kafka
from support.client_reading import read_all
from support.download_cache import Unavailable
from support.filled_topics import FilledTopics
from support.pipeline_runs import run_in_session

from tidelog.client.admin import Admin
from tidelog.client.committed import OffsetAndMetadata
from tidelog.client.fetched import ConsumerRecord
from tidelog.model.ids import TopicPartition
from tidelog.testing.broker_thread import BrokerThread

# The first query of a session takes long on a busy machine.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(params=["tidelog", pytest.param("apache kafka", marks=[pytest.mark.maven, pytest.mark.slow])])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where the other cluster is."""
    if request.param == "tidelog":
        with BrokerThread() as running:
            yield running.bootstrap_servers
        return
    try:
        jars = kafka_jars()
    except Unavailable as problem:
        pytest.skip(str(problem))
    with running_apache_kafka(jars, tmp_path / "kafka") as kafka:
        yield kafka.bootstrap_servers


def records(servers: str, topic: str) -> list[tuple[Any, ...]]:
    """What a consumer sees, without offsets: those may differ."""
    return [(one.partition, one.key, one.value, tuple(one.headers), one.timestamp_ms) for one in read(servers, topic)]


def read(servers: str, topic: str) -> list[ConsumerRecord]:
    found = asyncio.run(read_all(servers, topic, isolation_level="read_committed"))
    return sorted(found, key=lambda one: (one.partition, one.offset))


def commit(servers: str, group: str, offsets: dict[TopicPartition, int]) -> None:
    async def change() -> None:
        async with Admin(servers) as admin:
            positions = {part: OffsetAndMetadata(offset=offset, metadata="m") for part, offset in offsets.items()}
            await admin.alter_group_offsets(group, positions)

    asyncio.run(change())


def committed(servers: str, group: str) -> dict[TopicPartition, int]:
    async def fetch() -> dict[TopicPartition, int]:
        async with Admin(servers) as admin:
            return {part: one.offset for part, one in (await admin.list_group_offsets(group)).items()}

    return asyncio.run(fetch())


def test_the_target_equals_the_source_and_groups_find_their_place(
    spark: SparkSession, broker: BrokerThread, target: str, tmp_path: Path
) -> None:
    here, there = broker.bootstrap_servers, target
    topics = FilledTopics(here)
    name = topics.create("mirrored", partitions=2, config={"retention.ms": "123456789"})
    topics.fill(
        name, ["a", "b"], partition=1, key=b"k", headers=[("h", b"1"), ("h", None)], timestamp=1_600_000_000_123
    )
    # Gaps: an aborted transaction, and the markers of both.
    topics.transaction(name, ["gone"], commit=False)
    topics.transaction(name, ["c", "d"], commit=True)
    topics.fill(name, [None, "e"], partition=0, key=b"deleted")  # type: ignore[list-item]
    tables = {
        "run": {"name": name},
        "source": {"bootstrap_servers": here, "topic_pattern": f"{name}.*", "max_records_per_batch": 4},
        "target": {"bootstrap_servers": there},
        "mirror": {"groups": "readers.*"},
    }
    source_offsets = [one.offset for one in read(here, name) if one.partition == 0]
    assert source_offsets != list(range(len(source_offsets)))
    # The group is before the third record of partition 0, behind everything of partition 1.
    commit(here, "readers", {TopicPartition(name, 0): source_offsets[2], TopicPartition(name, 1): 2})
    commit(here, "others", {TopicPartition(name, 0): 1})
    run_in_session(spark, "mirror", tables, tmp_path / "first")
    assert records(there, name) == records(here, name)

    found = read(there, name)
    place = committed(there, "readers")
    assert [one.value for one in found if one.partition == 0 and one.offset >= place[TopicPartition(name, 0)]] == [
        None,
        b"e",
    ]
    assert not [one for one in found if one.partition == 1 and one.offset >= place[TopicPartition(name, 1)]]
    assert committed(there, "others") == {}
    assert committed(there, f"tidelog-mirror-{name}") == {
        TopicPartition(name, 0): source_offsets[-1] + 1,
        TopicPartition(name, 1): 2,
    }

    # More records, more partitions, another topic; and the checkpoint is lost.
    topics.fill(name, ["f"], partition=0)
    topics.grow(name, 3)
    topics.fill(name, ["g"], partition=2)
    other = topics.create(name=f"{name}-other")
    topics.fill(other, ["h"])
    run_in_session(spark, "mirror", tables, tmp_path / "second")
    assert records(there, name) == records(here, name)
    assert records(there, other) == records(here, other)
