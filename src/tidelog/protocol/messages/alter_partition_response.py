# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class PartitionData(Message):
    __slots__ = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "isr",
        "leader_recovery_state",
        "partition_epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("leader_id", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (0, LAST)),
            Field("isr", "[]int32", (0, LAST)),
            Field("leader_recovery_state", "int8", (1, LAST)),
            Field("partition_epoch", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        isr: Sequence[int] = (),
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index
        self.error_code: Final = error_code
        self.leader_id: Final = leader_id
        self.leader_epoch: Final = leader_epoch
        self.isr: Final = isr
        self.leader_recovery_state: Final = leader_recovery_state
        self.partition_epoch: Final = partition_epoch


class TopicData(Message):
    __slots__ = (
        "topic_id",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (2, LAST)),
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


class AlterPartitionResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("topics", "[]TopicData", (0, LAST)),
        ), valid=(2, 3), flexible=(0, LAST), api_key=56
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: Sequence[TopicData] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.topics: Final = topics
