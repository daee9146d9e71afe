# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponsePartition(Message):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    metadata: str | None = ''
    error_code: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, 7)),
            Field("committed_offset", "int64", (0, 7)),
            Field("committed_leader_epoch", "int32", (5, 7)),
            Field("metadata", "string", (0, 7), nullable=(0, 7)),
            Field("error_code", "int16", (0, 7)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponseTopic(Message):
    name: str = ''
    partitions: Sequence[OffsetFetchResponsePartition] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, 7)),
            Field("partitions", "[]OffsetFetchResponsePartition", (0, 7)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetFetchResponsePartition": OffsetFetchResponsePartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponsePartitions(Message):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    metadata: str | None = ''
    error_code: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (8, LAST)),
            Field("committed_offset", "int64", (8, LAST)),
            Field("committed_leader_epoch", "int32", (8, LAST)),
            Field("metadata", "string", (8, LAST), nullable=(8, LAST)),
            Field("error_code", "int16", (8, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponseTopics(Message):
    name: str = ''
    topic_id: bytes = b'\0' * 16
    partitions: Sequence[OffsetFetchResponsePartitions] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (8, 9)),
            Field("topic_id", "uuid", (10, LAST)),
            Field("partitions", "[]OffsetFetchResponsePartitions", (8, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetFetchResponsePartitions": OffsetFetchResponsePartitions}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponseGroup(Message):
    group_id: str = ''
    topics: Sequence[OffsetFetchResponseTopics] = ()
    error_code: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (8, LAST)),
            Field("topics", "[]OffsetFetchResponseTopics", (8, LAST)),
            Field("error_code", "int16", (8, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetFetchResponseTopics": OffsetFetchResponseTopics}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponse(Message):
    throttle_time_ms: int = 0
    topics: Sequence[OffsetFetchResponseTopic] = ()
    error_code: int = 0
    groups: Sequence[OffsetFetchResponseGroup] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (3, LAST)),
            Field("topics", "[]OffsetFetchResponseTopic", (0, 7)),
            Field("error_code", "int16", (2, 7)),
            Field("groups", "[]OffsetFetchResponseGroup", (8, LAST)),
        ), valid=(1, 10), flexible=(6, LAST), api_key=9
    )
    STRUCTS: ClassVar[Structs] = {"OffsetFetchResponseTopic": OffsetFetchResponseTopic, "OffsetFetchResponseGroup": OffsetFetchResponseGroup}
