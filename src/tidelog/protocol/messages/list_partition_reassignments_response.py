# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class OngoingPartitionReassignment(Message):
    __slots__ = (
        "partition_index",
        "replicas",
        "adding_replicas",
        "removing_replicas",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("replicas", "[]int32", (0, LAST)),
            Field("adding_replicas", "[]int32", (0, LAST)),
            Field("removing_replicas", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replicas: Sequence[int] = (),
        adding_replicas: Sequence[int] = (),
        removing_replicas: Sequence[int] = (),
    ) -> None:
        self.partition_index: Final = partition_index
        self.replicas: Final = replicas
        self.adding_replicas: Final = adding_replicas
        self.removing_replicas: Final = removing_replicas


class OngoingTopicReassignment(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]OngoingPartitionReassignment", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OngoingPartitionReassignment": OngoingPartitionReassignment}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[OngoingPartitionReassignment] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class ListPartitionReassignmentsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("topics", "[]OngoingTopicReassignment", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=46
    )
    STRUCTS: ClassVar[Structs] = {"OngoingTopicReassignment": OngoingTopicReassignment}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = '',
        topics: Sequence[OngoingTopicReassignment] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.topics: Final = topics
