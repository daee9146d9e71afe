"""The choice of a partition for each record of a producer: asks the partitioner, and keeps it informed.

The partitioners themselves are in `tidelog.client.producer.partitioner`.
"""

from __future__ import annotations

from typing import cast

from tidelog.client.cluster.metadata import NO_NODE, TopicMetadata
from tidelog.client.errors import WrongUse
from tidelog.client.options import ProducerConfig
from tidelog.client.producer.batches import Accumulator
from tidelog.client.producer.partitioner import (
    Partitioner,
    PartitionFunction,
    UniformStickyPartitioner,
    make_partitioner,
)
from tidelog.model.ids import TopicPartition
from tidelog.model.ports import Randomness


class KnownTopic:
    """What is asked for each record, found out once for each picture of the cluster."""

    __slots__ = ("led", "name", "partitions")

    def __init__(self, metadata: TopicMetadata) -> None:
        self.name = metadata.name
        self.partitions = [TopicPartition(metadata.name, entry.partition) for entry in metadata.partitions]
        # Those that have a leader; none if all have one.
        self.led = [entry.partition for entry in metadata.partitions if entry.leader != NO_NODE]
        if len(self.led) == len(self.partitions):
            self.led = []


class PartitionChoice:
    def __init__(
        self,
        partitioner: str | Partitioner | PartitionFunction | None,
        config: ProducerConfig,
        randomness: Randomness,
        accumulator: Accumulator,
    ) -> None:
        self._accumulator = accumulator
        self._function: PartitionFunction | None = None
        self._partitioner: Partitioner | None = None
        if partitioner is None or isinstance(partitioner, str):
            self._partitioner = make_partitioner(
                config.partitioner,
                randomness,
                run_bytes=accumulator.batch_size,
                ignore_keys=config.partitioner_ignore_keys,
            )
        elif hasattr(partitioner, "partition"):
            self._partitioner = cast(Partitioner, partitioner)
        else:
            self._function = partitioner
        # The default, once more under its own type: compiled code calls it directly.
        self._uniform = self._partitioner if isinstance(self._partitioner, UniformStickyPartitioner) else None
        # Those who want to fill batches learn of each one that is closed.
        self._batch_closed = getattr(self._partitioner, "batch_closed", None)
        if self._batch_closed is not None:
            accumulator.on_closed = self._tell_batch_closed

    def choose(self, topic: KnownTopic, key: bytes | None, value: bytes | None, size: int) -> TopicPartition:
        # Called for each record, so it makes nothing that can be kept.
        partitions = topic.partitions
        count = len(partitions)
        if self._function is not None:
            chosen = self._function(topic.name, key, value, count)
        else:
            chosen = self._ask(topic.name, key, size, topic.led, count)
            if (
                self._batch_closed is not None
                and 0 <= chosen < count
                and self._accumulator.close_if_full(partitions[chosen], size)
            ):
                # The first record of the next batch may as well go elsewhere.
                chosen = self._ask(topic.name, key, size, topic.led, count)
        if not 0 <= chosen < count:
            raise WrongUse(f"the partitioner chose {chosen} for topic {topic.name!r} with {count} partitions")
        return partitions[chosen]

    def _ask(self, topic: str, key: bytes | None, size: int, led: list[int], count: int) -> int:
        if self._uniform is not None:
            return self._uniform.partition(topic, key, size, led, count)
        assert self._partitioner is not None
        return self._partitioner.partition(topic, key, size, led, count)

    def _tell_batch_closed(self, partition: TopicPartition) -> None:
        assert self._batch_closed is not None
        self._batch_closed(partition.topic, partition.partition)


def named_partition(topic: KnownTopic, partition: int) -> TopicPartition:
    """What the user has chosen."""
    count = len(topic.partitions)
    if not 0 <= partition < count:
        raise WrongUse(f"topic {topic.name!r} has the partitions 0 to {count - 1}, not {partition}")
    return topic.partitions[partition]
