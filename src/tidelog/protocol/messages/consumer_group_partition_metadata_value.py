# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata(Message):
    partition: int = 0
    racks: Sequence[str] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition", "int32", (0, LAST)),
            Field("racks", "[]string", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMetadata(Message):
    topic_id: bytes = b'\0' * 16
    topic_name: str = ''
    num_partitions: int = 0
    partition_metadata: Sequence[PartitionMetadata] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (0, LAST)),
            Field("topic_name", "string", (0, LAST)),
            Field("num_partitions", "int32", (0, LAST)),
            Field("partition_metadata", "[]PartitionMetadata", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionMetadata": PartitionMetadata}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupPartitionMetadataValue(Message):
    topics: Sequence[TopicMetadata] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]TopicMetadata", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=4
    )
    STRUCTS: ClassVar[Structs] = {"TopicMetadata": TopicMetadata}
