"""What a client knows about the cluster: brokers, topics, and who leads each partition. Values only.

Asking brokers for it is the business of `tidelog.client.cluster.cluster`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace

from tidelog.client.errors import known_code
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

NO_NODE = -1


def known(number: int) -> int | None:
    """A node, an offset or a time from a reply, where a negative number says that there is none."""
    return None if number < 0 else number


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAddress:
    node_id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata:
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    offline: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMetadata:
    """`partitions` is ordered, and dense: partition i is at index i."""

    name: str
    topic_id: Uuid
    internal: bool
    partitions: tuple[PartitionMetadata, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMetadata:
    """One immutable picture; `merge` makes the next one."""

    cluster_id: str | None = None
    controller: int = NO_NODE
    brokers: Mapping[int, BrokerAddress] = field(default_factory=dict)
    topics: Mapping[str, TopicMetadata] = field(default_factory=dict)
    topic_names: Mapping[Uuid, str] = field(default_factory=dict)
    # Why a topic that was asked for is not in `topics`.
    topic_errors: Mapping[str, ErrorCode] = field(default_factory=dict)

    def leader_of(self, partition: TopicPartition) -> PartitionMetadata | None:
        """The partition, if it is known and has a leader whose address is known."""
        topic = self.topics.get(partition.topic)
        if topic is None or not 0 <= partition.partition < len(topic.partitions):
            return None
        found = topic.partitions[partition.partition]
        return found if found.leader in self.brokers else None

    def partition_count(self, topic: str) -> int | None:
        found = self.topics.get(topic)
        return None if found is None else len(found.partitions)


def merge(known: ClusterMetadata, response: MetadataResponse, wanted: Collection[str] | None) -> ClusterMetadata:
    """The picture after a reply. `wanted` are the topics to keep, None keeps exactly those in the reply."""
    topics: dict[str, TopicMetadata] = {}
    errors: dict[str, ErrorCode] = {}
    if wanted is not None:
        topics = {name: topic for name, topic in known.topics.items() if name in wanted}
        errors = {name: error for name, error in known.topic_errors.items() if name in wanted}
    for entry in response.topics:
        if entry.name is None:
            continue
        errors.pop(entry.name, None)
        if entry.error_code != ErrorCode.NONE:
            errors[entry.name] = known_code(entry.error_code)
            if entry.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                topics.pop(entry.name, None)
            continue
        topics[entry.name] = _topic(entry, topics.get(entry.name))
    return ClusterMetadata(
        cluster_id=response.cluster_id if response.cluster_id is not None else known.cluster_id,
        controller=response.controller_id,
        brokers={
            broker.node_id: BrokerAddress(node_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack)
            for broker in response.brokers
        },
        topics=topics,
        topic_names={topic.topic_id: name for name, topic in topics.items() if topic.topic_id != ZERO_UUID},
        topic_errors=errors,
    )


def _topic(entry: MetadataResponseTopic, before: TopicMetadata | None) -> TopicMetadata:
    assert entry.name is not None
    topic_id = Uuid(entry.topic_id)
    # A topic that was deleted and recreated has another id, and its epochs start from the beginning.
    same = before is not None and before.topic_id == topic_id
    earlier = {part.partition: part for part in before.partitions} if same and before is not None else {}
    ordered = sorted(entry.partitions, key=lambda part: part.partition_index)
    return TopicMetadata(
        name=entry.name,
        topic_id=topic_id,
        internal=entry.is_internal,
        partitions=tuple(_partition(part, earlier.get(part.partition_index)) for part in ordered),
    )


def _partition(entry: MetadataResponsePartition, before: PartitionMetadata | None) -> PartitionMetadata:
    """A broker that lags behind may answer with an older leader: epochs tell, and never go back (KIP-320)."""
    if before is not None and 0 <= entry.leader_epoch < before.leader_epoch:
        return before
    return PartitionMetadata(
        partition=entry.partition_index,
        leader=entry.leader_id,
        leader_epoch=entry.leader_epoch,
        replicas=tuple(entry.replica_nodes),
        in_sync=tuple(entry.isr_nodes),
        offline=tuple(entry.offline_replicas),
    )


def with_leader(known: ClusterMetadata, partition: TopicPartition, leader: int, leader_epoch: int) -> ClusterMetadata:
    """Take over what a Produce or Fetch reply says about a new leader (KIP-951), if it is newer and its node known."""
    topic = known.topics.get(partition.topic)
    if topic is None or not 0 <= partition.partition < len(topic.partitions) or leader not in known.brokers:
        return known
    entry = topic.partitions[partition.partition]
    if leader_epoch <= entry.leader_epoch:
        return known
    partitions = list(topic.partitions)
    partitions[partition.partition] = replace(entry, leader=leader, leader_epoch=leader_epoch)
    return replace(known, topics={**known.topics, topic.name: replace(topic, partitions=tuple(partitions))})
