"""A producer's intake without a broker: what it asks of the cluster is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from tidelog.client.cluster.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from tidelog.client.config import producer_config
from tidelog.client.producer.batches import Accumulator, ProducerBatch
from tidelog.client.producer.intake import Intake
from tidelog.client.producer.partition_choice import PartitionChoice
from tidelog.model.ids import ZERO_UUID
from tidelog.network.system import SystemRandomness

BATCH_SIZE = 1_000
LARGEST = 700
MEMORY = 2_500


class FixedClock:
    def now_ms(self) -> int:
        return 1_234

    def monotonic_ms(self) -> float:
        return 5.0


class KnownCluster:
    """What an intake asks of a cluster."""

    def __init__(self, **topics: int) -> None:
        self.clock = FixedClock()
        self.metadata = ClusterMetadata()
        for name, partitions in topics.items():
            self.know(name, partitions)

    def know(self, name: str, partitions: int) -> None:
        entries = tuple(
            PartitionMetadata(partition=number, leader=1, leader_epoch=0, replicas=(1,), in_sync=(1,), offline=())
            for number in range(partitions)
        )
        topic = TopicMetadata(name=name, topic_id=ZERO_UUID, internal=False, partitions=entries)
        self.metadata = replace(self.metadata, topics={**self.metadata.topics, name: topic})


class Taking:
    def __init__(self, cluster: KnownCluster, partitioner: Any = None) -> None:
        self.accumulator = Accumulator(batch_size=BATCH_SIZE, linger_ms=10)
        config = producer_config({"bootstrap.servers": "127.0.0.1:9092"})
        choice = PartitionChoice(partitioner, config, SystemRandomness(), self.accumulator)
        self.intake = Intake(cast(Any, cluster), self.accumulator, choice, largest_record=LARGEST, buffer_memory=MEMORY)
        self.wakes = 0
        self.intake.on_work = self._woken

    def _woken(self) -> None:
        self.wakes += 1

    def take(self, value: Any, **options: Any) -> Any:
        given = {"topic": "t", "key": None, "headers": (), "partition": None, "timestamp_ms": None, **options}
        return self.intake.take(
            given["topic"], value, given["key"], given["headers"], given["partition"], given["timestamp_ms"]
        )

    def batches(self) -> list[ProducerBatch]:
        return list(self.intake.unfinished)
