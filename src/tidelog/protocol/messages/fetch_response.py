# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.protocol.codec import Buffer
from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEndOffset(Message):
    epoch: int = -1
    end_offset: int = -1
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("epoch", "int32", (12, LAST)),
            Field("end_offset", "int64", (12, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderIdAndEpoch(Message):
    leader_id: int = -1
    leader_epoch: int = -1
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("leader_id", "int32", (12, LAST)),
            Field("leader_epoch", "int32", (12, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotId(Message):
    end_offset: int = -1
    epoch: int = -1
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("end_offset", "int64", (0, LAST)),
            Field("epoch", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortedTransaction(Message):
    producer_id: int = 0
    first_offset: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("producer_id", "int64", (4, LAST)),
            Field("first_offset", "int64", (4, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionData(Message):
    partition_index: int = 0
    error_code: int = 0
    high_watermark: int = 0
    last_stable_offset: int = -1
    log_start_offset: int = -1
    diverging_epoch: EpochEndOffset = field(default_factory=EpochEndOffset)
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)
    snapshot_id: SnapshotId = field(default_factory=SnapshotId)
    aborted_transactions: Sequence[AbortedTransaction] | None = ()
    preferred_read_replica: int = -1
    records: Buffer | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("high_watermark", "int64", (0, LAST)),
            Field("last_stable_offset", "int64", (4, LAST)),
            Field("log_start_offset", "int64", (5, LAST)),
            Field("diverging_epoch", "EpochEndOffset", (12, LAST), tagged=(12, LAST), tag=0),
            Field("current_leader", "LeaderIdAndEpoch", (12, LAST), tagged=(12, LAST), tag=1),
            Field("snapshot_id", "SnapshotId", (12, LAST), tagged=(12, LAST), tag=2),
            Field("aborted_transactions", "[]AbortedTransaction", (4, LAST), nullable=(4, LAST)),
            Field("preferred_read_replica", "int32", (11, LAST)),
            Field("records", "records", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"EpochEndOffset": EpochEndOffset, "LeaderIdAndEpoch": LeaderIdAndEpoch, "SnapshotId": SnapshotId, "AbortedTransaction": AbortedTransaction}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchableTopicResponse(Message):
    topic: str = ''
    topic_id: bytes = b'\0' * 16
    partitions: Sequence[PartitionData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, 12)),
            Field("topic_id", "uuid", (13, LAST)),
            Field("partitions", "[]PartitionData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionData": PartitionData}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEndpoint(Message):
    node_id: int = 0
    host: str = ''
    port: int = 0
    rack: str | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("node_id", "int32", (16, LAST)),
            Field("host", "string", (16, LAST)),
            Field("port", "int32", (16, LAST)),
            Field("rack", "string", (16, LAST), nullable=(16, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    session_id: int = 0
    responses: Sequence[FetchableTopicResponse] = ()
    node_endpoints: Sequence[NodeEndpoint] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (1, LAST)),
            Field("error_code", "int16", (7, LAST)),
            Field("session_id", "int32", (7, LAST)),
            Field("responses", "[]FetchableTopicResponse", (0, LAST)),
            Field("node_endpoints", "[]NodeEndpoint", (16, LAST), tagged=(16, LAST), tag=0, default=()),
        ), valid=(4, 18), flexible=(12, LAST), api_key=1
    )
    STRUCTS: ClassVar[Structs] = {"FetchableTopicResponse": FetchableTopicResponse, "NodeEndpoint": NodeEndpoint}
