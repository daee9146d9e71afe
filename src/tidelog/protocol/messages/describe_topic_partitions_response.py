# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopicPartitionsResponsePartition(Message):
    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: Sequence[int] = ()
    isr_nodes: Sequence[int] = ()
    eligible_leader_replicas: Sequence[int] | None = None
    last_known_elr: Sequence[int] | None = None
    offline_replicas: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("partition_index", "int32", (0, LAST)),
            Field("leader_id", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (0, LAST)),
            Field("replica_nodes", "[]int32", (0, LAST)),
            Field("isr_nodes", "[]int32", (0, LAST)),
            Field("eligible_leader_replicas", "[]int32", (0, LAST), nullable=(0, LAST)),
            Field("last_known_elr", "[]int32", (0, LAST), nullable=(0, LAST)),
            Field("offline_replicas", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopicPartitionsResponseTopic(Message):
    error_code: int = 0
    name: str | None = ''
    topic_id: bytes = b'\0' * 16
    is_internal: bool = False
    partitions: Sequence[DescribeTopicPartitionsResponsePartition] = ()
    topic_authorized_operations: int = -2147483648
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("name", "string", (0, LAST), nullable=(0, LAST)),
            Field("topic_id", "uuid", (0, LAST)),
            Field("is_internal", "bool", (0, LAST)),
            Field("partitions", "[]DescribeTopicPartitionsResponsePartition", (0, LAST)),
            Field("topic_authorized_operations", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"DescribeTopicPartitionsResponsePartition": DescribeTopicPartitionsResponsePartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor(Message):
    topic_name: str = ''
    partition_index: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_name", "string", (0, LAST)),
            Field("partition_index", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopicPartitionsResponse(Message):
    throttle_time_ms: int = 0
    topics: Sequence[DescribeTopicPartitionsResponseTopic] = ()
    next_cursor: Cursor | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("topics", "[]DescribeTopicPartitionsResponseTopic", (0, LAST)),
            Field("next_cursor", "Cursor", (0, LAST), nullable=(0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=75
    )
    STRUCTS: ClassVar[Structs] = {"DescribeTopicPartitionsResponseTopic": DescribeTopicPartitionsResponseTopic, "Cursor": Cursor}
