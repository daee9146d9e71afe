# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitResponsePartition(Message):
    partition_index: int = 0
    error_code: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitResponseTopic(Message):
    name: str = ''
    partitions: Sequence[TxnOffsetCommitResponsePartition] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]TxnOffsetCommitResponsePartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"TxnOffsetCommitResponsePartition": TxnOffsetCommitResponsePartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitResponse(Message):
    throttle_time_ms: int = 0
    topics: Sequence[TxnOffsetCommitResponseTopic] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("topics", "[]TxnOffsetCommitResponseTopic", (0, LAST)),
        ), valid=(0, 5), flexible=(3, LAST), api_key=28
    )
    STRUCTS: ClassVar[Structs] = {"TxnOffsetCommitResponseTopic": TxnOffsetCommitResponseTopic}
