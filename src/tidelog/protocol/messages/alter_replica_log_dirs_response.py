# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class AlterReplicaLogDirPartitionResult(Message):
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


class AlterReplicaLogDirTopicResult(Message):
    __slots__ = (
        "topic_name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_name", "string", (0, LAST)),
            Field("partitions", "[]AlterReplicaLogDirPartitionResult", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"AlterReplicaLogDirPartitionResult": AlterReplicaLogDirPartitionResult}

    def __init__(
        self,
        *,
        topic_name: str = '',
        partitions: Sequence[AlterReplicaLogDirPartitionResult] = (),
    ) -> None:
        self.topic_name: Final = topic_name
        self.partitions: Final = partitions


class AlterReplicaLogDirsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "results",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("results", "[]AlterReplicaLogDirTopicResult", (0, LAST)),
        ), valid=(1, 2), flexible=(2, LAST), api_key=34
    )
    STRUCTS: ClassVar[Structs] = {"AlterReplicaLogDirTopicResult": AlterReplicaLogDirTopicResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[AlterReplicaLogDirTopicResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.results: Final = results
