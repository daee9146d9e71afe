# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class BatchIndexAndErrorMessage(Message):
    __slots__ = (
        "batch_index",
        "batch_index_error_message",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("batch_index", "int32", (8, LAST)),
            Field("batch_index_error_message", "string", (8, LAST), nullable=(8, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
    ) -> None:
        self.batch_index: Final = batch_index
        self.batch_index_error_message: Final = batch_index_error_message


class LeaderIdAndEpoch(Message):
    __slots__ = (
        "leader_id",
        "leader_epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("leader_id", "int32", (10, LAST)),
            Field("leader_epoch", "int32", (10, LAST)),
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


class PartitionProduceResponse(Message):
    __slots__ = (
        "index",
        "error_code",
        "base_offset",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
        "error_message",
        "current_leader",
    )
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

    def __init__(
        self,
        *,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: Sequence[BatchIndexAndErrorMessage] = (),
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch(),
    ) -> None:
        self.index: Final = index
        self.error_code: Final = error_code
        self.base_offset: Final = base_offset
        self.log_append_time_ms: Final = log_append_time_ms
        self.log_start_offset: Final = log_start_offset
        self.record_errors: Final = record_errors
        self.error_message: Final = error_message
        self.current_leader: Final = current_leader


class TopicProduceResponse(Message):
    __slots__ = (
        "name",
        "topic_id",
        "partition_responses",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, 12)),
            Field("topic_id", "uuid", (13, LAST)),
            Field("partition_responses", "[]PartitionProduceResponse", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionProduceResponse": PartitionProduceResponse}

    def __init__(
        self,
        *,
        name: str = '',
        topic_id: bytes = b'\0' * 16,
        partition_responses: Sequence[PartitionProduceResponse] = (),
    ) -> None:
        self.name: Final = name
        self.topic_id: Final = topic_id
        self.partition_responses: Final = partition_responses


class NodeEndpoint(Message):
    __slots__ = (
        "node_id",
        "host",
        "port",
        "rack",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("node_id", "int32", (10, LAST)),
            Field("host", "string", (10, LAST)),
            Field("port", "int32", (10, LAST)),
            Field("rack", "string", (10, LAST), nullable=(10, LAST)),
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


class ProduceResponse(Message):
    __slots__ = (
        "responses",
        "throttle_time_ms",
        "node_endpoints",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("responses", "[]TopicProduceResponse", (0, LAST)),
            Field("throttle_time_ms", "int32", (1, LAST)),
            Field("node_endpoints", "[]NodeEndpoint", (10, LAST), tagged=(10, LAST), tag=0, default=()),
        ), valid=(3, 13), flexible=(9, LAST), api_key=0
    )
    STRUCTS: ClassVar[Structs] = {"TopicProduceResponse": TopicProduceResponse, "NodeEndpoint": NodeEndpoint}

    def __init__(
        self,
        *,
        responses: Sequence[TopicProduceResponse] = (),
        throttle_time_ms: int = 0,
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> None:
        self.responses: Final = responses
        self.throttle_time_ms: Final = throttle_time_ms
        self.node_endpoints: Final = node_endpoints
