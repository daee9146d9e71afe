# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class PartitionChangeRecord(Message):
    __slots__ = (
        "partition_id",
        "topic_id",
        "isr",
        "leader",
        "replicas",
        "removing_replicas",
        "adding_replicas",
        "leader_recovery_state",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_id", "int32", (0, LAST)),
            Field("topic_id", "uuid", (0, LAST)),
            Field("isr", "[]int32", (0, LAST), nullable=(0, LAST), tagged=(0, LAST), tag=0),
            Field("leader", "int32", (0, LAST), tagged=(0, LAST), tag=1, default=-2),
            Field("replicas", "[]int32", (0, LAST), nullable=(0, LAST), tagged=(0, LAST), tag=2),
            Field("removing_replicas", "[]int32", (0, LAST), nullable=(0, LAST), tagged=(0, LAST), tag=3),
            Field("adding_replicas", "[]int32", (0, LAST), nullable=(0, LAST), tagged=(0, LAST), tag=4),
            Field("leader_recovery_state", "int8", (0, LAST), tagged=(0, LAST), tag=5, default=-1),
            Field("directories", "[]uuid", (1, LAST), nullable=(1, LAST), tagged=(1, LAST), tag=8),
            Field("eligible_leader_replicas", "[]int32", (2, LAST), nullable=(2, LAST), tagged=(2, LAST), tag=6),
            Field("last_known_elr", "[]int32", (2, LAST), nullable=(2, LAST), tagged=(2, LAST), tag=7),
        ), valid=(0, 2), flexible=(0, LAST), api_key=5
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_id: int = -1,
        topic_id: bytes = b'\0' * 16,
        isr: Sequence[int] | None = None,
        leader: int = -2,
        replicas: Sequence[int] | None = None,
        removing_replicas: Sequence[int] | None = None,
        adding_replicas: Sequence[int] | None = None,
        leader_recovery_state: int = -1,
        directories: Sequence[bytes] | None = None,
        eligible_leader_replicas: Sequence[int] | None = None,
        last_known_elr: Sequence[int] | None = None,
    ) -> None:
        self.partition_id: Final = partition_id
        self.topic_id: Final = topic_id
        self.isr: Final = isr
        self.leader: Final = leader
        self.replicas: Final = replicas
        self.removing_replicas: Final = removing_replicas
        self.adding_replicas: Final = adding_replicas
        self.leader_recovery_state: Final = leader_recovery_state
        self.directories: Final = directories
        self.eligible_leader_replicas: Final = eligible_leader_replicas
        self.last_known_elr: Final = last_known_elr
