"""What can be asked of brokers about topics and partitions, whatever is being read."""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.errors import raise_any
from tidelog.client.offsets.listing import OffsetAndTimestamp, list_offsets
from tidelog.client.options import ConsumerConfig
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import EARLIEST, LATEST


class PartitionQuestions:
    """The part of `Consumer` that needs nothing but the way to the cluster."""

    _cluster: Cluster
    _config: ConsumerConfig

    async def topics(self) -> frozenset[str]:
        """All topics that may be read."""
        metadata = await self._cluster.fetch_metadata(None)
        return frozenset(name for name, topic in metadata.topics.items() if not topic.internal)

    async def partitions_for(self, topic: str) -> tuple[TopicPartition, ...]:
        found = await self._cluster.topic(topic, timeout_ms=self._config.default_api_timeout_ms)
        return tuple(TopicPartition(topic, entry.partition) for entry in found.partitions)

    async def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, OffsetAndTimestamp]:
        """The first records at or after these times; partitions without one are left out."""
        found = await self._offsets(times)
        return {partition: entry for partition, entry in found.items() if entry.offset >= 0}

    async def beginning_offsets(self, *partitions: TopicPartition) -> dict[TopicPartition, int]:
        found = await self._offsets(dict.fromkeys(partitions, EARLIEST))
        return {partition: entry.offset for partition, entry in found.items()}

    async def end_offsets(self, *partitions: TopicPartition) -> dict[TopicPartition, int]:
        """The ends as this reader sees them: of committed records only, if it reads only those."""
        found = await self._offsets(dict.fromkeys(partitions, LATEST))
        return {partition: entry.offset for partition, entry in found.items()}

    async def _offsets(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, OffsetAndTimestamp]:
        return raise_any(await list_offsets(self._cluster, times, read_committed=self._config.read_committed))
