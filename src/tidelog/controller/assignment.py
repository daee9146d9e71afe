"""Turns a choice of replicas, made by placement or by the user, into the records of new partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.controller.decision import Refusal
from tidelog.metadata.image import (
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    ClusterImage,
    PartitionImage,
    TopicImage,
)
from tidelog.metadata.snapshot import partition_record
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.partition_record import PartitionRecord


def check_manual(image: ClusterImage, replicas: Sequence[int], replication_factor: int | None) -> Refusal | None:
    """Why these brokers cannot be the replicas of a partition; None if they can."""
    if not replicas:
        return _refuse("a partition is assigned to no broker")
    unknown = sorted(broker for broker in set(replicas) if broker not in image.brokers)
    if unknown:
        return _refuse(f"broker {unknown[0]} is not registered")
    if len(set(replicas)) != len(replicas):
        return _refuse(f"the assignment {list(replicas)} names a broker more than once")
    if replication_factor is not None and len(replicas) != replication_factor:
        return _refuse(
            f"the assignment {list(replicas)} has {len(replicas)} replicas where the other partitions of the topic "
            f"have {replication_factor}"
        )
    return None


def new_partition_records(
    image: ClusterImage, topic: TopicImage, assigned: Iterable[tuple[int, ...]], *, first: int = 0
) -> list[PartitionRecord] | Refusal:
    """The records of new partitions, numbered from `first`: all live replicas are in sync, the first of them leads."""
    records: list[PartitionRecord] = []
    for number, replicas in enumerate(assigned, start=first):
        isr = tuple(broker for broker in replicas if image.is_active(broker))
        if not isr:
            return _refuse(f"none of the brokers {list(replicas)} of partition {number} is alive")
        directories = tuple(default_directory(image, broker) for broker in replicas)
        partition = PartitionImage(replicas=replicas, isr=isr, leader=isr[0], directories=directories)
        records.append(partition_record(topic, number, partition))
    return records


def default_directory(image: ClusterImage, broker: int) -> Uuid:
    """The directory of a new replica, as far as the controller can know it (KIP-858): a broker with several
    directories chooses one itself and tells.
    """
    registered = image.brokers.get(broker)
    if registered is None or not registered.directories:
        return MIGRATING_DIRECTORY
    return registered.directories[0] if len(registered.directories) == 1 else UNASSIGNED_DIRECTORY


def _refuse(message: str) -> Refusal:
    return Refusal(code=ErrorCode.INVALID_REPLICA_ASSIGNMENT, message=message)
