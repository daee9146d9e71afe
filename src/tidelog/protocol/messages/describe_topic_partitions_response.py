# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DescribeTopicPartitionsResponsePartition(Message):
    __slots__ = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "eligible_leader_replicas",
        "last_known_elr",
        "offline_replicas",
    )
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

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: Sequence[int] = (),
        isr_nodes: Sequence[int] = (),
        eligible_leader_replicas: Sequence[int] | None = None,
        last_known_elr: Sequence[int] | None = None,
        offline_replicas: Sequence[int] = (),
    ) -> None:
        self.error_code: Final = error_code
        self.partition_index: Final = partition_index
        self.leader_id: Final = leader_id
        self.leader_epoch: Final = leader_epoch
        self.replica_nodes: Final = replica_nodes
        self.isr_nodes: Final = isr_nodes
        self.eligible_leader_replicas: Final = eligible_leader_replicas
        self.last_known_elr: Final = last_known_elr
        self.offline_replicas: Final = offline_replicas


class DescribeTopicPartitionsResponseTopic(Message):
    __slots__ = (
        "error_code",
        "name",
        "topic_id",
        "is_internal",
        "partitions",
        "topic_authorized_operations",
    )
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

    def __init__(
        self,
        *,
        error_code: int = 0,
        name: str | None = '',
        topic_id: bytes = b'\0' * 16,
        is_internal: bool = False,
        partitions: Sequence[DescribeTopicPartitionsResponsePartition] = (),
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code: Final = error_code
        self.name: Final = name
        self.topic_id: Final = topic_id
        self.is_internal: Final = is_internal
        self.partitions: Final = partitions
        self.topic_authorized_operations: Final = topic_authorized_operations


class Cursor(Message):
    __slots__ = (
        "topic_name",
        "partition_index",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_name", "string", (0, LAST)),
            Field("partition_index", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        topic_name: str = '',
        partition_index: int = 0,
    ) -> None:
        self.topic_name: Final = topic_name
        self.partition_index: Final = partition_index


class DescribeTopicPartitionsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
        "next_cursor",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("topics", "[]DescribeTopicPartitionsResponseTopic", (0, LAST)),
            Field("next_cursor", "Cursor", (0, LAST), nullable=(0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=75
    )
    STRUCTS: ClassVar[Structs] = {"DescribeTopicPartitionsResponseTopic": DescribeTopicPartitionsResponseTopic, "Cursor": Cursor}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[DescribeTopicPartitionsResponseTopic] = (),
        next_cursor: Cursor | None = None,
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.topics: Final = topics
        self.next_cursor: Final = next_cursor
