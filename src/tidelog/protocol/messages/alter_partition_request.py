# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerState(Message):
    broker_id: int = 0
    broker_epoch: int = -1
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("broker_id", "int32", (3, LAST)),
            Field("broker_epoch", "int64", (3, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionData(Message):
    partition_index: int = 0
    leader_epoch: int = 0
    new_isr: Sequence[int] = ()
    new_isr_with_epochs: Sequence[BrokerState] = ()
    leader_recovery_state: int = 0
    partition_epoch: int = 0
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicData(Message):
    topic_id: bytes = b'\0' * 16
    partitions: Sequence[PartitionData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (2, LAST)),
            Field("partitions", "[]PartitionData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionData": PartitionData}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitionRequest(Message):
    broker_id: int = 0
    broker_epoch: int = -1
    topics: Sequence[TopicData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("broker_id", "int32", (0, LAST)),
            Field("broker_epoch", "int64", (0, LAST)),
            Field("topics", "[]TopicData", (0, LAST)),
        ), valid=(2, 3), flexible=(0, LAST), api_key=56
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData}
