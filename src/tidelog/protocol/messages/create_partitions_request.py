# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePartitionsAssignment(Message):
    broker_ids: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("broker_ids", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePartitionsTopic(Message):
    name: str = ''
    count: int = 0
    assignments: Sequence[CreatePartitionsAssignment] | None = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("count", "int32", (0, LAST)),
            Field("assignments", "[]CreatePartitionsAssignment", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"CreatePartitionsAssignment": CreatePartitionsAssignment}


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePartitionsRequest(Message):
    topics: Sequence[CreatePartitionsTopic] = ()
    timeout_ms: int = 0
    validate_only: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]CreatePartitionsTopic", (0, LAST)),
            Field("timeout_ms", "int32", (0, LAST)),
            Field("validate_only", "bool", (0, LAST)),
        ), valid=(0, 3), flexible=(2, LAST), api_key=37
    )
    STRUCTS: ClassVar[Structs] = {"CreatePartitionsTopic": CreatePartitionsTopic}
