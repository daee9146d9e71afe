# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponsePartition(Message):
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
class OffsetDeleteResponseTopic(Message):
    name: str = ''
    partitions: Sequence[OffsetDeleteResponsePartition] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]OffsetDeleteResponsePartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetDeleteResponsePartition": OffsetDeleteResponsePartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponse(Message):
    error_code: int = 0
    throttle_time_ms: int = 0
    topics: Sequence[OffsetDeleteResponseTopic] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("topics", "[]OffsetDeleteResponseTopic", (0, LAST)),
        ), valid=(0, 0), flexible=NEVER, api_key=47
    )
    STRUCTS: ClassVar[Structs] = {"OffsetDeleteResponseTopic": OffsetDeleteResponseTopic}
