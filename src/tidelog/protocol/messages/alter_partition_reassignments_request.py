# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ReassignablePartition(Message):
    __slots__ = (
        "partition_index",
        "replicas",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("replicas", "[]int32", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replicas: Sequence[int] | None = None,
    ) -> None:
        self.partition_index: Final = partition_index
        self.replicas: Final = replicas


class ReassignableTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]ReassignablePartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"ReassignablePartition": ReassignablePartition}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[ReassignablePartition] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class AlterPartitionReassignmentsRequest(Message):
    __slots__ = (
        "timeout_ms",
        "allow_replication_factor_change",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("timeout_ms", "int32", (0, LAST)),
            Field("allow_replication_factor_change", "bool", (1, LAST)),
            Field("topics", "[]ReassignableTopic", (0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=45
    )
    STRUCTS: ClassVar[Structs] = {"ReassignableTopic": ReassignableTopic}

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: Sequence[ReassignableTopic] = (),
    ) -> None:
        self.timeout_ms: Final = timeout_ms
        self.allow_replication_factor_change: Final = allow_replication_factor_change
        self.topics: Final = topics
