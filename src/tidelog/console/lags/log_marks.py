"""Where the logs of many partitions start and end, and how far committed records go."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping

from tidelog.client.admin import Admin
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.console.findings.lag import LogMarks
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import EARLIEST, LATEST

# A partition whose leader does not answer must not keep the others waiting.
PATIENCE_MS = 3_000


def led(metadata: ClusterMetadata, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Those that can be asked for: the others would be waited for."""
    return [partition for partition in partitions if metadata.leader_of(partition) is not None]


async def places_at(
    admin: Admin,
    metadata: ClusterMetadata,
    partitions: Iterable[TopicPartition],
    at: int,
    *,
    read_committed: bool = False,
    patience_ms: int = PATIENCE_MS,
) -> dict[TopicPartition, int]:
    """The offset at a time or a place, of the partitions that answer. -1 where no record is that late."""
    wanted = dict.fromkeys(led(metadata, partitions), at)
    if not wanted:
        return {}
    found = await admin.list_offsets(wanted, read_committed=read_committed, timeout_ms=patience_ms, metadata=metadata)
    return {partition: answer.offset for partition, answer in found.items() if not isinstance(answer, ApiError)}


async def marks_of(
    admin: Admin, metadata: ClusterMetadata, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, LogMarks]:
    """Of the partitions that answer."""
    starts, stable, ends = await asyncio.gather(
        places_at(admin, metadata, partitions, EARLIEST),
        places_at(admin, metadata, partitions, LATEST, read_committed=True),
        places_at(admin, metadata, partitions, LATEST),
    )
    return marks_from(starts, stable, ends)


def marks_from(
    starts: Mapping[TopicPartition, int], stable: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, LogMarks]:
    """Of three readings at three moments, put in order, where both ends are known. Without a last stable offset all is
    stable."""
    marks: dict[TopicPartition, LogMarks] = {}
    for partition, end in ends.items():
        if partition not in starts:
            continue
        start = min(starts[partition], end)
        marks[partition] = LogMarks(start, min(max(stable.get(partition, end), start), end), end)
    return marks
