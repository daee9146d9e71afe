# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class CreatePartitionsAssignment(Message):
    __slots__ = (
        "broker_ids",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("broker_ids", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        broker_ids: Sequence[int] = (),
    ) -> None:
        self.broker_ids: Final = broker_ids


class CreatePartitionsTopic(Message):
    __slots__ = (
        "name",
        "count",
        "assignments",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("count", "int32", (0, LAST)),
            Field("assignments", "[]CreatePartitionsAssignment", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"CreatePartitionsAssignment": CreatePartitionsAssignment}

    def __init__(
        self,
        *,
        name: str = '',
        count: int = 0,
        assignments: Sequence[CreatePartitionsAssignment] | None = (),
    ) -> None:
        self.name: Final = name
        self.count: Final = count
        self.assignments: Final = assignments


class CreatePartitionsRequest(Message):
    __slots__ = (
        "topics",
        "timeout_ms",
        "validate_only",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]CreatePartitionsTopic", (0, LAST)),
            Field("timeout_ms", "int32", (0, LAST)),
            Field("validate_only", "bool", (0, LAST)),
        ), valid=(0, 3), flexible=(2, LAST), api_key=37
    )
    STRUCTS: ClassVar[Structs] = {"CreatePartitionsTopic": CreatePartitionsTopic}

    def __init__(
        self,
        *,
        topics: Sequence[CreatePartitionsTopic] = (),
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> None:
        self.topics: Final = topics
        self.timeout_ms: Final = timeout_ms
        self.validate_only: Final = validate_only
