# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


class OffsetDeleteRequestPartition(Message):
    __slots__ = (
        "partition_index",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index


class OffsetDeleteRequestTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]OffsetDeleteRequestPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetDeleteRequestPartition": OffsetDeleteRequestPartition}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[OffsetDeleteRequestPartition] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class OffsetDeleteRequest(Message):
    __slots__ = (
        "group_id",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, LAST)),
            Field("topics", "[]OffsetDeleteRequestTopic", (0, LAST)),
        ), valid=(0, 0), flexible=NEVER, api_key=47
    )
    STRUCTS: ClassVar[Structs] = {"OffsetDeleteRequestTopic": OffsetDeleteRequestTopic}

    def __init__(
        self,
        *,
        group_id: str = '',
        topics: Sequence[OffsetDeleteRequestTopic] = (),
    ) -> None:
        self.group_id: Final = group_id
        self.topics: Final = topics
