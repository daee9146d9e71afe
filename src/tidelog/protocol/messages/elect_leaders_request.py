# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class TopicPartitions(Message):
    __slots__ = (
        "topic",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        topic: str = '',
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic: Final = topic
        self.partitions: Final = partitions


class ElectLeadersRequest(Message):
    __slots__ = (
        "election_type",
        "topic_partitions",
        "timeout_ms",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("election_type", "int8", (1, LAST)),
            Field("topic_partitions", "[]TopicPartitions", (0, LAST), nullable=(0, LAST)),
            Field("timeout_ms", "int32", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=43
    )
    STRUCTS: ClassVar[Structs] = {"TopicPartitions": TopicPartitions}

    def __init__(
        self,
        *,
        election_type: int = 0,
        topic_partitions: Sequence[TopicPartitions] | None = (),
        timeout_ms: int = 60000,
    ) -> None:
        self.election_type: Final = election_type
        self.topic_partitions: Final = topic_partitions
        self.timeout_ms: Final = timeout_ms
