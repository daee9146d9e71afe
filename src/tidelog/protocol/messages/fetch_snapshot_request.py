# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class SnapshotId(Message):
    __slots__ = (
        "end_offset",
        "epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("end_offset", "int64", (0, LAST)),
            Field("epoch", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        end_offset: int = 0,
        epoch: int = 0,
    ) -> None:
        self.end_offset: Final = end_offset
        self.epoch: Final = epoch


class PartitionSnapshot(Message):
    __slots__ = (
        "partition",
        "current_leader_epoch",
        "snapshot_id",
        "position",
        "replica_directory_id",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition", "int32", (0, LAST)),
            Field("current_leader_epoch", "int32", (0, LAST)),
            Field("snapshot_id", "SnapshotId", (0, LAST)),
            Field("position", "int64", (0, LAST)),
            Field("replica_directory_id", "uuid", (1, LAST), tagged=(1, LAST), tag=0, default=b'\0' * 16),
        )
    )
    STRUCTS: ClassVar[Structs] = {"SnapshotId": SnapshotId}

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = 0,
        snapshot_id: SnapshotId = SnapshotId(),
        position: int = 0,
        replica_directory_id: bytes = b'\0' * 16,
    ) -> None:
        self.partition: Final = partition
        self.current_leader_epoch: Final = current_leader_epoch
        self.snapshot_id: Final = snapshot_id
        self.position: Final = position
        self.replica_directory_id: Final = replica_directory_id


class TopicSnapshot(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]PartitionSnapshot", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionSnapshot": PartitionSnapshot}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[PartitionSnapshot] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class FetchSnapshotRequest(Message):
    __slots__ = (
        "cluster_id",
        "replica_id",
        "max_bytes",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("cluster_id", "string", (0, LAST), nullable=(0, LAST), tagged=(0, LAST), tag=0),
            Field("replica_id", "int32", (0, LAST)),
            Field("max_bytes", "int32", (0, LAST)),
            Field("topics", "[]TopicSnapshot", (0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=59
    )
    STRUCTS: ClassVar[Structs] = {"TopicSnapshot": TopicSnapshot}

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        replica_id: int = -1,
        max_bytes: int = 2147483647,
        topics: Sequence[TopicSnapshot] = (),
    ) -> None:
        self.cluster_id: Final = cluster_id
        self.replica_id: Final = replica_id
        self.max_bytes: Final = max_bytes
        self.topics: Final = topics
