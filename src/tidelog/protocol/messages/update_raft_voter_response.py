# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentLeader(Message):
    leader_id: int = -1
    leader_epoch: int = -1
    host: str = ''
    port: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("leader_id", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("port", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRaftVoterResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    current_leader: CurrentLeader = field(default_factory=CurrentLeader)
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("current_leader", "CurrentLeader", (0, LAST), tagged=(0, LAST), tag=0),
        ), valid=(0, 0), flexible=(0, LAST), api_key=82
    )
    STRUCTS: ClassVar[Structs] = {"CurrentLeader": CurrentLeader}
