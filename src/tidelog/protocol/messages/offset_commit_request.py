# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class OffsetCommitRequestPartition(Message):
    __slots__ = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "committed_metadata",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("committed_offset", "int64", (0, LAST)),
            Field("committed_leader_epoch", "int32", (6, LAST)),
            Field("committed_metadata", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = '',
    ) -> None:
        self.partition_index: Final = partition_index
        self.committed_offset: Final = committed_offset
        self.committed_leader_epoch: Final = committed_leader_epoch
        self.committed_metadata: Final = committed_metadata


class OffsetCommitRequestTopic(Message):
    __slots__ = (
        "name",
        "topic_id",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, 9)),
            Field("topic_id", "uuid", (10, LAST)),
            Field("partitions", "[]OffsetCommitRequestPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetCommitRequestPartition": OffsetCommitRequestPartition}

    def __init__(
        self,
        *,
        name: str = '',
        topic_id: bytes = b'\0' * 16,
        partitions: Sequence[OffsetCommitRequestPartition] = (),
    ) -> None:
        self.name: Final = name
        self.topic_id: Final = topic_id
        self.partitions: Final = partitions


class OffsetCommitRequest(Message):
    __slots__ = (
        "group_id",
        "generation_id_or_member_epoch",
        "member_id",
        "group_instance_id",
        "retention_time_ms",
        "topics",
    )
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

    def __init__(
        self,
        *,
        group_id: str = '',
        generation_id_or_member_epoch: int = -1,
        member_id: str = '',
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: Sequence[OffsetCommitRequestTopic] = (),
    ) -> None:
        self.group_id: Final = group_id
        self.generation_id_or_member_epoch: Final = generation_id_or_member_epoch
        self.member_id: Final = member_id
        self.group_instance_id: Final = group_instance_id
        self.retention_time_ms: Final = retention_time_ms
        self.topics: Final = topics
