"""The choice of a partition for each record of a producer: asks the partitioner, and keeps it informed.

The partitioners themselves are in `tidelog.client.partitioner`.
"""

from __future__ import annotations

from typing import cast

from tidelog.client.batches import Accumulator
from tidelog.client.config import ProducerConfig
from tidelog.client.errors import WrongUse
from tidelog.client.metadata import NO_NODE, TopicMetadata
from tidelog.client.partitioner import Partitioner, PartitionFunction, make_partitioner
from tidelog.model.ids import TopicPartition
from tidelog.model.ports import Randomness

_ALL: list[int] = []


class PartitionChoice:
    def __init__(
        self,
        partitioner: str | Partitioner | PartitionFunction | None,
        config: ProducerConfig,
        randomness: Randomness,
        accumulator: Accumulator,
    ) -> None:
        self._accumulator = accumulator
        self._led: dict[str, tuple[TopicMetadata | None, list[int]]] = {}
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
        # Those who want to fill batches hear of each one that is closed.
        self._batch_closed = getattr(self._partitioner, "batch_closed", None)
        if self._batch_closed is not None:
            accumulator.on_closed = self._tell_batch_closed

    def choose(self, topic: TopicMetadata, key: bytes | None, value: bytes | None, size: int) -> TopicPartition:
        count = len(topic.partitions)
        if self._partitioner is None:
            assert self._function is not None
            return _checked(topic, self._function(topic.name, key, value, count))
        led = self._led_partitions(topic)
        target = _checked(topic, self._partitioner.partition(topic.name, key, size, led, count))
        if self._batch_closed is not None and self._accumulator.close_if_full(target, size):
            # The first record of the next batch may as well go elsewhere.
            target = _checked(topic, self._partitioner.partition(topic.name, key, size, led, count))
        return target

    def _led_partitions(self, topic: TopicMetadata) -> list[int]:
        """Those that have a leader; empty if all have one. Looked up once for each picture of the topic."""
        seen, led = self._led.get(topic.name, (None, _ALL))
        if seen is not topic:
            led = [entry.partition for entry in topic.partitions if entry.leader != NO_NODE]
            if len(led) == len(topic.partitions):
                led = _ALL
            self._led[topic.name] = (topic, led)
        return led

    def _tell_batch_closed(self, partition: TopicPartition) -> None:
        assert self._batch_closed is not None
        self._batch_closed(partition.topic, partition.partition)


def named_partition(topic: TopicMetadata, partition: int) -> TopicPartition:
    """What the user has chosen."""
    count = len(topic.partitions)
    if not 0 <= partition < count:
        raise WrongUse(f"topic {topic.name!r} has the partitions 0 to {count - 1}, not {partition}")
    return TopicPartition(topic.name, partition)


def _checked(topic: TopicMetadata, partition: int) -> TopicPartition:
    if not 0 <= partition < len(topic.partitions):
        raise WrongUse(
            f"the partitioner chose {partition} for topic {topic.name!r} with {len(topic.partitions)} partitions"
        )
    return TopicPartition(topic.name, partition)
