# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.codec import Buffer
from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class PartitionProduceData(Message):
    __slots__ = (
        "index",
        "records",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("index", "int32", (0, LAST)),
            Field("records", "records", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        index: int = 0,
        records: Buffer | None = None,
    ) -> None:
        self.index: Final = index
        self.records: Final = records


class TopicProduceData(Message):
    __slots__ = (
        "name",
        "topic_id",
        "partition_data",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, 12)),
            Field("topic_id", "uuid", (13, LAST)),
            Field("partition_data", "[]PartitionProduceData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionProduceData": PartitionProduceData}

    def __init__(
        self,
        *,
        name: str = '',
        topic_id: bytes = b'\0' * 16,
        partition_data: Sequence[PartitionProduceData] = (),
    ) -> None:
        self.name: Final = name
        self.topic_id: Final = topic_id
        self.partition_data: Final = partition_data


class ProduceRequest(Message):
    __slots__ = (
        "transactional_id",
        "acks",
        "timeout_ms",
        "topic_data",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactional_id", "string", (3, LAST), nullable=(3, LAST)),
            Field("acks", "int16", (0, LAST)),
            Field("timeout_ms", "int32", (0, LAST)),
            Field("topic_data", "[]TopicProduceData", (0, LAST)),
        ), valid=(3, 13), flexible=(9, LAST), api_key=0
    )
    STRUCTS: ClassVar[Structs] = {"TopicProduceData": TopicProduceData}

    def __init__(
        self,
        *,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: Sequence[TopicProduceData] = (),
    ) -> None:
        self.transactional_id: Final = transactional_id
        self.acks: Final = acks
        self.timeout_ms: Final = timeout_ms
        self.topic_data: Final = topic_data
