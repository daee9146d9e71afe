# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class TxnOffsetCommitResponsePartition(Message):
    __slots__ = (
        "partition_index",
        "error_code",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index
        self.error_code: Final = error_code


class TxnOffsetCommitResponseTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]TxnOffsetCommitResponsePartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"TxnOffsetCommitResponsePartition": TxnOffsetCommitResponsePartition}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[TxnOffsetCommitResponsePartition] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class TxnOffsetCommitResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("topics", "[]TxnOffsetCommitResponseTopic", (0, LAST)),
        ), valid=(0, 5), flexible=(3, LAST), api_key=28
    )
    STRUCTS: ClassVar[Structs] = {"TxnOffsetCommitResponseTopic": TxnOffsetCommitResponseTopic}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[TxnOffsetCommitResponseTopic] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.topics: Final = topics
