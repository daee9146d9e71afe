"""The same records, compacted by tidelog and by Apache Kafka: both leave the same batches in the same segments.

Compaction runs when it is asked to, once for each of two lots of records: until then the topic is not compacted, or no
ratio is high enough. So both do the same rounds, and what they leave can be compared batch by batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import KafkaError, TopicPartition
from support.apache_kafka import running_apache_kafka
from support.eventually import eventually
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, produce_request, raw_client
from support.raw_transactions import READ_COMMITTED, READ_UNCOMMITTED, RawProducer, end_offset, now_ms
from support.tidelog_process import running_tidelog

from tidelog.client.consumer import Consumer
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.model import ids
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.records.batch import iterate_headers
from tidelog.records.record import decode_batch, encode_batch

pytestmark = [pytest.mark.slow, pytest.mark.maven, pytest.mark.xdist_group("jvm")]

TOPIC = "table"
PROPERTIES = {"log.cleaner.backoff.ms": "100"}
CONFIGS = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "internal.segment.bytes": "1500",
    "delete.retention.ms": "1",
    "min.cleanable.dirty.ratio": "0.0",
    "file.delete.delay.ms": "0",
}
KEYS = 6
STEPS = 70
WAIT_SECONDS = 60.0


class Batch(NamedTuple):
    """All that a batch is, but for times, checksums and what belongs to one cluster only."""

    segment: int
    base_offset: int
    last_offset: int
    record_count: int
    producer: str
    epoch: int
    base_sequence: int
    is_control: bool
    is_transactional: bool
    has_delete_horizon: bool


async def _add(producer: RawProducer) -> None:
    """As every producer does: again while the markers of its last transaction are still being written."""
    async with asyncio.timeout(HANG_SECONDS):
        while (code := await producer.add(TOPIC)) is ErrorCode.CONCURRENT_TRANSACTIONS:
            await asyncio.sleep(0.05)
    assert code is ErrorCode.NONE


@dataclass(slots=True)
class Side:
    client: RawClient
    directory: Path
    bootstrap_servers: str
    # What the producers are called, by the ids that this side has given them.
    names: dict[int, str] = field(default_factory=lambda: {-1: ""})
    idempotent: dict[str, tuple[int, int]] = field(default_factory=dict)
    sequences: dict[str, int] = field(default_factory=dict)
    transactional: dict[str, RawProducer] = field(default_factory=dict)

    async def prepare(self) -> None:
        configs = [CreatableTopicConfig(name=name, value=value) for name, value in CONFIGS.items()]
        topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1, configs=configs)
        reply = await self.client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
        assert reply.topics[0].error_code == 0, reply
        # Ids, and the topic of the coordinator, may have to be waited for.
        for name in ("first", "second"):
            await eventually(partial(self._begin_idempotent, name), within_seconds=WAIT_SECONDS)
        for name in ("committing", "aborting"):
            await eventually(partial(self._begin_transactional, name), within_seconds=WAIT_SECONDS)

    async def _begin_idempotent(self, name: str) -> None:
        given = await self.client.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1), 4)
        assert given.error_code == 0
        self.idempotent[name] = (given.producer_id, given.producer_epoch)
        self.names[given.producer_id] = name

    async def _begin_transactional(self, name: str) -> None:
        producer = RawProducer(self.client, name)
        assert await producer.init() == 0
        self.transactional[name] = producer
        self.names[producer.producer_id] = name

    async def configure(self, **configs: str) -> None:
        entries = [AlterableConfig(name=name.replace("_", "."), value=value) for name, value in configs.items()]
        resource = AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=entries)
        reply = await self.client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert reply.responses[0].error_code == 0, reply

    async def put(self, name: str, records: list[tuple[bytes | None, bytes | None]]) -> None:
        """By an idempotent producer, a transactional one, or nobody in particular."""
        encoded = [(now_ms(), key, value, ()) for key, value in records]
        sequence = self.sequences.get(name, 0)
        if name in self.transactional:
            producer = self.transactional[name]
            await _add(producer)
            producer_id, epoch = producer.producer_id, producer.producer_epoch
        else:
            producer_id, epoch = self.idempotent.get(name, (-1, -1))
        data = encode_batch(
            encoded,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence if producer_id >= 0 else -1,
            transactional=name in self.transactional,
        )
        request = produce_request(TOPIC, data, transactional_id=name if name in self.transactional else None)
        reply = await self.client.ask(request, 10)
        assert reply.responses[0].partition_responses[0].error_code == 0, reply
        self.sequences[name] = sequence + len(records)

    async def end(self, name: str) -> None:
        """The marker is in the log when this returns: what is written next must be behind it."""
        before = await self.end_offset()
        assert await self.transactional[name].end(commit=name == "committing") == 0

        async def written() -> None:
            assert await self.end_offset() > before

        await eventually(written, within_seconds=WAIT_SECONDS)

    async def end_offset(self, isolation: int = READ_UNCOMMITTED) -> int:
        return await end_offset(self.client, TOPIC, isolation=isolation)

    async def compacted(self) -> list[Batch]:
        """What there is once the cleaner has come to the segment that is being written."""
        active = max(self._segments())

        async def cleaned() -> None:
            checkpoint = self.directory / "cleaner-offset-checkpoint"
            assert checkpoint.exists()
            assert f"{TOPIC} 0 {active}" in checkpoint.read_text().splitlines()

        await eventually(cleaned, within_seconds=WAIT_SECONDS)
        return list(self._batches())

    def _segments(self) -> dict[int, Path]:
        return {int(path.stem): path for path in sorted((self.directory / f"{TOPIC}-0").glob("*.log"))}

    def _batches(self) -> Iterator[Batch]:
        for base_offset, path in self._segments().items():
            for _, header in iterate_headers(path.read_bytes()):
                yield Batch(
                    base_offset,
                    header.base_offset,
                    header.last_offset,
                    header.record_count,
                    self.names[header.producer_id],
                    header.producer_epoch,
                    header.base_sequence,
                    header.is_control,
                    header.is_transactional,
                    header.has_delete_horizon,
                )

    def visible(self) -> list[int]:
        """The offsets of the records that are not in control batches, all of which are committed in the end."""
        return [
            record.offset
            for data in [path.read_bytes() for path in self._segments().values()]
            for position, header in iterate_headers(data)
            if not header.is_control
            for record in decode_batch(data[position : position + header.size])
        ]


async def write(sides: list[Side], chance: Random, *, keyless: bool) -> None:
    """The same steps on both sides: keys written again and again, tombstones, and transactions that overlap."""
    is_open: dict[str, int] = {}

    async def put(name: str, records: list[tuple[bytes | None, bytes | None]]) -> None:
        for side in sides:
            await side.put(name, records)

    async def end(name: str) -> None:
        for side in sides:
            await side.end(name)
        del is_open[name]

    for step in range(STEPS):
        name = chance.choice(("", "first", "second", "committing", "aborting"))
        records: list[tuple[bytes | None, bytes | None]] = []
        for _ in range(chance.randint(1, 3)):
            key = b"key-%d" % chance.randrange(KEYS)
            value = None if chance.random() < 0.15 else b"%d" % step * chance.randint(1, 40)
            records.append((None if keyless and chance.random() < 0.1 else key, value))
        await put(name, records)
        if name in ("committing", "aborting"):
            is_open[name] = is_open.get(name, 0) + 1
        for each in list(is_open):
            if chance.random() < 0.4 or is_open[each] > 2:
                await end(each)
    for each in list(is_open):
        await end(each)
    # All of it is to be in segments that are not written any more: the largest record has one of its own.
    await put("", [(b"large", b"%d" % chance.randrange(9) * 1400)])
    await put("", [(b"active", b"1")])


@asynccontextmanager
async def both(jars: Path, folder: Path) -> AsyncIterator[list[Side]]:
    with (
        running_tidelog(folder / "tidelog", PROPERTIES) as ours,
        running_apache_kafka(jars, folder / "apache-kafka", PROPERTIES) as theirs,
    ):
        async with (
            raw_client(ours.bootstrap_servers) as our_client,
            raw_client(theirs.bootstrap_servers) as their_client,
        ):
            sides = [
                Side(our_client, ours.log_directory, ours.bootstrap_servers),
                Side(their_client, theirs.log_directory, theirs.bootstrap_servers),
            ]
            for side in sides:
                await side.prepare()
            yield sides


async def compact(sides: list[Side]) -> list[Batch]:
    """Both sides, and what they both have then."""
    for side in sides:
        await side.configure(cleanup_policy="compact", min_cleanable_dirty_ratio="0.0")
    ours, theirs = [await side.compacted() for side in sides]
    for side in sides:
        await side.configure(min_cleanable_dirty_ratio="1.0")
    assert ours == theirs
    return ours


async def test_both_leave_the_same_batches(jars: Path, tmp_path: Path) -> None:
    chance = Random(11)
    async with both(jars, tmp_path) as sides:
        await write(sides, chance, keyless=True)
        first = await compact(sides)
        await write(sides, chance, keyless=False)
        second = await compact(sides)
        for left in (first, second):
            assert len({batch.segment for batch in left}) > 2
            empty = [batch for batch in left if batch.record_count == 0]
            # The last batches of some producers, and perhaps that of the round; there are hundreds of others.
            assert 0 < len(empty) <= 5
            assert any(batch.has_delete_horizon for batch in left)
            assert any(batch.is_control for batch in left)
        assert sides[0].visible() == sides[1].visible()
        for side in sides:
            end = await side.end_offset()
            assert end == await side.end_offset(READ_COMMITTED)
            visible = side.visible()
            expected = [next((each for each in visible if each >= start), None) for start in range(end + 1)]
            assert await asyncio.to_thread(first_records_by_librdkafka, side.bootstrap_servers, end) == expected
            assert await first_records_by_tidelog(side.bootstrap_servers, end) == expected


def first_records_by_librdkafka(bootstrap_servers: str, end: int) -> list[int | None]:
    """The first record that a reader gets, for each offset that it may start at; None if it gets to the end first."""
    found: list[int | None] = []
    consumer = ConfluentConsumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "every-offset",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    try:
        for start in range(end + 1):
            consumer.assign([TopicPartition(TOPIC, 0, start)])
            message = consumer.poll(WAIT_SECONDS)
            assert message is not None, f"a reader that starts at offset {start} stalls"
            error = message.error()
            assert error is None or error.code() == KafkaError._PARTITION_EOF, error
            found.append(message.offset() if error is None else None)
    finally:
        consumer.close()
    return found


async def first_records_by_tidelog(bootstrap_servers: str, end: int) -> list[int | None]:
    found: list[int | None] = []
    partition = ids.TopicPartition(TOPIC, 0)
    config = {"isolation.level": "read_committed", "fetch.max.wait.ms": "50"}
    async with Consumer(bootstrap_servers=bootstrap_servers, config=config) as consumer:
        consumer.assign([partition])
        for start in range(end + 1):
            consumer.seek(partition, start)
            async with asyncio.timeout(WAIT_SECONDS):
                records: list[ConsumerRecord] = []
                while not records and await consumer.position(partition) < end:
                    records = await consumer.poll(timeout_ms=200, max_records=1)
            found.append(records[0].offset if records else None)
    return found
