# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsPartition(Message):
    partition_index: int = 0
    offset: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("offset", "int64", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsTopic(Message):
    name: str = ''
    partitions: Sequence[DeleteRecordsPartition] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]DeleteRecordsPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"DeleteRecordsPartition": DeleteRecordsPartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsRequest(Message):
    topics: Sequence[DeleteRecordsTopic] = ()
    timeout_ms: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]DeleteRecordsTopic", (0, LAST)),
            Field("timeout_ms", "int32", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=21
    )
    STRUCTS: ClassVar[Structs] = {"DeleteRecordsTopic": DeleteRecordsTopic}
