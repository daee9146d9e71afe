# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class BrokerState(Message):
    __slots__ = (
        "broker_id",
        "broker_epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("broker_id", "int32", (3, LAST)),
            Field("broker_epoch", "int64", (3, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id: Final = broker_id
        self.broker_epoch: Final = broker_epoch


class PartitionData(Message):
    __slots__ = (
        "partition_index",
        "leader_epoch",
        "new_isr",
        "new_isr_with_epochs",
        "leader_recovery_state",
        "partition_epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (0, LAST)),
            Field("new_isr", "[]int32", (0, 2)),
            Field("new_isr_with_epochs", "[]BrokerState", (3, LAST)),
            Field("leader_recovery_state", "int8", (1, LAST)),
            Field("partition_epoch", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"BrokerState": BrokerState}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        leader_epoch: int = 0,
        new_isr: Sequence[int] = (),
        new_isr_with_epochs: Sequence[BrokerState] = (),
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index
        self.leader_epoch: Final = leader_epoch
        self.new_isr: Final = new_isr
        self.new_isr_with_epochs: Final = new_isr_with_epochs
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


class AlterPartitionRequest(Message):
    __slots__ = (
        "broker_id",
        "broker_epoch",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("broker_id", "int32", (0, LAST)),
            Field("broker_epoch", "int64", (0, LAST)),
            Field("topics", "[]TopicData", (0, LAST)),
        ), valid=(2, 3), flexible=(0, LAST), api_key=56
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData}

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
        topics: Sequence[TopicData] = (),
    ) -> None:
        self.broker_id: Final = broker_id
        self.broker_epoch: Final = broker_epoch
        self.topics: Final = topics
