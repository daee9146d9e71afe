# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class EpochEndOffset(Message):
    __slots__ = (
        "error_code",
        "partition",
        "leader_epoch",
        "end_offset",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("partition", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (1, LAST)),
            Field("end_offset", "int64", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.error_code: Final = error_code
        self.partition: Final = partition
        self.leader_epoch: Final = leader_epoch
        self.end_offset: Final = end_offset


class OffsetForLeaderTopicResult(Message):
    __slots__ = (
        "topic",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, LAST)),
            Field("partitions", "[]EpochEndOffset", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"EpochEndOffset": EpochEndOffset}

    def __init__(
        self,
        *,
        topic: str = '',
        partitions: Sequence[EpochEndOffset] = (),
    ) -> None:
        self.topic: Final = topic
        self.partitions: Final = partitions


class OffsetForLeaderEpochResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (2, LAST)),
            Field("topics", "[]OffsetForLeaderTopicResult", (0, LAST)),
        ), valid=(2, 4), flexible=(4, LAST), api_key=23
    )
    STRUCTS: ClassVar[Structs] = {"OffsetForLeaderTopicResult": OffsetForLeaderTopicResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetForLeaderTopicResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.topics: Final = topics
