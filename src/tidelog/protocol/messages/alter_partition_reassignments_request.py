# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignablePartition(Message):
    partition_index: int = 0
    replicas: Sequence[int] | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("replicas", "[]int32", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignableTopic(Message):
    name: str = ''
    partitions: Sequence[ReassignablePartition] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]ReassignablePartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"ReassignablePartition": ReassignablePartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitionReassignmentsRequest(Message):
    timeout_ms: int = 60000
    allow_replication_factor_change: bool = True
    topics: Sequence[ReassignableTopic] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("timeout_ms", "int32", (0, LAST)),
            Field("allow_replication_factor_change", "bool", (1, LAST)),
            Field("topics", "[]ReassignableTopic", (0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=45
    )
    STRUCTS: ClassVar[Structs] = {"ReassignableTopic": ReassignableTopic}
