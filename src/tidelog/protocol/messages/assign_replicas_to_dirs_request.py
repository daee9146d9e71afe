# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class PartitionData(Message):
    __slots__ = (
        "partition_index",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index


class TopicData(Message):
    __slots__ = (
        "topic_id",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (0, LAST)),
            Field("partitions", "[]PartitionData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionData": PartitionData}

    def __init__(
        self,
        *,
        topic_id: bytes = b'\0' * 16,
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic_id: Final = topic_id
        self.partitions: Final = partitions


class DirectoryData(Message):
    __slots__ = (
        "id",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("id", "uuid", (0, LAST)),
            Field("topics", "[]TopicData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData}

    def __init__(
        self,
        *,
        id: bytes = b'\0' * 16,
        topics: Sequence[TopicData] = (),
    ) -> None:
        self.id: Final = id
        self.topics: Final = topics


class AssignReplicasToDirsRequest(Message):
    __slots__ = (
        "broker_id",
        "broker_epoch",
        "directories",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("broker_id", "int32", (0, LAST)),
            Field("broker_epoch", "int64", (0, LAST)),
            Field("directories", "[]DirectoryData", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=73
    )
    STRUCTS: ClassVar[Structs] = {"DirectoryData": DirectoryData}

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
        directories: Sequence[DirectoryData] = (),
    ) -> None:
        self.broker_id: Final = broker_id
        self.broker_epoch: Final = broker_epoch
        self.directories: Final = directories
