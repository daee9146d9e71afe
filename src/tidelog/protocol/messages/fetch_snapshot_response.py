# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.codec import Buffer
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


class LeaderIdAndEpoch(Message):
    __slots__ = (
        "leader_id",
        "leader_epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("leader_id", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.leader_id: Final = leader_id
        self.leader_epoch: Final = leader_epoch


class PartitionSnapshot(Message):
    __slots__ = (
        "index",
        "error_code",
        "snapshot_id",
        "current_leader",
        "size",
        "position",
        "unaligned_records",
    )
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

    def __init__(
        self,
        *,
        index: int = 0,
        error_code: int = 0,
        snapshot_id: SnapshotId = SnapshotId(),
        current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch(),
        size: int = 0,
        position: int = 0,
        unaligned_records: Buffer | None = None,
    ) -> None:
        self.index: Final = index
        self.error_code: Final = error_code
        self.snapshot_id: Final = snapshot_id
        self.current_leader: Final = current_leader
        self.size: Final = size
        self.position: Final = position
        self.unaligned_records: Final = unaligned_records


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


class NodeEndpoint(Message):
    __slots__ = (
        "node_id",
        "host",
        "port",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("node_id", "int32", (1, LAST)),
            Field("host", "string", (1, LAST)),
            Field("port", "uint16", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        node_id: int = 0,
        host: str = '',
        port: int = 0,
    ) -> None:
        self.node_id: Final = node_id
        self.host: Final = host
        self.port: Final = port


class FetchSnapshotResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "topics",
        "node_endpoints",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("topics", "[]TopicSnapshot", (0, LAST)),
            Field("node_endpoints", "[]NodeEndpoint", (1, LAST), tagged=(1, LAST), tag=0, default=()),
        ), valid=(0, 1), flexible=(0, LAST), api_key=59
    )
    STRUCTS: ClassVar[Structs] = {"TopicSnapshot": TopicSnapshot, "NodeEndpoint": NodeEndpoint}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: Sequence[TopicSnapshot] = (),
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.topics: Final = topics
        self.node_endpoints: Final = node_endpoints
