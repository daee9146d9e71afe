"""What consumers of one group tell each other through the coordinator: subscriptions and assignments (KIP-429).

The coordinator passes these bytes on without reading them, so members of different makes and versions meet here. Both
messages begin with a version; fields are only ever added at the end, so that a newer message reads as an older one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from struct import Struct
from struct import error as StructError

from tidelog.model.ids import TopicPartition, numbers_by_topic
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.codec import Buffer, ProtocolError, decode, encode
from tidelog.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from tidelog.protocol.messages.consumer_protocol_assignment import TopicPartition as AssignedPartitions
from tidelog.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from tidelog.protocol.messages.consumer_protocol_subscription import TopicPartition as OwnedPartitions

_VERSION = Struct(">h")
_INT = Struct(">i")
_SUBSCRIPTION_VERSION = ConsumerProtocolSubscription.SCHEMA.valid[1]
_ASSIGNMENT_VERSION = ConsumerProtocolAssignment.SCHEMA.valid[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSubscription:
    """What one member wants, and what it has had so far. The instance id does not travel in it, but beside it."""

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None
    user_data: bytes | None = None
    instance_id: str | None = None


def members_in_order(subscriptions: Mapping[str, MemberSubscription]) -> list[str]:
    """Static members by their instance id come first, then the others by their member id.

    Member ids change when a program is started again, instance ids do not: so static members get the same again.
    """

    def key(member: str) -> tuple[bool, str]:
        instance_id = subscriptions[member].instance_id
        return instance_id is None, member if instance_id is None else instance_id

    return sorted(subscriptions, key=key)


def encode_subscription(subscription: MemberSubscription) -> bytes:
    message = ConsumerProtocolSubscription(
        topics=sorted(subscription.topics),
        user_data=subscription.user_data,
        owned_partitions=[
            OwnedPartitions(topic=topic, partitions=numbers)
            for topic, numbers in numbers_by_topic(sorted(subscription.owned)).items()
        ],
        generation_id=subscription.generation,
        rack_id=subscription.rack,
    )
    return _VERSION.pack(_SUBSCRIPTION_VERSION) + encode(message, _SUBSCRIPTION_VERSION)


def decode_subscription(data: Buffer) -> MemberSubscription:
    version = _version(data, _SUBSCRIPTION_VERSION)
    message, _ = decode(ConsumerProtocolSubscription, data, version, _VERSION.size)
    return MemberSubscription(
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
            AssignedPartitions(topic=topic, partitions=numbers)
            for topic, numbers in numbers_by_topic(sorted(partitions)).items()
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


# -- what the sticky assignors add to a subscription -----------------------------------------------------------------


def encode_sticky_user_data(partitions: Collection[TopicPartition], generation: int) -> bytes | None:
    """Version 1 of what the assignor "sticky" remembers; nothing before the first assignment."""
    if generation < 0:
        return None
    topics = numbers_by_topic(sorted(partitions))
    parts = [_INT.pack(len(topics))]
    for topic, numbers in topics.items():
        name = topic.encode()
        parts += [_VERSION.pack(len(name)), name, _INT.pack(len(numbers)), *map(_INT.pack, numbers)]
    return b"".join((*parts, _INT.pack(generation)))


def decode_sticky_user_data(data: Buffer | None) -> tuple[tuple[TopicPartition, ...], int]:
    """(partitions, generation). What cannot be read is the memory of somebody else, and worth nothing."""
    partitions: list[TopicPartition] = []
    view = memoryview(data or b"")
    try:
        (topics,), at = _INT.unpack_from(view), _INT.size
        for _ in range(topics):
            (length,) = _VERSION.unpack_from(view, at)
            topic = str(view[at + _VERSION.size : at + _VERSION.size + length], "utf-8")
            at += _VERSION.size + length
            (count,) = _INT.unpack_from(view, at)
            at += _INT.size
            if not 0 <= count <= (len(view) - at) // _INT.size:
                return (), -1
            partitions += [TopicPartition(topic, number) for (number,) in _INT.iter_unpack(view[at : at + 4 * count])]
            at += _INT.size * count
        # Version 0 ends here, without the generation.
        (generation,) = _INT.unpack_from(view, at) if at < len(view) else (-1,)
    except (StructError, UnicodeDecodeError):
        return (), -1
    return tuple(partitions), generation


def encode_cooperative_user_data(generation: int) -> bytes:
    """For members that do not know version 2 of the subscription, which has the generation itself."""
    return _INT.pack(generation)


def decode_cooperative_user_data(data: Buffer | None) -> int:
    if data is None or len(data) < _INT.size:
        return -1
    (generation,) = _INT.unpack_from(data)
    return int(generation)


def _version(data: Buffer, newest: int) -> int:
    if len(data) < _VERSION.size:
        raise ProtocolError(f"{len(data)} bytes are too few for a message of the consumer protocol")
    (version,) = _VERSION.unpack_from(data)
    if version < 0:
        raise ProtocolError(f"{version} is not a version of the consumer protocol")
    return min(int(version), newest)
