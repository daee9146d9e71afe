# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class PartitionRecord(Message):
    __slots__ = (
        "partition_id",
        "topic_id",
        "replicas",
        "isr",
        "removing_replicas",
        "adding_replicas",
        "leader",
        "leader_recovery_state",
        "leader_epoch",
        "partition_epoch",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_id", "int32", (0, LAST)),
            Field("topic_id", "uuid", (0, LAST)),
            Field("replicas", "[]int32", (0, LAST)),
            Field("isr", "[]int32", (0, LAST)),
            Field("removing_replicas", "[]int32", (0, LAST)),
            Field("adding_replicas", "[]int32", (0, LAST)),
            Field("leader", "int32", (0, LAST)),
            Field("leader_recovery_state", "int8", (0, LAST), tagged=(0, LAST), tag=0, default=0),
            Field("leader_epoch", "int32", (0, LAST)),
            Field("partition_epoch", "int32", (0, LAST)),
            Field("directories", "[]uuid", (1, LAST)),
            Field("eligible_leader_replicas", "[]int32", (2, LAST), nullable=(2, LAST), tagged=(2, LAST), tag=1),
            Field("last_known_elr", "[]int32", (2, LAST), nullable=(2, LAST), tagged=(2, LAST), tag=2),
        ), valid=(0, 2), flexible=(0, LAST), api_key=3
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_id: int = -1,
        topic_id: bytes = b'\0' * 16,
        replicas: Sequence[int] = (),
        isr: Sequence[int] = (),
        removing_replicas: Sequence[int] = (),
        adding_replicas: Sequence[int] = (),
        leader: int = -1,
        leader_recovery_state: int = 0,
        leader_epoch: int = -1,
        partition_epoch: int = -1,
        directories: Sequence[bytes] = (),
        eligible_leader_replicas: Sequence[int] | None = None,
        last_known_elr: Sequence[int] | None = None,
    ) -> None:
        self.partition_id: Final = partition_id
        self.topic_id: Final = topic_id
        self.replicas: Final = replicas
        self.isr: Final = isr
        self.removing_replicas: Final = removing_replicas
        self.adding_replicas: Final = adding_replicas
        self.leader: Final = leader
        self.leader_recovery_state: Final = leader_recovery_state
        self.leader_epoch: Final = leader_epoch
        self.partition_epoch: Final = partition_epoch
        self.directories: Final = directories
        self.eligible_leader_replicas: Final = eligible_leader_replicas
        self.last_known_elr: Final = last_known_elr
