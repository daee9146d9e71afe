# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchIndexAndErrorMessage(Message):
    batch_index: int = 0
    batch_index_error_message: str | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("batch_index", "int32", (8, LAST)),
            Field("batch_index_error_message", "string", (8, LAST), nullable=(8, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderIdAndEpoch(Message):
    leader_id: int = -1
    leader_epoch: int = -1
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("leader_id", "int32", (10, LAST)),
            Field("leader_epoch", "int32", (10, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionProduceResponse(Message):
    index: int = 0
    error_code: int = 0
    base_offset: int = 0
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: Sequence[BatchIndexAndErrorMessage] = ()
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("base_offset", "int64", (0, LAST)),
            Field("log_append_time_ms", "int64", (2, LAST)),
            Field("log_start_offset", "int64", (5, LAST)),
            Field("record_errors", "[]BatchIndexAndErrorMessage", (8, LAST)),
            Field("error_message", "string", (8, LAST), nullable=(8, LAST)),
            Field("current_leader", "LeaderIdAndEpoch", (10, LAST), tagged=(10, LAST), tag=0),
        )
    )
    STRUCTS: ClassVar[Structs] = {"BatchIndexAndErrorMessage": BatchIndexAndErrorMessage, "LeaderIdAndEpoch": LeaderIdAndEpoch}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicProduceResponse(Message):
    name: str = ''
    topic_id: bytes = b'\0' * 16
    partition_responses: Sequence[PartitionProduceResponse] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, 12)),
            Field("topic_id", "uuid", (13, LAST)),
            Field("partition_responses", "[]PartitionProduceResponse", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionProduceResponse": PartitionProduceResponse}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEndpoint(Message):
    node_id: int = 0
    host: str = ''
    port: int = 0
    rack: str | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("node_id", "int32", (10, LAST)),
            Field("host", "string", (10, LAST)),
            Field("port", "int32", (10, LAST)),
            Field("rack", "string", (10, LAST), nullable=(10, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceResponse(Message):
    responses: Sequence[TopicProduceResponse] = ()
    throttle_time_ms: int = 0
    node_endpoints: Sequence[NodeEndpoint] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("responses", "[]TopicProduceResponse", (0, LAST)),
            Field("throttle_time_ms", "int32", (1, LAST)),
            Field("node_endpoints", "[]NodeEndpoint", (10, LAST), tagged=(10, LAST), tag=0, default=()),
        ), valid=(3, 13), flexible=(9, LAST), api_key=0
    )
    STRUCTS: ClassVar[Structs] = {"TopicProduceResponse": TopicProduceResponse, "NodeEndpoint": NodeEndpoint}
