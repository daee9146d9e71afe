# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.protocol.codec import Buffer
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
class LeaderIdAndEpoch(Message):
    leader_id: int = 0
    leader_epoch: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("leader_id", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSnapshot(Message):
    index: int = 0
    error_code: int = 0
    snapshot_id: SnapshotId = field(default_factory=SnapshotId)
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)
    size: int = 0
    position: int = 0
    unaligned_records: Buffer | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("snapshot_id", "SnapshotId", (0, LAST)),
            Field("current_leader", "LeaderIdAndEpoch", (0, LAST), tagged=(0, LAST), tag=0),
            Field("size", "int64", (0, LAST)),
            Field("position", "int64", (0, LAST)),
            Field("unaligned_records", "records", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"SnapshotId": SnapshotId, "LeaderIdAndEpoch": LeaderIdAndEpoch}


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
class NodeEndpoint(Message):
    node_id: int = 0
    host: str = ''
    port: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("node_id", "int32", (1, LAST)),
            Field("host", "string", (1, LAST)),
            Field("port", "uint16", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    topics: Sequence[TopicSnapshot] = ()
    node_endpoints: Sequence[NodeEndpoint] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("topics", "[]TopicSnapshot", (0, LAST)),
            Field("node_endpoints", "[]NodeEndpoint", (1, LAST), tagged=(1, LAST), tag=0, default=()),
        ), valid=(0, 1), flexible=(0, LAST), api_key=59
    )
    STRUCTS: ClassVar[Structs] = {"TopicSnapshot": TopicSnapshot, "NodeEndpoint": NodeEndpoint}
