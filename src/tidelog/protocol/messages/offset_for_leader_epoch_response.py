# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEndOffset(Message):
    error_code: int = 0
    partition: int = 0
    leader_epoch: int = -1
    end_offset: int = -1
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("partition", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (1, LAST)),
            Field("end_offset", "int64", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderTopicResult(Message):
    topic: str = ''
    partitions: Sequence[EpochEndOffset] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, LAST)),
            Field("partitions", "[]EpochEndOffset", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"EpochEndOffset": EpochEndOffset}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochResponse(Message):
    throttle_time_ms: int = 0
    topics: Sequence[OffsetForLeaderTopicResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (2, LAST)),
            Field("topics", "[]OffsetForLeaderTopicResult", (0, LAST)),
        ), valid=(2, 4), flexible=(4, LAST), api_key=23
    )
    STRUCTS: ClassVar[Structs] = {"OffsetForLeaderTopicResult": OffsetForLeaderTopicResult}
