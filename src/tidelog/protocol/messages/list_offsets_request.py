# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ListOffsetsPartition(Message):
    __slots__ = (
        "partition_index",
        "current_leader_epoch",
        "timestamp",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("current_leader_epoch", "int32", (4, LAST)),
            Field("timestamp", "int64", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index
        self.current_leader_epoch: Final = current_leader_epoch
        self.timestamp: Final = timestamp


class ListOffsetsTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]ListOffsetsPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"ListOffsetsPartition": ListOffsetsPartition}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[ListOffsetsPartition] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class ListOffsetsRequest(Message):
    __slots__ = (
        "replica_id",
        "isolation_level",
        "topics",
        "timeout_ms",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("replica_id", "int32", (0, LAST)),
            Field("isolation_level", "int8", (2, LAST)),
            Field("topics", "[]ListOffsetsTopic", (0, LAST)),
            Field("timeout_ms", "int32", (10, LAST)),
        ), valid=(1, 11), flexible=(6, LAST), api_key=2
    )
    STRUCTS: ClassVar[Structs] = {"ListOffsetsTopic": ListOffsetsTopic}

    def __init__(
        self,
        *,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: Sequence[ListOffsetsTopic] = (),
        timeout_ms: int = 0,
    ) -> None:
        self.replica_id: Final = replica_id
        self.isolation_level: Final = isolation_level
        self.topics: Final = topics
        self.timeout_ms: Final = timeout_ms
