# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsPartition(Message):
    partition_index: int = 0
    current_leader_epoch: int = -1
    timestamp: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("current_leader_epoch", "int32", (4, LAST)),
            Field("timestamp", "int64", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsTopic(Message):
    name: str = ''
    partitions: Sequence[ListOffsetsPartition] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]ListOffsetsPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"ListOffsetsPartition": ListOffsetsPartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsRequest(Message):
    replica_id: int = 0
    isolation_level: int = 0
    topics: Sequence[ListOffsetsTopic] = ()
    timeout_ms: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("replica_id", "int32", (0, LAST)),
            Field("isolation_level", "int8", (2, LAST)),
            Field("topics", "[]ListOffsetsTopic", (0, LAST)),
            Field("timeout_ms", "int32", (10, LAST)),
        ), valid=(1, 11), flexible=(6, LAST), api_key=2
    )
    STRUCTS: ClassVar[Structs] = {"ListOffsetsTopic": ListOffsetsTopic}
