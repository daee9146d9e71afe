# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecord(Message):
    partition_id: int = -1
    topic_id: bytes = b'\0' * 16
    replicas: Sequence[int] = ()
    isr: Sequence[int] = ()
    removing_replicas: Sequence[int] = ()
    adding_replicas: Sequence[int] = ()
    leader: int = -1
    leader_recovery_state: int = 0
    leader_epoch: int = -1
    partition_epoch: int = -1
    directories: Sequence[bytes] = ()
    eligible_leader_replicas: Sequence[int] | None = None
    last_known_elr: Sequence[int] | None = None
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
