"""Comparing a mirror with its source record by record, and what consumer groups would read there. Needs no Spark.

Only what the mirror says it has mirrored is compared: the source up to the offsets that are committed at the target.
Both sides may be in use meanwhile. Compaction and retention remove records on each side in its own time: of compacted
topics the last record of each key is compared, and records that only one side has deleted from its begin are left out.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

from tidelog.client.admin import Admin, ConfigResource, ResourceType
from tidelog.client.consumer import Consumer
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import EARLIEST, LATEST
from tidelog.spark.mirror.comparison import Comparison, LatestOfKeys, PartitionResult, RecordCounts, check_group
from tidelog.spark.mirror.progress import MirrorRefused
from tidelog.spark.mirror.topics import MirroredTopics, source_partitions

_LOOKS = 20
_POLL_MS = 500
_POLL_RECORDS = 200

GroupOffsets = Mapping[str, Mapping[TopicPartition, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A partition on one side: the records in [begin, end)."""

    partition: TopicPartition
    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """What groups have committed, at the source and at the target."""

    source: GroupOffsets
    target: GroupOffsets

    def of(self, source: TopicPartition, target: TopicPartition) -> dict[str, tuple[int, int]]:
        return {
            name: (offsets[source], self.target[name][target])
            for name, offsets in self.source.items()
            if source in offsets and target in self.target.get(name, {})
        }


async def verify_mirror(
    topics: MirroredTopics, target_client: Mapping[str, str], *, mirror_group: str, groups: str
) -> list[PartitionResult]:
    """One result for each partition. `groups` is a pattern; an empty one checks none."""
    async with AsyncExitStack() as stack:
        source = await stack.enter_async_context(Admin(config=dict(topics.source)))
        target = await stack.enter_async_context(Admin(config=dict(target_client)))
        wanted = await source_partitions(topics, source)
        mirrored, ends = await _mirrored(target, mirror_group, topics, wanted)
        begins = await _offsets(target, list(mirrored), EARLIEST)
        committed = await _groups(source, target, groups, mirror_group)
        results = []
        for there, position in sorted(mirrored.items()):
            here = TopicPartition(topics.source_name(there.topic), there.partition)
            policies = await _policies(target, there.topic)
            begin = (await _offsets(source, [here], EARLIEST))[here]
            result = await _compare(
                topics.source,
                target_client,
                Side(partition=here, begin=begin, end=position),
                Side(partition=there, begin=begins[there], end=ends[there]),
                policies,
                committed.of(here, there),
            )
            await _count_waiting(topics.source, source, result, here, position)
            results.append(result)
        for name, count in sorted(wanted.items()):
            for number in range(count):
                there = TopicPartition(topics.target_name(name), number)
                if there not in mirrored:
                    result = PartitionResult(partition=there)
                    here = TopicPartition(name, number)
                    begin = (await _offsets(source, [here], EARLIEST))[here]
                    await _count_waiting(topics.source, source, result, here, begin)
                    results.append(result)
    return sorted(results, key=lambda result: result.partition)


async def _count_waiting(
    client: Mapping[str, str], source: Admin, result: PartitionResult, partition: TopicPartition, position: int
) -> None:
    latest = (await _offsets(source, [partition], LATEST))[partition]
    if latest > position:
        # Counted, not subtracted: the end of a transaction has an offset and is no record.
        result.waiting = await _count(client, Side(partition=partition, begin=position, end=latest))


async def _compare(
    source_client: Mapping[str, str],
    target_client: Mapping[str, str],
    source: Side,
    target: Side,
    policies: tuple[str, str],
    groups: Mapping[str, tuple[int, int]],
) -> PartitionResult:
    cleanup, timestamps = policies
    result = PartitionResult(partition=target.partition)
    keeps_time = timestamps != "LogAppendTime"
    if "compact" in cleanup:
        latest = LatestOfKeys(timestamps=keeps_time)
        async for records in _records(source_client, source):
            latest.add(records, ())
        async for records in _records(target_client, target):
            latest.add((), records)
        latest.finish(result)
        return result
    skip_here = skip_there = 0
    if source.begin or target.begin:
        # The last records are the same on both sides, so what one has more it has at its begin.
        here, there = await _count(source_client, source), await _count(target_client, target)
        skip_here, skip_there = (
            (max(0, here - there), max(0, there - here)) if _may_skip(source, target, here, there) else (0, 0)
        )
        result.left_out = skip_here + skip_there
    counts = RecordCounts(one for one, _ in groups.values()), RecordCounts(other for _, other in groups.values())
    await _walk(source_client, target_client, source, target, result, keeps_time, (skip_here, skip_there), counts)
    for name, (committed, translated) in groups.items():
        check_group(
            result,
            name,
            *counts,
            committed=committed,
            translated=translated,
            skipped_source=skip_here,
            skipped_target=skip_there,
        )
    return result


