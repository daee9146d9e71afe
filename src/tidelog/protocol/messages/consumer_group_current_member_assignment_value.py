# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitions(Message):
    topic_id: bytes = b'\0' * 16
    partitions: Sequence[int] = ()
    assignment_epochs: Sequence[int] | None = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
            Field("assignment_epochs", "[]int32", (0, LAST), nullable=(0, LAST), tagged=(0, LAST), tag=0, default=()),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupCurrentMemberAssignmentValue(Message):
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    assigned_partitions: Sequence[TopicPartitions] = ()
    partitions_pending_revocation: Sequence[TopicPartitions] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("member_epoch", "int32", (0, LAST)),
            Field("previous_member_epoch", "int32", (0, LAST)),
            Field("state", "int8", (0, LAST)),
            Field("assigned_partitions", "[]TopicPartitions", (0, LAST)),
            Field("partitions_pending_revocation", "[]TopicPartitions", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=8
    )
    STRUCTS: ClassVar[Structs] = {"TopicPartitions": TopicPartitions}
