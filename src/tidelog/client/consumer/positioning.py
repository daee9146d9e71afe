"""Where to begin: finds positions for partitions that have none."""

from __future__ import annotations

from tidelog.client.cluster import Cluster
from tidelog.client.committed import fetch_committed
from tidelog.client.config import ConsumerConfig
from tidelog.client.consumer.positions import PartitionPosition, Positions
from tidelog.client.errors import NoOffsetForPartition
from tidelog.client.offsets import EARLIEST, LATEST, list_offsets
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition

# The values of auto.offset.reset that name a place.
RESETS = {"earliest": EARLIEST, "latest": LATEST}


async def find_positions(cluster: Cluster, config: ConsumerConfig, positions: Positions) -> None:
    """The place that a seek has named, else the committed offset, else what auto.offset.reset says."""
    missing = [entry for entry in positions if entry.position is None]
    if not missing:
        return
    unset = [entry for entry in missing if entry.reset_to is None]
    if unset and config.group_id is not None:
        await _take_committed(cluster, config, config.group_id, unset)
    for entry in unset:
        if entry.position is None and entry.reset_to is None:
            entry.reset_to = _default_reset(config, entry.partition)
    times = {entry.partition: entry.reset_to for entry in missing if entry.reset_to is not None}
    if not times:
        return
    found = await list_offsets(cluster, times, read_committed=config.read_committed)
    for entry in missing:
        result = found.get(entry.partition)
        if isinstance(result, ApiError):
            raise result
        # A seek while we asked has the last word.
        if result is not None and entry.position is None and entry.reset_to == times[entry.partition]:
            entry.seek(max(result.offset, 0), result.leader_epoch)


async def _take_committed(
    cluster: Cluster, config: ConsumerConfig, group_id: str, entries: list[PartitionPosition]
) -> None:
    partitions = [entry.partition for entry in entries]
    committed = await fetch_committed(cluster, group_id, partitions, require_stable=config.read_committed)
    for entry in entries:
        found = committed.get(entry.partition)
        if found is not None and entry.position is None and entry.reset_to is None:
            entry.seek(found.offset, found.leader_epoch)


def _default_reset(config: ConsumerConfig, partition: TopicPartition) -> int:
    reset = RESETS.get(config.auto_offset_reset)
    if reset is None:
        raise NoOffsetForPartition(
            f"there is no committed offset of group {config.group_id!r} for partition {partition}, and "
            "auto.offset.reset=none: commit one, seek, or allow earliest or latest"
        )
    return reset