def _may_skip(source: Side, target: Side, here: int, there: int) -> bool:
    """Only a side that has deleted from its begin may have less."""
    return bool(target.begin) if here > there else bool(source.begin)


async def _walk(
    source_client: Mapping[str, str],
    target_client: Mapping[str, str],
    source: Side,
    target: Side,
    result: PartitionResult,
    timestamps: bool,
    skip: tuple[int, int],
    counts: tuple[RecordCounts, RecordCounts],
) -> None:
    comparison = Comparison(result, timestamps=timestamps)
    here = _without_first(_records(source_client, source), skip[0], counts[0])
    there = _without_first(_records(target_client, target), skip[1], counts[1])
    ended_here = ended_there = False
    while not (ended_here and ended_there):
        if not ended_here and (comparison.wants_source or ended_there):
            records = await anext(here, None)
            ended_here = records is None
            comparison.add(records or (), ())
        if not ended_there and (comparison.wants_target or ended_here):
            records = await anext(there, None)
            ended_there = records is None
            comparison.add((), records or ())
    comparison.finish()


async def _without_first(
    chunks: AsyncIterator[list[ConsumerRecord]], count: int, counts: RecordCounts
) -> AsyncIterator[list[ConsumerRecord]]:
    left = count
    async for records in chunks:
        for record in records:
            counts.pass_by(record.offset)
        kept = records[left:]
        left = max(0, left - len(records))
        if kept:
            yield kept


async def _records(client: Mapping[str, str], side: Side) -> AsyncIterator[list[ConsumerRecord]]:
    """Committed records in [begin, end), in order."""
    config = {**client, "isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    async with Consumer(config=config) as consumer:
        consumer.assign([side.partition])
        consumer.seek(side.partition, side.begin)
        while await consumer.position(side.partition) < side.end:
            records = await consumer.poll(timeout_ms=_POLL_MS, max_records=_POLL_RECORDS)
            within = [record for record in records if record.offset < side.end]
            if within:
                yield within


async def _count(client: Mapping[str, str], side: Side) -> int:
    return sum([len(records) async for records in _records(client, side)])


async def _mirrored(
    target: Admin, group: str, topics: MirroredTopics, wanted: Mapping[str, int]
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """How far the mirror is at the source, and where its topics end at that same moment."""
    names = {topics.target_name(name) for name in wanted}
    for _ in range(_LOOKS):
        positions = await _positions(target, group, names)
        if not positions:
            raise MirrorRefused(
                f"group {group!r} at the target has no offsets: nothing was mirrored under this name to these topics"
            )
        ends = await _offsets(target, list(positions), LATEST)
        if positions == await _positions(target, group, names):
            return positions, ends
    raise MirrorRefused("the mirror was running the whole time. Stop it for a moment, or verify later")


async def _positions(target: Admin, group: str, names: set[str]) -> dict[TopicPartition, int]:
    committed = await target.list_group_offsets(group)
    return {part: position.offset for part, position in committed.items() if part.topic in names}


async def _offsets(admin: Admin, partitions: list[TopicPartition], place: int) -> dict[TopicPartition, int]:
    found = await admin.list_offsets(dict.fromkeys(partitions, place), read_committed=True)
    return {partition: answer.offset for partition, answer in Admin.raise_any(found).items()}


async def _policies(admin: Admin, topic: str) -> tuple[str, str]:
    """cleanup.policy and message.timestamp.type."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    entries = Admin.raise_any(await admin.describe_configs([resource]))[resource]
    values = {entry.name: entry.value or "" for entry in entries}
    return values.get("cleanup.policy", ""), values.get("message.timestamp.type", "")


async def _groups(source: Admin, target: Admin, pattern: str, mirror_group: str) -> Groups:
    found: dict[str, Mapping[TopicPartition, int]] = {}
    there: dict[str, Mapping[TopicPartition, int]] = {}
    if pattern:
        wanted = re.compile(pattern)
        for group in await source.list_groups():
            name = group.group_id
            if wanted.fullmatch(name) and name != mirror_group and await _is_left_alone(target, name):
                found[name] = _plain(await source.list_group_offsets(name))
                there[name] = _plain(await target.list_group_offsets(name))
    return Groups(source=found, target=there)


async def _is_left_alone(target: Admin, name: str) -> bool:
    """A group with members at the target has moved there, and is where it wants to be."""
    described = (await target.describe_groups([name]))[name]
    return isinstance(described, ApiError) or described.state in ("Empty", "Dead")


def _plain(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> dict[TopicPartition, int]:
    return {partition: position.offset for partition, position in offsets.items()}
