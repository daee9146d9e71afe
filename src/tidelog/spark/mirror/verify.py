"""Comparing a mirror with its source record by record, and what consumer groups would read there. Needs no Spark.

Only what the mirror says it has mirrored is compared: the source up to the offsets that are committed at the target.
Both sides may be in use meanwhile. Compaction and retention remove records on each side in its own time: of compacted
topics the last record of each key is compared, and records that only one side has deleted from its begin are left out.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from tidelog.client.admin import Admin, ConfigResource, ResourceType
from tidelog.client.consumer import Consumer
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import EARLIEST, LATEST
from tidelog.spark.mirror.comparison import Comparison, PartitionResult, RecordCounts, check_group, compare_latest
from tidelog.spark.mirror.groups import has_no_members
from tidelog.spark.mirror.progress import MirrorRefused
from tidelog.spark.mirror.topics import MirroredTopics, source_partitions

_LOOKS = 20
_POLL_MS = 500
_POLL_RECORDS = 200

Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A partition of one cluster: the records in [begin, end)."""

    client: Mapping[str, str]
    partition: TopicPartition
    begin: int
    end: int


async def verify_mirror(
    topics: MirroredTopics, target_client: Mapping[str, str], *, mirror_group: str, groups: str
) -> list[PartitionResult]:
    """One result for each partition. `groups` is a pattern; an empty one checks none."""
    async with Admin(config=dict(topics.source)) as source, Admin(config=dict(target_client)) as target:
        wanted = await source_partitions(topics, source)
        mirrored, ends = await _mirrored(target, mirror_group, topics, wanted)
        begins = await _offsets(target, list(mirrored), EARLIEST)
        committed = await _groups(source, target, groups, mirror_group)
        every = {
            TopicPartition(topics.target_name(name), one) for name, count in wanted.items() for one in range(count)
        }
        results = []
        for there in sorted(every | mirrored.keys()):
            here = TopicPartition(topics.source_name(there.topic), there.partition)
            begin = (await _offsets(source, [here], EARLIEST))[here]
            position = mirrored.get(there)
            if position is None:
                result, position = PartitionResult(partition=there), begin
            else:
                result = await _compare(
                    Side(client=topics.source, partition=here, begin=begin, end=position),
                    Side(client=target_client, partition=there, begin=begins[there], end=ends[there]),
                    await _policies(target, there.topic),
                    {
                        group: (at_source[here], at_target[there])
                        for group, (at_source, at_target) in committed.items()
                        if here in at_source and there in at_target
                    },
                )
            latest = (await _offsets(source, [here], LATEST))[here]
            if latest > position:
                # Counted, not subtracted: the end of a transaction has an offset and is no record.
                waiting = Side(client=topics.source, partition=here, begin=position, end=latest)
                result.waiting = await _count(waiting)
            results.append(result)
    return results


async def _compare(
    source: Side, target: Side, policies: tuple[str, str], groups: Mapping[str, tuple[int, int]]
) -> PartitionResult:
    cleanup, timestamps = policies
    result = PartitionResult(partition=target.partition)
    keeps_time = timestamps != "LogAppendTime"
    if "compact" in cleanup:
        compare_latest(result, await _latest(source), await _latest(target), timestamps=keeps_time)
        return result
    skip_here, skip_there = await _on_one_side(source, target)
    result.left_out = skip_here + skip_there
    counts_here = RecordCounts((one for one, _ in groups.values()), skipped=skip_here)
    counts_there = RecordCounts((other for _, other in groups.values()), skipped=skip_there)
    comparison = Comparison(result, timestamps=keeps_time)
    here, there = _counted(source, skip_here, counts_here), _counted(target, skip_there, counts_there)
    ended_here = ended_there = False
    while not (ended_here and ended_there):
        if not ended_here and (comparison.wants_source or ended_there):
            of_source = await anext(here, None)
            ended_here = of_source is None
            comparison.add(of_source or (), ())
        if not ended_there and (comparison.wants_target or ended_here):
            of_target = await anext(there, None)
            ended_there = of_target is None
            comparison.add((), of_target or ())
    comparison.finish()
    for name, (committed, translated) in groups.items():
        check_group(result, name, counts_here, counts_there, committed=committed, translated=translated)
    return result


async def _on_one_side(source: Side, target: Side) -> tuple[int, int]:
    """How many records the source, or the target, has more at its begin. The last ones are the same on both sides."""
    if not source.begin and not target.begin:
        return 0, 0
    here, there = await _count(source), await _count(target)
    # Only a side that has deleted from its begin may have less.
    may_have_less = target.begin if here > there else source.begin
    return (max(0, here - there), max(0, there - here)) if may_have_less else (0, 0)


async def _counted(side: Side, skip: int, counts: RecordCounts) -> AsyncIterator[list[ConsumerRecord]]:
    """The records of a side without the first ones, which are only counted."""
    async for records in _records(side):
        for record in records:
            counts.pass_by(record.offset)
        kept = records[skip:]
        skip = max(0, skip - len(records))
        if kept:
            yield kept


async def _records(side: Side) -> AsyncIterator[list[ConsumerRecord]]:
    """Committed records in [begin, end), in order."""
    config = {**side.client, "isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    async with Consumer(config=config) as consumer:
        consumer.assign([side.partition])
        consumer.seek(side.partition, side.begin)
        while await consumer.position(side.partition) < side.end:
            records = await consumer.poll(timeout_ms=_POLL_MS, max_records=_POLL_RECORDS)
            within = [record for record in records if record.offset < side.end]
            if within:
                yield within


async def _count(side: Side) -> int:
    return sum([len(records) async for records in _records(side)])


async def _latest(side: Side) -> dict[bytes | None, ConsumerRecord]:
    """The last record of each key."""
    return {record.key: record async for records in _records(side) for record in records}


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
    committed = _plain(await target.list_group_offsets(group))
    return {part: offset for part, offset in committed.items() if part.topic in names}


async def _offsets(admin: Admin, partitions: list[TopicPartition], place: int) -> dict[TopicPartition, int]:
    found = await admin.list_offsets(dict.fromkeys(partitions, place), read_committed=True)
    return {partition: answer.offset for partition, answer in Admin.raise_any(found).items()}


async def _policies(admin: Admin, topic: str) -> tuple[str, str]:
    """cleanup.policy and message.timestamp.type."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    entries = Admin.raise_any(await admin.describe_configs([resource]))[resource]
    values = {entry.name: entry.value or "" for entry in entries}
    return values.get("cleanup.policy", ""), values.get("message.timestamp.type", "")


async def _groups(source: Admin, target: Admin, pattern: str, mirror_group: str) -> dict[str, tuple[Offsets, Offsets]]:
    """What groups have committed, at the source and at the target."""
    if not pattern:
        return {}
    wanted = re.compile(pattern)
    names = [group.group_id for group in await source.list_groups()]
    return {
        name: (_plain(await source.list_group_offsets(name)), _plain(await target.list_group_offsets(name)))
        for name in names
        # A group with members at the target has moved there, and is where it wants to be.
        if wanted.fullmatch(name) and name != mirror_group and await has_no_members(target, name)
    }


def _plain(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> dict[TopicPartition, int]:
    return {partition: position.offset for partition, position in offsets.items()}
