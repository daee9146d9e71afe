# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class OngoingPartitionReassignment(Message):
    partition_index: int = 0
    replicas: Sequence[int] = ()
    adding_replicas: Sequence[int] = ()
    removing_replicas: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("replicas", "[]int32", (0, LAST)),
            Field("adding_replicas", "[]int32", (0, LAST)),
            Field("removing_replicas", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OngoingTopicReassignment(Message):
    name: str = ''
    partitions: Sequence[OngoingPartitionReassignment] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]OngoingPartitionReassignment", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OngoingPartitionReassignment": OngoingPartitionReassignment}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPartitionReassignmentsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ''
    topics: Sequence[OngoingTopicReassignment] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("topics", "[]OngoingTopicReassignment", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=46
    )
    STRUCTS: ClassVar[Structs] = {"OngoingTopicReassignment": OngoingTopicReassignment}
