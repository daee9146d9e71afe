# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignablePartitionResponse(Message):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignableTopicResponse(Message):
    name: str = ''
    partitions: Sequence[ReassignablePartitionResponse] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]ReassignablePartitionResponse", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"ReassignablePartitionResponse": ReassignablePartitionResponse}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitionReassignmentsResponse(Message):
    throttle_time_ms: int = 0
    allow_replication_factor_change: bool = True
    error_code: int = 0
    error_message: str | None = ''
    responses: Sequence[ReassignableTopicResponse] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("allow_replication_factor_change", "bool", (1, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("responses", "[]ReassignableTopicResponse", (0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=45
    )
    STRUCTS: ClassVar[Structs] = {"ReassignableTopicResponse": ReassignableTopicResponse}
