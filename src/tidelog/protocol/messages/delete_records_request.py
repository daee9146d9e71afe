# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DeleteRecordsPartition(Message):
    __slots__ = (
        "partition_index",
        "offset",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("offset", "int64", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        offset: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index
        self.offset: Final = offset


class DeleteRecordsTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]DeleteRecordsPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"DeleteRecordsPartition": DeleteRecordsPartition}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[DeleteRecordsPartition] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class DeleteRecordsRequest(Message):
    __slots__ = (
        "topics",
        "timeout_ms",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]DeleteRecordsTopic", (0, LAST)),
            Field("timeout_ms", "int32", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=21
    )
    STRUCTS: ClassVar[Structs] = {"DeleteRecordsTopic": DeleteRecordsTopic}

    def __init__(
        self,
        *,
        topics: Sequence[DeleteRecordsTopic] = (),
        timeout_ms: int = 0,
    ) -> None:
        self.topics: Final = topics
        self.timeout_ms: Final = timeout_ms
