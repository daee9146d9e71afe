# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChangeRecord(Message):
    partition_id: int = -1
    topic_id: bytes = b'\0' * 16
    isr: Sequence[int] | None = None
    leader: int = -2
    replicas: Sequence[int] | None = None
    removing_replicas: Sequence[int] | None = None
    adding_replicas: Sequence[int] | None = None
    leader_recovery_state: int = -1
    directories: Sequence[bytes] | None = None
    eligible_leader_replicas: Sequence[int] | None = None
    last_known_elr: Sequence[int] | None = None
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
