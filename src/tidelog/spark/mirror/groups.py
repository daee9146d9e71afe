"""Consumer groups at the target: their offsets, translated from those that they have committed at the source.

A group that has members at the target has moved there; it is left alone. Offsets are never moved back: a group that has
read at the target, and is idle for the moment, must not read the same again.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping

from tidelog.client.admin import Admin
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.spark.mirror.runs import OffsetRun, read_runs, translate
from tidelog.spark.mirror.topics import MirroredTopics

logger = logging.getLogger(__name__)

_WITHOUT_MEMBERS = ("Empty", "Dead")
# The memory of another mirror, whose offsets are those of yet another cluster.
_MIRRORS = re.compile(r"tidelog-mirror-.*")


async def translate_groups(
    topics: MirroredTopics, target_client: Mapping[str, str], *, mirror_group: str, pattern: str
) -> int:
    """Bring the offsets of groups at the target up to date. Returns how many were changed."""
    changed = 0
    wanted = re.compile(pattern)
    async with Admin(config=dict(topics.source)) as source, Admin(config=dict(target_client)) as target:
        positions = await target.list_group_offsets(mirror_group)
        runs = {partition: read_runs(position.metadata) for partition, position in positions.items()}
        for group in await source.list_groups():
            if not wanted.fullmatch(group.group_id) or _MIRRORS.fullmatch(group.group_id):
                continue
            offsets = translated(await source.list_group_offsets(group.group_id), runs, topics)
            present = await target.list_group_offsets(group.group_id, list(offsets)) if offsets else {}
            news = {
                partition: position
                for partition, position in offsets.items()
                if partition not in present or present[partition].offset < position.offset
            }
            if news and await has_no_members(target, group.group_id):
                await target.alter_group_offsets(group.group_id, news)
                changed += len(news)
    return changed


def translated(
    committed: Mapping[TopicPartition, OffsetAndMetadata],
    runs: Mapping[TopicPartition, list[OffsetRun]],
    topics: MirroredTopics,
) -> dict[TopicPartition, OffsetAndMetadata]:
    """What a group has committed at the source, in offsets of the target."""
    offsets: dict[TopicPartition, OffsetAndMetadata] = {}
    for partition, position in committed.items():
        there = TopicPartition(topics.target_name(partition.topic), partition.partition)
        offset = translate(runs.get(there, []), position.offset)
        if offset is not None:
            offsets[there] = OffsetAndMetadata(offset=offset, metadata=position.metadata)
    return offsets


async def has_no_members(target: Admin, group_id: str) -> bool:
    described = (await target.describe_groups([group_id]))[group_id]
    # Whoever cannot be described does not exist yet.
    return isinstance(described, ApiError) or described.state in _WITHOUT_MEMBERS
