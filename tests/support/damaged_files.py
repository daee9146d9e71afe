"""Directories of a real broker, after a clean stop and after kill -9, and damage to their files drawn from a seed."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from support.decoding import decode_all
from support.present import present
from support.raw_client import RawClient, raw_client

import tidelog
from tidelog.config.broker import BrokerConfig
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.fetch_response import PartitionData
from tidelog.records.batch import BatchHeader, iterate_headers
from tidelog.server.broker import EMBEDDED_PROPERTIES, single_node_properties
from tidelog.server.ports import Ports
from tidelog.server.startup import RunningNode, system_ports
from tidelog.storage.files.local_filesystem import LocalFile, LocalFileSystem
from tidelog.storage.log.appending import roll

# Offset to value, of everything that was acknowledged and not deleted.
Stored = dict[str, dict[int, bytes]]

TOPICS = ("events", "keyed", "shortened")
DELETED_BELOW = 7


class _QuickFile(LocalFile):
    __slots__ = ()

    def sync(self) -> None:
        pass


class QuickFileSystem(LocalFileSystem):
    """The real one, which does not wait for the device: nothing here loses power."""

    file_type = _QuickFile

    def sync_directory(self, path: str) -> None:
        pass


def quick_ports() -> Ports:
    real = system_ports()
    return Ports(clock=real.clock, randomness=real.randomness, filesystem=QuickFileSystem(), network=real.network)


def node_on(directory: Path) -> RunningNode:
    properties = single_node_properties(
        host="127.0.0.1", port=0, data_dir=str(directory), properties={**EMBEDDED_PROPERTIES, **SMALL}
    )
    return RunningNode(BrokerConfig.from_properties(properties), quick_ports())


SMALL = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


async def write_corpus(directory: Path) -> Stored:
    """A clean directory at `directory`/clean and one of a broker that was killed at `directory`/killed."""
    node = node_on(directory / "clean")
    await node.start()
    host, port = node.addresses[0]
    stored: Stored = {name: {} for name in TOPICS}
    async with raw_client(f"{host}:{port}") as client:
        await _create_topics(client)
        for part in range(4):
            for name in TOPICS:
                await _produce(client, name, part, stored[name])
                log = present(node.node.replicas.get(name, 0)).log
                # Three sealed segments and an active one.
                if part < 3:
                    roll(log, node.node.ports.clock.now_ms())
                    log.flush(node.node.ports.clock.now_ms())
        await _transactions(node, client, stored["events"])
        await _delete_records(client)
        stored["shortened"] = {offset: each for offset, each in stored["shortened"].items() if offset >= DELETED_BELOW}
    assert node._control is not None
    await node._control.snapshots.take()
    async with raw_client(f"{host}:{port}") as client:
        # Behind the snapshot, so that the last segment of the metadata log is not empty.
        later = CreatableTopic(name="later", num_partitions=1, replication_factor=1)
        response = await client.ask(CreateTopicsRequest(topics=[later], timeout_ms=5000))
        assert response.topics[0].error_code == 0, response
    for each in node.node.replicas.directories:
        each.checkpoints.write_high_watermarks()
        each.checkpoints.write_recovery_points()
    # As kill -9 leaves it: everything that was written is there.
    shutil.copytree(directory / "clean", directory / "killed")
    await node.stop()
    return stored


async def _create_topics(client: RawClient) -> None:
    topics = [
        CreatableTopic(
            name=name,
            num_partitions=1,
            replication_factor=1,
            configs=[
                CreatableTopicConfig(name="index.interval.bytes", value="200"),
                CreatableTopicConfig(name="cleanup.policy", value="compact" if name == "keyed" else "delete"),
            ],
        )
        for name in TOPICS
    ]
    response = await client.ask(CreateTopicsRequest(topics=topics, timeout_ms=5000))
    assert not any(topic.error_code for topic in response.topics), response


async def _produce(client: RawClient, topic: str, part: int, stored: dict[int, bytes]) -> None:
    for number in range(6):
        values = [b"%s-%d-%d-%d" % (topic.encode(), part, number, each) * 3 for each in range(3)]
        keys = [b"%d-%d-%d" % (part, number, each) for each in range(3)]
        answer = await client.produce_batch(topic, _batch(keys, values), partition=0, acks=-1)
        assert answer.error_code == 0, answer
        stored.update({answer.base_offset + at: value for at, value in enumerate(values)})


def _batch(keys: list[bytes], values: list[bytes]) -> bytes:
    from tidelog.records.record import encode_batch

    return bytes(encode_batch([(1_700_000_000_000, key, value, ()) for key, value in zip(keys, values, strict=True)]))


async def _transactions(node: RunningNode, client: RawClient, stored: dict[int, bytes]) -> None:
    """Aborted and committed ones, so that there is a transaction index."""
    host, port = node.addresses[0]
    async with tidelog.Producer(f"{host}:{port}", transactional_id="copier") as producer:
        await producer.init_transactions()
        for number in range(4):
            await producer.begin_transaction()
            value = b"transaction %d" % number
            record = await (await producer.send("events", value, partition=0))
            if number % 2:
                await producer.commit_transaction()
                stored[record.offset] = value
            else:
                await producer.abort_transaction()


async def _delete_records(client: RawClient) -> None:
    topic = DeleteRecordsTopic(
        name="shortened", partitions=[DeleteRecordsPartition(partition_index=0, offset=DELETED_BELOW)]
    )
    response = await client.ask(DeleteRecordsRequest(topics=[topic], timeout_ms=5000))
    assert response.topics[0].partitions[0].error_code == 0, response


# -- damage ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    path: str
    kind: str
    do: Callable[[Path], None]

    def __str__(self) -> str:
        return f"{self.kind} of {self.path}"


def draw_damage(directory: Path, seed: int) -> Damage:
    """One change to one file, any byte of any file with the same kinds of chance."""
    chance = random.Random(seed)
    files = sorted(
        str(path.relative_to(directory))
        for path in directory.rglob("*")
        if path.is_file() and path.name != ".lock" and path.stat().st_size
    )
    # Each kind of file as often as each other, whatever their number.
    kinds: dict[str, list[str]] = {}
    for name in files:
        kinds.setdefault(_kind_of(name), []).append(name)
    path = chance.choice(kinds[chance.choice(sorted(kinds))])
    size = (directory / path).stat().st_size
    position = chance.randrange(size)
    match chance.choice(("flip", "flip", "cut", "zeroes", "garbage", "deletion")):
        case "flip":
            bit = chance.randrange(8)
            return Damage(path=path, kind=f"flip of bit {bit} at byte {position}", do=_changed(position, 1, bit=bit))
        case "cut":
            return Damage(path=path, kind=f"cut to {position} bytes", do=lambda at: os.truncate(at, position))
        case "zeroes":
            length = chance.choice((1, 16, 512))
            return Damage(path=path, kind=f"{length} zeroes at byte {position}", do=_changed(position, length))
        case "garbage":
            length = chance.choice((4, 64))
            fill = chance.randbytes(length)
            return Damage(path=path, kind=f"{length} garbage at {position}", do=_changed(position, length, fill=fill))
        case _:
            return Damage(path=path, kind="deletion", do=Path.unlink)


def _kind_of(name: str) -> str:
    path = Path(name)
    where = path.parent.name.partition("-")[0] if len(path.parts) > 1 else ""
    return f"{where}/*{path.suffix}" if path.stem.replace("-", "").isdigit() else f"{where}/{path.name}"


def _changed(
    position: int, length: int, *, bit: int | None = None, fill: bytes | None = None
) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        content = bytearray(path.read_bytes())
        if bit is not None:
            content[position] ^= 1 << bit
        else:
            new = (bytes(length) if fill is None else fill)[: len(content) - position]
            content[position : position + len(new)] = new
        path.write_bytes(content)

    return change


# -- reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader gets of a partition, up to its end or up to an error."""

    values: dict[int, bytes]
    # The first offset that it did not get, and the error there.
    offset: int
    error: ErrorCode


