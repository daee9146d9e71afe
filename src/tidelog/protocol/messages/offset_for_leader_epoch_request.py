# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class OffsetForLeaderPartition(Message):
    __slots__ = (
        "partition",
        "current_leader_epoch",
        "leader_epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition", "int32", (0, LAST)),
            Field("current_leader_epoch", "int32", (2, LAST)),
            Field("leader_epoch", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
    ) -> None:
        self.partition: Final = partition
        self.current_leader_epoch: Final = current_leader_epoch
        self.leader_epoch: Final = leader_epoch


class OffsetForLeaderTopic(Message):
    __slots__ = (
        "topic",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, LAST)),
            Field("partitions", "[]OffsetForLeaderPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetForLeaderPartition": OffsetForLeaderPartition}

    def __init__(
        self,
        *,
        topic: str = '',
        partitions: Sequence[OffsetForLeaderPartition] = (),
    ) -> None:
        self.topic: Final = topic
        self.partitions: Final = partitions


class OffsetForLeaderEpochRequest(Message):
    __slots__ = (
        "replica_id",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("replica_id", "int32", (3, LAST)),
            Field("topics", "[]OffsetForLeaderTopic", (0, LAST)),
        ), valid=(2, 4), flexible=(4, LAST), api_key=23
    )
    STRUCTS: ClassVar[Structs] = {"OffsetForLeaderTopic": OffsetForLeaderTopic}

    def __init__(
        self,
        *,
        replica_id: int = -2,
        topics: Sequence[OffsetForLeaderTopic] = (),
    ) -> None:
        self.replica_id: Final = replica_id
        self.topics: Final = topics
