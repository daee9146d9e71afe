# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class PartitionData(Message):
    __slots__ = (
        "partition_index",
        "replica_epoch",
        "replica_id",
        "replica_directory_id",
        "voter_directory_id",
        "last_offset_epoch",
        "last_offset",
        "pre_vote",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("replica_epoch", "int32", (0, LAST)),
            Field("replica_id", "int32", (0, LAST)),
            Field("replica_directory_id", "uuid", (1, LAST)),
            Field("voter_directory_id", "uuid", (1, LAST)),
            Field("last_offset_epoch", "int32", (0, LAST)),
            Field("last_offset", "int64", (0, LAST)),
            Field("pre_vote", "bool", (2, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replica_epoch: int = 0,
        replica_id: int = 0,
        replica_directory_id: bytes = b'\0' * 16,
        voter_directory_id: bytes = b'\0' * 16,
        last_offset_epoch: int = 0,
        last_offset: int = 0,
        pre_vote: bool = False,
    ) -> None:
        self.partition_index: Final = partition_index
        self.replica_epoch: Final = replica_epoch
        self.replica_id: Final = replica_id
        self.replica_directory_id: Final = replica_directory_id
        self.voter_directory_id: Final = voter_directory_id
        self.last_offset_epoch: Final = last_offset_epoch
        self.last_offset: Final = last_offset
        self.pre_vote: Final = pre_vote


class TopicData(Message):
    __slots__ = (
        "topic_name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_name", "string", (0, LAST)),
            Field("partitions", "[]PartitionData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionData": PartitionData}

    def __init__(
        self,
        *,
        topic_name: str = '',
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic_name: Final = topic_name
        self.partitions: Final = partitions


class VoteRequest(Message):
    __slots__ = (
        "cluster_id",
        "voter_id",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("cluster_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("voter_id", "int32", (1, LAST)),
            Field("topics", "[]TopicData", (0, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=52
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData}

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: Sequence[TopicData] = (),
    ) -> None:
        self.cluster_id: Final = cluster_id
        self.voter_id: Final = voter_id
        self.topics: Final = topics
