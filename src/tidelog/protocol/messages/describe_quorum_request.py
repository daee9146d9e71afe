# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class PartitionData(Message):
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


class TopicData(Message):
    __slots__ = (
        "topic_name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_name", "string", (0, LAST)),
            Field("partitions", "[]PartitionData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionData": PartitionData}

    def __init__(
        self,
        *,
        topic_name: str = '',
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic_name: Final = topic_name
        self.partitions: Final = partitions


class DescribeQuorumRequest(Message):
    __slots__ = (
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]TopicData", (0, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=55
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData}

    def __init__(
        self,
        *,
        topics: Sequence[TopicData] = (),
    ) -> None:
        self.topics: Final = topics
