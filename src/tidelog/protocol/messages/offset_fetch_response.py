# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class OffsetFetchResponsePartition(Message):
    __slots__ = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "metadata",
        "error_code",
    )
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

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = '',
        error_code: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index
        self.committed_offset: Final = committed_offset
        self.committed_leader_epoch: Final = committed_leader_epoch
        self.metadata: Final = metadata
        self.error_code: Final = error_code


class OffsetFetchResponseTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, 7)),
            Field("partitions", "[]OffsetFetchResponsePartition", (0, 7)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetFetchResponsePartition": OffsetFetchResponsePartition}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[OffsetFetchResponsePartition] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class OffsetFetchResponsePartitions(Message):
    __slots__ = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "metadata",
        "error_code",
    )
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

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = '',
        error_code: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index
        self.committed_offset: Final = committed_offset
        self.committed_leader_epoch: Final = committed_leader_epoch
        self.metadata: Final = metadata
        self.error_code: Final = error_code


class OffsetFetchResponseTopics(Message):
    __slots__ = (
        "name",
        "topic_id",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (8, 9)),
            Field("topic_id", "uuid", (10, LAST)),
            Field("partitions", "[]OffsetFetchResponsePartitions", (8, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetFetchResponsePartitions": OffsetFetchResponsePartitions}

    def __init__(
        self,
        *,
        name: str = '',
        topic_id: bytes = b'\0' * 16,
        partitions: Sequence[OffsetFetchResponsePartitions] = (),
    ) -> None:
        self.name: Final = name
        self.topic_id: Final = topic_id
        self.partitions: Final = partitions


class OffsetFetchResponseGroup(Message):
    __slots__ = (
        "group_id",
        "topics",
        "error_code",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (8, LAST)),
            Field("topics", "[]OffsetFetchResponseTopics", (8, LAST)),
            Field("error_code", "int16", (8, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetFetchResponseTopics": OffsetFetchResponseTopics}

    def __init__(
        self,
        *,
        group_id: str = '',
        topics: Sequence[OffsetFetchResponseTopics] = (),
        error_code: int = 0,
    ) -> None:
        self.group_id: Final = group_id
        self.topics: Final = topics
        self.error_code: Final = error_code


class OffsetFetchResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
        "error_code",
        "groups",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (3, LAST)),
            Field("topics", "[]OffsetFetchResponseTopic", (0, 7)),
            Field("error_code", "int16", (2, 7)),
            Field("groups", "[]OffsetFetchResponseGroup", (8, LAST)),
        ), valid=(1, 10), flexible=(6, LAST), api_key=9
    )
    STRUCTS: ClassVar[Structs] = {"OffsetFetchResponseTopic": OffsetFetchResponseTopic, "OffsetFetchResponseGroup": OffsetFetchResponseGroup}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetFetchResponseTopic] = (),
        error_code: int = 0,
        groups: Sequence[OffsetFetchResponseGroup] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.topics: Final = topics
        self.error_code: Final = error_code
        self.groups: Final = groups
