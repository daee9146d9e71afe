"""What consumers of the classic protocol write for each other: subscriptions and assignments, with a version in front.

The coordinator looks into them only where members of both protocols are in one group.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import TypeVar

from tidelog.coordinators.consumer_groups.records import by_topic
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition, Topics
from tidelog.protocol.codec import ProtocolError, decode, encode
from tidelog.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from tidelog.protocol.messages.consumer_protocol_assignment import TopicPartition as AssignedPartitions
from tidelog.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription

_VERSION = Struct(">h")

M = TypeVar("M", ConsumerProtocolSubscription, ConsumerProtocolAssignment)


class MalformedProtocol(ValueError):
    """A member's bytes are no subscription or no assignment of a consumer."""


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Raises MalformedProtocol."""
    return _read(ConsumerProtocolSubscription, metadata)


def read_assignment(assignment: bytes) -> ConsumerProtocolAssignment:
    """Raises MalformedProtocol. A member that its leader has forgotten has an empty one."""
    return _read(ConsumerProtocolAssignment, assignment) if assignment else ConsumerProtocolAssignment()


def write_assignment(partitions: Iterable[TopicIdPartition], topics: Topics, metadata: bytes) -> bytes:
    """In the version of the member's subscription. Topics that have been deleted are left out."""
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            AssignedPartitions(topic=topic.name, partitions=numbers)
            for topic_id, numbers in by_topic(partitions).items()
            if (topic := topics.with_id(topic_id)) is not None
        ]
    )
    version = _version_of(ConsumerProtocolAssignment, metadata)
    return _VERSION.pack(version) + encode(assignment, version)


def partition_ids(named: Iterable[tuple[str, Iterable[int]]], topics: Topics) -> list[TopicIdPartition]:
    """Topics and numbers of partitions, as far as the topics exist."""
    return [
        TopicIdPartition(topic.id, number)
        for name, numbers in named
        if (topic := topics.named(name)) is not None
        for number in numbers
    ]


def _read(kind: type[M], data: bytes) -> M:
    try:
        # Each version is the beginning of the next one, so trailing bytes belong to a newer version.
        return decode(kind, data, _version_of(kind, data), _VERSION.size)[0]
    except ProtocolError as problem:
        raise MalformedProtocol(str(problem)) from problem


def _version_of(kind: type[M], data: bytes) -> int:
    """The one that the data names, or the newest that is known."""
    if len(data) < _VERSION.size:
        raise MalformedProtocol(f"{len(data)} bytes are too few for a version")
    version = int(_VERSION.unpack_from(data)[0])
    low, high = kind.SCHEMA.valid
    if version < low:
        raise MalformedProtocol(f"version {version} does not exist")
    return min(version, high)
