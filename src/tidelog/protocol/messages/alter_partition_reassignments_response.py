# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ReassignablePartitionResponse(Message):
    __slots__ = (
        "partition_index",
        "error_code",
        "error_message",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = '',
    ) -> None:
        self.partition_index: Final = partition_index
        self.error_code: Final = error_code
        self.error_message: Final = error_message


class ReassignableTopicResponse(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]ReassignablePartitionResponse", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"ReassignablePartitionResponse": ReassignablePartitionResponse}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[ReassignablePartitionResponse] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class AlterPartitionReassignmentsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "allow_replication_factor_change",
        "error_code",
        "error_message",
        "responses",
    )
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

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = '',
        responses: Sequence[ReassignableTopicResponse] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.allow_replication_factor_change: Final = allow_replication_factor_change
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.responses: Final = responses
