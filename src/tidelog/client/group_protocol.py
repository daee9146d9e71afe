"""What consumers of one group tell each other through the coordinator: subscriptions and assignments (KIP-429).

The coordinator passes these bytes on without reading them, so members of different makes and versions meet here. Both
messages begin with a version; fields are only ever added at the end, so that a newer message reads as an older one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from struct import Struct

from tidelog.model.ids import TopicPartition
from tidelog.protocol.codec import Buffer, ProtocolError, decode, encode
from tidelog.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from tidelog.protocol.messages.consumer_protocol_assignment import TopicPartition as AssignedPartitions
from tidelog.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from tidelog.protocol.messages.consumer_protocol_subscription import TopicPartition as OwnedPartitions

_VERSION = Struct(">h")
_SUBSCRIPTION_VERSION = ConsumerProtocolSubscription.SCHEMA.valid[1]
_ASSIGNMENT_VERSION = ConsumerProtocolAssignment.SCHEMA.valid[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What one member wants, and what it has had so far."""

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None
    user_data: bytes | None = None


def encode_subscription(subscription: Subscription) -> bytes:
    message = ConsumerProtocolSubscription(
        topics=sorted(subscription.topics),
        user_data=subscription.user_data,
        owned_partitions=[
            OwnedPartitions(topic=topic, partitions=numbers) for topic, numbers in _by_topic(subscription.owned)
        ],
        generation_id=subscription.generation,
        rack_id=subscription.rack,
    )
    return _VERSION.pack(_SUBSCRIPTION_VERSION) + encode(message, _SUBSCRIPTION_VERSION)


def decode_subscription(data: Buffer) -> Subscription:
    version = _version(data, _SUBSCRIPTION_VERSION)
    message, _ = decode(ConsumerProtocolSubscription, data, version, _VERSION.size)
    return Subscription(
        topics=tuple(message.topics),
        owned=tuple(
            TopicPartition(entry.topic, number) for entry in message.owned_partitions for number in entry.partitions
        ),
        generation=message.generation_id,
        rack=message.rack_id,
        user_data=message.user_data,
    )


def encode_assignment(partitions: Collection[TopicPartition]) -> bytes:
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            AssignedPartitions(topic=topic, partitions=numbers) for topic, numbers in _by_topic(partitions)
        ]
    )
    return _VERSION.pack(_ASSIGNMENT_VERSION) + encode(message, _ASSIGNMENT_VERSION)


def decode_assignment(data: Buffer) -> tuple[TopicPartition, ...]:
    """No bytes at all mean no partitions: that is what a member gets that the leader did not know."""
    if not data:
        return ()
    message, _ = decode(ConsumerProtocolAssignment, data, _version(data, _ASSIGNMENT_VERSION), _VERSION.size)
    return tuple(
        TopicPartition(entry.topic, number) for entry in message.assigned_partitions for number in entry.partitions
    )


def _version(data: Buffer, newest: int) -> int:
    if len(data) < _VERSION.size:
        raise ProtocolError(f"{len(data)} bytes are too few for a message of the consumer protocol")
    (version,) = _VERSION.unpack_from(data)
    if version < 0:
        raise ProtocolError(f"{version} is not a version of the consumer protocol")
    return min(int(version), newest)


def _by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    grouped: dict[str, list[int]] = defaultdict(list)
    for partition in sorted(partitions):
        grouped[partition.topic].append(partition.partition)
    return list(grouped.items())
