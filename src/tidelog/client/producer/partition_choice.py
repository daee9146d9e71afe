"""The choice of a partition for each record of a producer: asks the partitioner, and keeps it informed.

The partitioners themselves are in `tidelog.client.producer.partitioner`.
"""

from __future__ import annotations

from typing import cast

from tidelog.client.cluster.metadata import NO_NODE, TopicMetadata
from tidelog.client.errors import WrongUse
from tidelog.client.options import ProducerConfig
from tidelog.client.producer.batches import Accumulator
from tidelog.client.producer.partitioner import Partitioner, PartitionFunction, make_partitioner
from tidelog.model.ids import TopicPartition
from tidelog.model.ports import Randomness

_KnownTopic = tuple[TopicMetadata, list[TopicPartition], list[int]]


class PartitionChoice:
    def __init__(
        self,
        partitioner: str | Partitioner | PartitionFunction | None,
        config: ProducerConfig,
        randomness: Randomness,
        accumulator: Accumulator,
    ) -> None:
        self._accumulator = accumulator
        self._topics: dict[str, _KnownTopic] = {}
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
        # Those who want to fill batches learn of each one that is closed.
        self._batch_closed = getattr(self._partitioner, "batch_closed", None)
        if self._batch_closed is not None:
            accumulator.on_closed = self._tell_batch_closed

    def choose(self, topic: TopicMetadata, key: bytes | None, value: bytes | None, size: int) -> TopicPartition:
        # Called for each record, so it makes nothing that can be kept.
        name = topic.name
        known = self._topics.get(name)
        if known is None or known[0] is not topic:
            known = self._look_at(topic)
        _, partitions, led = known
        count = len(partitions)
        partitioner = self._partitioner
        if partitioner is None:
            assert self._function is not None
            chosen = self._function(name, key, value, count)
        else:
            chosen = partitioner.partition(name, key, size, led, count)
            if (
                self._batch_closed is not None
                and 0 <= chosen < count
                and self._accumulator.close_if_full(partitions[chosen], size)
            ):
                # The first record of the next batch may as well go elsewhere.
                chosen = partitioner.partition(name, key, size, led, count)
        if not 0 <= chosen < count:
            raise WrongUse(f"the partitioner chose {chosen} for topic {name!r} with {count} partitions")
        return partitions[chosen]

    def _look_at(self, topic: TopicMetadata) -> _KnownTopic:
        """(the topic, its partitions, those that have a leader, or none if all have one)."""
        led = [entry.partition for entry in topic.partitions if entry.leader != NO_NODE]
        partitions = [TopicPartition(topic.name, entry.partition) for entry in topic.partitions]
        known = (topic, partitions, [] if len(led) == len(partitions) else led)
        self._topics[topic.name] = known
        return known

    def _tell_batch_closed(self, partition: TopicPartition) -> None:
        assert self._batch_closed is not None
        self._batch_closed(partition.topic, partition.partition)


def named_partition(topic: TopicMetadata, partition: int) -> TopicPartition:
    """What the user has chosen."""
    count = len(topic.partitions)
    if not 0 <= partition < count:
        raise WrongUse(f"topic {topic.name!r} has the partitions 0 to {count - 1}, not {partition}")
    return TopicPartition(topic.name, partition)
