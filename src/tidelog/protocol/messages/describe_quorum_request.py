# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionData(Message):
    partition_index: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicData(Message):
    topic_name: str = ''
    partitions: Sequence[PartitionData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_name", "string", (0, LAST)),
            Field("partitions", "[]PartitionData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionData": PartitionData}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuorumRequest(Message):
    topics: Sequence[TopicData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]TopicData", (0, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=55
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData}
