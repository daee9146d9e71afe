# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.codec import Buffer
from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class EpochEndOffset(Message):
    __slots__ = (
        "epoch",
        "end_offset",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("epoch", "int32", (12, LAST)),
            Field("end_offset", "int64", (12, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.epoch: Final = epoch
        self.end_offset: Final = end_offset


class LeaderIdAndEpoch(Message):
    __slots__ = (
        "leader_id",
        "leader_epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("leader_id", "int32", (12, LAST)),
            Field("leader_epoch", "int32", (12, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id: Final = leader_id
        self.leader_epoch: Final = leader_epoch


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
        end_offset: int = -1,
        epoch: int = -1,
    ) -> None:
        self.end_offset: Final = end_offset
        self.epoch: Final = epoch


class AbortedTransaction(Message):
    __slots__ = (
        "producer_id",
        "first_offset",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("producer_id", "int64", (4, LAST)),
            Field("first_offset", "int64", (4, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        producer_id: int = 0,
        first_offset: int = 0,
    ) -> None:
        self.producer_id: Final = producer_id
        self.first_offset: Final = first_offset


class PartitionData(Message):
    __slots__ = (
        "partition_index",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "diverging_epoch",
        "current_leader",
        "snapshot_id",
        "aborted_transactions",
        "preferred_read_replica",
        "records",
    )
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

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset = EpochEndOffset(),
        current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch(),
        snapshot_id: SnapshotId = SnapshotId(),
        aborted_transactions: Sequence[AbortedTransaction] | None = (),
        preferred_read_replica: int = -1,
        records: Buffer | None = None,
    ) -> None:
        self.partition_index: Final = partition_index
        self.error_code: Final = error_code
        self.high_watermark: Final = high_watermark
        self.last_stable_offset: Final = last_stable_offset
        self.log_start_offset: Final = log_start_offset
        self.diverging_epoch: Final = diverging_epoch
        self.current_leader: Final = current_leader
        self.snapshot_id: Final = snapshot_id
        self.aborted_transactions: Final = aborted_transactions
        self.preferred_read_replica: Final = preferred_read_replica
        self.records: Final = records


class FetchableTopicResponse(Message):
    __slots__ = (
        "topic",
        "topic_id",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, 12)),
            Field("topic_id", "uuid", (13, LAST)),
            Field("partitions", "[]PartitionData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionData": PartitionData}

    def __init__(
        self,
        *,
        topic: str = '',
        topic_id: bytes = b'\0' * 16,
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic: Final = topic
        self.topic_id: Final = topic_id
        self.partitions: Final = partitions


class NodeEndpoint(Message):
    __slots__ = (
        "node_id",
        "host",
        "port",
        "rack",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("node_id", "int32", (16, LAST)),
            Field("host", "string", (16, LAST)),
            Field("port", "int32", (16, LAST)),
            Field("rack", "string", (16, LAST), nullable=(16, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        node_id: int = 0,
        host: str = '',
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id: Final = node_id
        self.host: Final = host
        self.port: Final = port
        self.rack: Final = rack


class FetchResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "session_id",
        "responses",
        "node_endpoints",
    )
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

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: Sequence[FetchableTopicResponse] = (),
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.session_id: Final = session_id
        self.responses: Final = responses
        self.node_endpoints: Final = node_endpoints
