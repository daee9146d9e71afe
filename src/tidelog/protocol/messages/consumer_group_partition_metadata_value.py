# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class PartitionMetadata(Message):
    __slots__ = (
        "partition",
        "racks",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition", "int32", (0, LAST)),
            Field("racks", "[]string", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition: int = 0,
        racks: Sequence[str] = (),
    ) -> None:
        self.partition: Final = partition
        self.racks: Final = racks


class TopicMetadata(Message):
    __slots__ = (
        "topic_id",
        "topic_name",
        "num_partitions",
        "partition_metadata",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (0, LAST)),
            Field("topic_name", "string", (0, LAST)),
            Field("num_partitions", "int32", (0, LAST)),
            Field("partition_metadata", "[]PartitionMetadata", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionMetadata": PartitionMetadata}

    def __init__(
        self,
        *,
        topic_id: bytes = b'\0' * 16,
        topic_name: str = '',
        num_partitions: int = 0,
        partition_metadata: Sequence[PartitionMetadata] = (),
    ) -> None:
        self.topic_id: Final = topic_id
        self.topic_name: Final = topic_name
        self.num_partitions: Final = num_partitions
        self.partition_metadata: Final = partition_metadata


class ConsumerGroupPartitionMetadataValue(Message):
    __slots__ = (
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]TopicMetadata", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=4
    )
    STRUCTS: ClassVar[Structs] = {"TopicMetadata": TopicMetadata}

    def __init__(
        self,
        *,
        topics: Sequence[TopicMetadata] = (),
    ) -> None:
        self.topics: Final = topics
