# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionData(Message):
    partition_index: int = 0
    replica_epoch: int = 0
    replica_id: int = 0
    replica_directory_id: bytes = b'\0' * 16
    voter_directory_id: bytes = b'\0' * 16
    last_offset_epoch: int = 0
    last_offset: int = 0
    pre_vote: bool = False
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicData(Message):
    topic_name: str = ''
    partitions: Sequence[PartitionData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_name", "string", (0, LAST)),
            Field("partitions", "[]PartitionData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionData": PartitionData}


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRequest(Message):
    cluster_id: str | None = None
    voter_id: int = -1
    topics: Sequence[TopicData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("cluster_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("voter_id", "int32", (1, LAST)),
            Field("topics", "[]TopicData", (0, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=52
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData}
