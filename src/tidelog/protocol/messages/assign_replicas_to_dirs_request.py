# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionData(Message):
    partition_index: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicData(Message):
    topic_id: bytes = b'\0' * 16
    partitions: Sequence[PartitionData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (0, LAST)),
            Field("partitions", "[]PartitionData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionData": PartitionData}


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryData(Message):
    id: bytes = b'\0' * 16
    topics: Sequence[TopicData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("id", "uuid", (0, LAST)),
            Field("topics", "[]TopicData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData}


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignReplicasToDirsRequest(Message):
    broker_id: int = 0
    broker_epoch: int = -1
    directories: Sequence[DirectoryData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("broker_id", "int32", (0, LAST)),
            Field("broker_epoch", "int64", (0, LAST)),
            Field("directories", "[]DirectoryData", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=73
    )
    STRUCTS: ClassVar[Structs] = {"DirectoryData": DirectoryData}
