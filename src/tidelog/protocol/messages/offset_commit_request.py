# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequestPartition(Message):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("committed_offset", "int64", (0, LAST)),
            Field("committed_leader_epoch", "int32", (6, LAST)),
            Field("committed_metadata", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequestTopic(Message):
    name: str = ''
    topic_id: bytes = b'\0' * 16
    partitions: Sequence[OffsetCommitRequestPartition] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, 9)),
            Field("topic_id", "uuid", (10, LAST)),
            Field("partitions", "[]OffsetCommitRequestPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetCommitRequestPartition": OffsetCommitRequestPartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequest(Message):
    group_id: str = ''
    generation_id_or_member_epoch: int = -1
    member_id: str = ''
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    topics: Sequence[OffsetCommitRequestTopic] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, LAST)),
            Field("generation_id_or_member_epoch", "int32", (1, LAST)),
            Field("member_id", "string", (1, LAST)),
            Field("group_instance_id", "string", (7, LAST), nullable=(7, LAST)),
            Field("retention_time_ms", "int64", (2, 4)),
            Field("topics", "[]OffsetCommitRequestTopic", (0, LAST)),
        ), valid=(2, 10), flexible=(8, LAST), api_key=8
    )
    STRUCTS: ClassVar[Structs] = {"OffsetCommitRequestTopic": OffsetCommitRequestTopic}
