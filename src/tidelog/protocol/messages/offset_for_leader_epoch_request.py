# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderPartition(Message):
    partition: int = 0
    current_leader_epoch: int = -1
    leader_epoch: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition", "int32", (0, LAST)),
            Field("current_leader_epoch", "int32", (2, LAST)),
            Field("leader_epoch", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderTopic(Message):
    topic: str = ''
    partitions: Sequence[OffsetForLeaderPartition] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, LAST)),
            Field("partitions", "[]OffsetForLeaderPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetForLeaderPartition": OffsetForLeaderPartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochRequest(Message):
    replica_id: int = -2
    topics: Sequence[OffsetForLeaderTopic] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("replica_id", "int32", (3, LAST)),
            Field("topics", "[]OffsetForLeaderTopic", (0, LAST)),
        ), valid=(2, 4), flexible=(4, LAST), api_key=23
    )
    STRUCTS: ClassVar[Structs] = {"OffsetForLeaderTopic": OffsetForLeaderTopic}
