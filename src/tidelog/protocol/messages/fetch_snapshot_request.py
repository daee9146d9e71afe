# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotId(Message):
    end_offset: int = 0
    epoch: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("end_offset", "int64", (0, LAST)),
            Field("epoch", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSnapshot(Message):
    partition: int = 0
    current_leader_epoch: int = 0
    snapshot_id: SnapshotId = field(default_factory=SnapshotId)
    position: int = 0
    replica_directory_id: bytes = b'\0' * 16
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSnapshot(Message):
    name: str = ''
    partitions: Sequence[PartitionSnapshot] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]PartitionSnapshot", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionSnapshot": PartitionSnapshot}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotRequest(Message):
    cluster_id: str | None = None
    replica_id: int = -1
    max_bytes: int = 2147483647
    topics: Sequence[TopicSnapshot] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("cluster_id", "string", (0, LAST), nullable=(0, LAST), tagged=(0, LAST), tag=0),
            Field("replica_id", "int32", (0, LAST)),
            Field("max_bytes", "int32", (0, LAST)),
            Field("topics", "[]TopicSnapshot", (0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=59
    )
    STRUCTS: ClassVar[Structs] = {"TopicSnapshot": TopicSnapshot}
