# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterReplicaLogDirPartitionResult(Message):
    partition_index: int = 0
    error_code: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterReplicaLogDirTopicResult(Message):
    topic_name: str = ''
    partitions: Sequence[AlterReplicaLogDirPartitionResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_name", "string", (0, LAST)),
            Field("partitions", "[]AlterReplicaLogDirPartitionResult", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"AlterReplicaLogDirPartitionResult": AlterReplicaLogDirPartitionResult}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterReplicaLogDirsResponse(Message):
    throttle_time_ms: int = 0
    results: Sequence[AlterReplicaLogDirTopicResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("results", "[]AlterReplicaLogDirTopicResult", (0, LAST)),
        ), valid=(1, 2), flexible=(2, LAST), api_key=34
    )
    STRUCTS: ClassVar[Structs] = {"AlterReplicaLogDirTopicResult": AlterReplicaLogDirTopicResult}
