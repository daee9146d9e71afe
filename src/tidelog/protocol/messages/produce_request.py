# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.codec import Buffer
from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionProduceData(Message):
    index: int = 0
    records: Buffer | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("index", "int32", (0, LAST)),
            Field("records", "records", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicProduceData(Message):
    name: str = ''
    topic_id: bytes = b'\0' * 16
    partition_data: Sequence[PartitionProduceData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, 12)),
            Field("topic_id", "uuid", (13, LAST)),
            Field("partition_data", "[]PartitionProduceData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionProduceData": PartitionProduceData}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceRequest(Message):
    transactional_id: str | None = None
    acks: int = 0
    timeout_ms: int = 0
    topic_data: Sequence[TopicProduceData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactional_id", "string", (3, LAST), nullable=(3, LAST)),
            Field("acks", "int16", (0, LAST)),
            Field("timeout_ms", "int32", (0, LAST)),
            Field("topic_data", "[]TopicProduceData", (0, LAST)),
        ), valid=(3, 13), flexible=(9, LAST), api_key=0
    )
    STRUCTS: ClassVar[Structs] = {"TopicProduceData": TopicProduceData}