async def read_partition(client: RawClient, topic: str, end_offset: int, *, committed: bool) -> Reading:
    offset = DELETED_BELOW if topic == "shortened" else 0
    values: dict[int, bytes] = {}
    for _ in range(200):
        if offset >= end_offset:
            return Reading(values=values, offset=offset, error=ErrorCode.NONE)
        answer = await _fetch(client, topic, offset, committed=committed)
        if answer.error_code:
            return Reading(values=values, offset=offset, error=ErrorCode(answer.error_code))
        before = offset
        pending = sorted((each.first_offset, each.producer_id) for each in answer.aborted_transactions or ())
        aborting: set[int] = set()
        for batch, records in _batches(bytes(answer.records or b"")):
            while pending and pending[0][0] <= batch.last_offset:
                aborting.add(pending.pop(0)[1])
            if batch.is_control:
                aborting.discard(batch.producer_id)
            elif not (batch.is_transactional and batch.producer_id in aborting):
                values.update((at, value) for at, value in records if at >= offset)
            offset = max(offset, batch.next_offset)
        if offset == before:
            break
    # The same again and again, without an error: the worst of all answers.
    return Reading(values=values, offset=offset, error=ErrorCode.NONE)


def _batches(data: bytes) -> Iterator[tuple[BatchHeader, list[tuple[int, bytes]]]]:
    for position, header in iterate_headers(data):
        records = decode_all(data[position : position + header.size])
        yield header, [(record.offset, present(record.value)) for record in records]


async def _fetch(client: RawClient, topic: str, offset: int, *, committed: bool) -> PartitionData:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=600, log_start_offset=-1)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=10_000,
        isolation_level=int(committed),
        topics=[FetchTopic(topic=topic, partitions=[partition])],
    )
    response = await client.ask(request, 11)
    data: PartitionData = response.responses[0].partitions[0]
    return data
