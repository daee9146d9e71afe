# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPartitionReassignmentsTopics(Message):
    name: str = ''
    partition_indexes: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partition_indexes", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPartitionReassignmentsRequest(Message):
    timeout_ms: int = 60000
    topics: Sequence[ListPartitionReassignmentsTopics] | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("timeout_ms", "int32", (0, LAST)),
            Field("topics", "[]ListPartitionReassignmentsTopics", (0, LAST), nullable=(0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=46
    )
    STRUCTS: ClassVar[Structs] = {"ListPartitionReassignmentsTopics": ListPartitionReassignmentsTopics}
