# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteRequestPartition(Message):
    partition_index: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteRequestTopic(Message):
    name: str = ''
    partitions: Sequence[OffsetDeleteRequestPartition] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]OffsetDeleteRequestPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetDeleteRequestPartition": OffsetDeleteRequestPartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteRequest(Message):
    group_id: str = ''
    topics: Sequence[OffsetDeleteRequestTopic] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, LAST)),
            Field("topics", "[]OffsetDeleteRequestTopic", (0, LAST)),
        ), valid=(0, 0), flexible=NEVER, api_key=47
    )
    STRUCTS: ClassVar[Structs] = {"OffsetDeleteRequestTopic": OffsetDeleteRequestTopic}
