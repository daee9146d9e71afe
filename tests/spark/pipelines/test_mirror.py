from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from support.apache_kafka import kafka_jars, running_apache_kafka
from support.client_reading import read_all
from support.download_cache import Unavailable
from support.filled_topics import FilledTopics
from support.pipeline_runs import run_in_session
from support.processes import wait_until

from tidelog.client.admin import Admin
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.model.ids import TopicPartition
from tidelog.spark.pipelines.mirror import verify
from tidelog.spark.pipelines.reading import pipeline_from
from tidelog.spark.pipelines.settings import Mirror
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
    # Longer than the records are old: the broker must not delete them in between.
    name = topics.create("mirrored", partitions=2, config={"retention.ms": "12345678901234"})
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


@pytest.mark.maven
@pytest.mark.slow
def test_everything_that_apache_kafka_holds_is_mirrored_into_tidelog(
    spark: SparkSession, broker: BrokerThread, tmp_path: Path
) -> None:
    try:
        jars = kafka_jars()
    except Unavailable as problem:
        pytest.skip(str(problem))
    cleaning = {"log.cleaner.backoff.ms": "200", "log.cleaner.dedupe.buffer.size": str(4 << 20)}
    with running_apache_kafka(jars, tmp_path / "kafka", cleaning) as kafka:
        here, there = kafka.bootstrap_servers, broker.bootstrap_servers
        names = fill_with_everything(here)
        tables = {
            "run": {"name": "from-kafka"},
            "source": {"bootstrap_servers": here, "topic_pattern": "from-kafka-.*", "max_records_per_batch": 150},
            "target": {"bootstrap_servers": there},
            "mirror": {"groups": "kafka-readers"},
        }
        committed_here = {TopicPartition(name, 0): offset for name, offset in readers_place(here, names).items()}
        commit(here, "kafka-readers", committed_here)
        run_in_session(spark, "mirror", tables, tmp_path / "checkpoint")
        for name in names:
            assert records(there, name) == records(here, name)
        settings = pipeline_from("mirror", tables)
        assert isinstance(settings, Mirror)
        results = verify(settings)
        assert [line for result in results for line in result.differences] == []
        assert {result.partition.topic for result in results} == set(names)
        assert sum(result.waiting for result in results) == 0
        # The group reads on at the target with the record that it would have read next at the source.
        for partition, place in committed(there, "kafka-readers").items():
            following = [one.value for one in read(here, partition.topic) if one.offset >= committed_here[partition]]
            assert [one.value for one in read(there, partition.topic) if one.offset >= place] == following

        # And so it is seen when something is not as it should be.
        FilledTopics(there).fill(names[0], ["from somebody else"])
        (difference,) = [line for result in verify(settings) for line in result.differences]
        assert difference.startswith(f"{names[0]}-0: the target has offset")


def readers_place(servers: str, names: Sequence[str]) -> dict[str, int]:
    """Before the tenth record of each topic."""
    return {name: read(servers, name)[10].offset for name in names}


def fill_with_everything(servers: str) -> list[str]:
    """A topic for each kind of compression, one with transactions, and a compacted one."""
    topics = FilledTopics(servers)
    names = []
    # Older records than retention.ms allows would be deleted meanwhile.
    an_hour_ago = (int(time.time()) - 3600) * 1000
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        name = topics.create(name=f"from-kafka-{codec}")
        producer = Producer({"bootstrap.servers": servers, "compression.type": codec, "linger.ms": 20, "log_level": 0})
        for number in range(40):
            headers: list[tuple[str, str | bytes | None]] = [
                ("number", b"%d" % number),
                ("empty", b""),
                ("null", None),
                ("number", b"again"),
            ]
            producer.produce(
                name,
                None if number % 7 == 3 else b"value %d " % number * 20,
                None if number % 5 == 2 else b"key %d" % (number % 4),
                headers=headers if number % 2 else [],
                timestamp=an_hour_ago + number * 1001,
            )
        assert producer.flush(60) == 0
        names.append(name)
    name = topics.create(name="from-kafka-transactions")
    for number in range(8):
        topics.transaction(name, [f"{number} {part}" for part in range(4)], commit=number % 3 != 1)
    names.append(name)
    names.append(compacted(topics, servers))
    return names


def compacted(topics: FilledTopics, servers: str) -> str:
    settings = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
    name = topics.create(name="from-kafka-compacted", config=settings)
    for number in range(60):
        topics.fill(name, [f"{number}"], key=b"key %d" % (number % 15))

    def has_gaps() -> bool:
        # A segment ends when the next record comes.
        topics.fill(name, ["last"], key=b"last")
        offsets = [one.offset for one in read(servers, name)]
        return offsets[-1] + 1 > len(offsets) + 20

    wait_until(has_gaps, within_seconds=120, what="the cleaning of a compacted topic", every_seconds=0.5)
    # What is cleaned while the test compares would be a difference of the test.
    topics.alter(name, {"cleanup.policy": "delete"})
    return name
