# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class TopicPartitions(Message):
    __slots__ = (
        "topic_id",
        "partitions",
        "assignment_epochs",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
            Field("assignment_epochs", "[]int32", (0, LAST), nullable=(0, LAST), tagged=(0, LAST), tag=0, default=()),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        topic_id: bytes = b'\0' * 16,
        partitions: Sequence[int] = (),
        assignment_epochs: Sequence[int] | None = (),
    ) -> None:
        self.topic_id: Final = topic_id
        self.partitions: Final = partitions
        self.assignment_epochs: Final = assignment_epochs


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    __slots__ = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "assigned_partitions",
        "partitions_pending_revocation",
    )
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

    def __init__(
        self,
        *,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: Sequence[TopicPartitions] = (),
        partitions_pending_revocation: Sequence[TopicPartitions] = (),
    ) -> None:
        self.member_epoch: Final = member_epoch
        self.previous_member_epoch: Final = previous_member_epoch
        self.state: Final = state
        self.assigned_partitions: Final = assigned_partitions
        self.partitions_pending_revocation: Final = partitions_pending_revocation
