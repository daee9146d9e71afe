"""The end of a run: let clients finish, read everything once more from the beginning, and look into the logs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import field

from tidelog.metadata.image import LOST_DIRECTORY, NO_LEADER, PartitionImage
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.records.batch import iterate_headers
from tidelog.records.record import decode_batch
from tidelog.simulation.checks.history import FinalState, Isolation, Read, ReplicaLog, StoredRecord, TopicState
from tidelog.simulation.machines.node import SimulatedNode
from tidelog.simulation.machines.world import SimulatedClient, World
from tidelog.simulation.setup import Clients
from tidelog.simulation.workloads.work import EXPECTED, RETRY_SECONDS, Work
from tidelog.simulation.workloads.workload import POLL_MS, new_consumer
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.log import Log
from tidelog.storage.log.reader import read_records
from tidelog.storage.log.results import OffsetOutOfRange

# After healing each step of the end has so much time. Clients give up after half of it, brokers need far less.
STEP_SECONDS = 60.0
READ_CHUNK_BYTES = 1 << 20
LOOK_SECONDS = 0.2


@dataclass(kw_only=True)
class Finish:
    world: World
    clients: Clients
    tasks: Mapping[str, asyncio.Task[None]]
    # What producers write to, and that together with what is made of it.
    sources: Sequence[TopicPartition]
    partitions: Sequence[TopicPartition]
    # Topics that are made of others.
    derived: Mapping[str, str]
    unfinished: list[str] = field(default_factory=list)


async def finish(end: Finish) -> FinalState:
    await _stop(end, end.clients.writing)
    reader = end.world.add_client("final-reader")
    if end.clients.copiers:
        await _copiers_caught_up(end, await _view(end, reader, Isolation.COMMITTED, end.sources))
        await _stop(end, end.clients.copiers)
    views = {isolation: await _view(end, reader, isolation, end.partitions) for isolation in Isolation}
    await _readers_caught_up(end, views)
    await _stop(end, end.clients.reading)
    await _everything_led(end)
    replicas = await _converged_replicas(end)
    return FinalState(
        replicas=replicas,
        uncommitted=views[Isolation.UNCOMMITTED],
        committed=views[Isolation.COMMITTED],
        derived=end.derived,
        topics=await _administered_topics(end),
        unfinished=end.unfinished,
    )


async def _view(
    end: Finish, reader: SimulatedClient, isolation: Isolation, partitions: Sequence[TopicPartition]
) -> list[Read]:
    """Everything that such a reader finds; noted as unfinished if it does not get to the end."""
    try:
        async with asyncio.timeout(STEP_SECONDS):
            return await reader.run(_read_all(reader, end, isolation, partitions))
    except TimeoutError:
        name = f"read_{isolation.name.lower()}"
        end.unfinished.append(f"a {name} reader does not reach the end {STEP_SECONDS:g} s after healing")
        return []


async def _stop(end: Finish, clients: Sequence[Work]) -> None:
    for client in clients:
        client.stop.set()
    tasks = {end.tasks[client.name]: client.name for client in clients}
    if not tasks:
        return
    _, waiting = await asyncio.wait(tasks, timeout=STEP_SECONDS)
    for task, name in tasks.items():
        if task in waiting:
            end.unfinished.append(f"{name} has not finished {STEP_SECONDS:g} s after it was asked to")
        elif (error := task.exception()) is not None:
            end.world.loop.failures.append((end.world.loop.time(), None, f"{name} failed", error))


async def _read_all(
    client: SimulatedClient, end: Finish, isolation: Isolation, partitions: Sequence[TopicPartition]
) -> list[Read]:
    """Everything from the beginning to the end, once the end is the same for all readers."""
    while True:
        try:
            return await _try_read_all(client, end, isolation, partitions)
        except EXPECTED:
            await asyncio.sleep(RETRY_SECONDS)


async def _try_read_all(
    client: SimulatedClient, end: Finish, isolation: Isolation, partitions: Sequence[TopicPartition]
) -> list[Read]:
    loop = end.world.loop
    servers = end.world.bootstrap_servers
    async with new_consumer(client, servers, Isolation.UNCOMMITTED) as consumer:
        ends = await consumer.end_offsets(*partitions)
    found: list[Read] = []
    async with new_consumer(client, servers, isolation) as consumer:
        consumer.assign(partitions)
        starts = await consumer.beginning_offsets(*partitions)
        for partition, offset in starts.items():
            consumer.seek(partition, offset)
        while any([await consumer.position(each) < ends[each] for each in partitions]):
            for record in await consumer.poll(timeout_ms=POLL_MS):
                assert record.value is not None
                found.append(
                    Read(loop.time(), client.name, record.topic_partition, record.offset, record.value, isolation)
                )
    return found


async def _copiers_caught_up(end: Finish, committed: Sequence[Read]) -> None:
    """Together they have copied the last record of each partition."""
    last = _last_offsets(committed)
    for copier in end.clients.copiers:
        copier.hurry = True
    deadline = end.world.loop.time() + STEP_SECONDS
    while True:
        reached: dict[TopicPartition, int] = {}
        for copier in end.clients.copiers:
            for partition, offset in copier.positions.items():
                reached[partition] = max(reached.get(partition, 0), offset)
        if all(reached.get(partition, 0) > offset for partition, offset in last.items()):
            return
        if end.world.loop.time() > deadline:
            end.unfinished.append(f"the copiers do not reach the end: {reached} instead of {last}")
            return
        await asyncio.sleep(LOOK_SECONDS)


def _last_offsets(reads: Sequence[Read]) -> dict[TopicPartition, int]:
    last: dict[TopicPartition, int] = {}
    for read in reads:
        last[read.partition] = max(last.get(read.partition, -1), read.offset)
    return last


async def _readers_caught_up(end: Finish, views: Mapping[Isolation, Sequence[Read]]) -> None:
    """Every reader reaches what the final reader has seen."""
    last = _last_offsets(views[Isolation.UNCOMMITTED])
    deadline = end.world.loop.time() + STEP_SECONDS
    for reader in end.clients.readers:
        while any(reader.positions[partition] <= offset for partition, offset in last.items()):
            if end.world.loop.time() > deadline:
                end.unfinished.append(f"{reader.name} does not reach the end: {reader.positions} instead of {last}")
                break
            await asyncio.sleep(LOOK_SECONDS)


async def _administered_topics(end: Finish) -> dict[str, dict[str, TopicState]]:
    """What each node knows, once all know the same; else as it is when the time is up."""
    deadline = end.world.loop.time() + STEP_SECONDS
    while True:
        known = {node.host: _known_topics(end, node) for node in end.world.nodes.values()}
        first = next(iter(known.values()))
        if all(each == first for each in known.values()) or end.world.loop.time() > deadline:
            return known
        await asyncio.sleep(LOOK_SECONDS)


def _known_topics(end: Finish, node: SimulatedNode) -> dict[str, TopicState]:
    if node.running is None:
        return {}
    image = node.running.node.image
    names = tuple(f"{client.name}-" for client in end.clients.administrators)
    return {
        topic.name: TopicState(len(topic.partitions), tuple(sorted(image.topic_config(topic.name).items())))
        for topic in image.topics.values()
        if topic.name.startswith(names)
    }


def _went_with_its_disk(end: Finish, partition: PartitionImage) -> bool:
    """Whether it was created with one replica, on a disk that failed in that moment, or that was out already and nobody
    missed yet: nothing is in it, but only an operator can say so."""
    lost = {LOST_DIRECTORY, *end.world.replaced_directories}
    return len(partition.replicas) == 1 and partition.directory_of(partition.replicas[0]) in lost


async def _everything_led(end: Finish) -> None:
    """Every partition of every topic has a leader, and all its replicas are in sync."""
    deadline = end.world.loop.time() + STEP_SECONDS
    while True:
        wanting = {
            f"{topic.name}-{number} on {node.host}: leader {partition.leader}, in sync {list(partition.isr)}"
            for node in end.world.nodes.values()
            if node.running is not None
            for topic, number, partition in node.running.node.image.all_partitions()
            if partition.leader == NO_LEADER or set(partition.isr) != set(partition.replicas)
            if not _went_with_its_disk(end, partition)
        }
        if not wanting:
            return
        if end.world.loop.time() > deadline:
            end.unfinished.extend(f"{each} {STEP_SECONDS:g} s after healing" for each in sorted(wanting))
            return
        await asyncio.sleep(LOOK_SECONDS)


async def _converged_replicas(end: Finish) -> list[ReplicaLog]:
    """The logs of all replicas, once they are equally long; else as they are when the time is up."""
    deadline = end.world.loop.time() + STEP_SECONDS
    while True:
        replicas = list(_replica_logs(end))
        ends: dict[TopicPartition, set[tuple[int, int]]] = {}
        for replica in replicas:
            ends.setdefault(replica.partition, set()).add((replica.end_offset, replica.high_watermark))
        if all(len(each) == 1 for each in ends.values()) or end.world.loop.time() > deadline:
            return replicas
        await asyncio.sleep(LOOK_SECONDS)


def _replica_logs(end: Finish) -> list[ReplicaLog]:
    found = []
    for node in end.world.nodes.values():
        if node.running is None:
            continue
        for replica in node.running.node.replicas:
            if replica.topic_partition not in end.partitions:
                continue
            try:
                found.append(read_replica(node.host, replica.log))
            except StorageFailure as failure:
                # Disks were mended and their brokers started again: nothing has a reason to be offline now.
                end.unfinished.append(f"{replica.topic_partition} on {node.host} cannot be read: {failure}")
    return found


def read_replica(node: str, log: Log) -> ReplicaLog:
    records: list[StoredRecord] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        result = read_records(log, offset, max_bytes=READ_CHUNK_BYTES)
        if isinstance(result, OffsetOutOfRange) or not result.records:
            break
        for position, header in iterate_headers(result.records):
            offset = header.next_offset
            if header.is_control:
                continue
            batch = result.records[position : position + header.size]
            records += [
                StoredRecord(record.offset, record.value, header.partition_leader_epoch)
                for record in decode_batch(batch)
            ]
    return ReplicaLog(
        node=node,
        partition=log.topic_partition,
        start_offset=log.log_start_offset,
        end_offset=log.log_end_offset,
        high_watermark=log.high_watermark,
        records=records,
    )
