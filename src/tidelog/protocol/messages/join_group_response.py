# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponseMember(Message):
    member_id: str = ''
    group_instance_id: str | None = None
    metadata: bytes = b''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("member_id", "string", (0, LAST)),
            Field("group_instance_id", "string", (5, LAST), nullable=(5, LAST)),
            Field("metadata", "bytes", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = ''
    leader: str = ''
    skip_assignment: bool = False
    member_id: str = ''
    members: Sequence[JoinGroupResponseMember] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (2, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("generation_id", "int32", (0, LAST)),
            Field("protocol_type", "string", (7, LAST), nullable=(7, LAST)),
            Field("protocol_name", "string", (0, LAST), nullable=(7, LAST)),
            Field("leader", "string", (0, LAST)),
            Field("skip_assignment", "bool", (9, LAST)),
            Field("member_id", "string", (0, LAST)),
            Field("members", "[]JoinGroupResponseMember", (0, LAST)),
        ), valid=(0, 9), flexible=(6, LAST), api_key=11
    )
    STRUCTS: ClassVar[Structs] = {"JoinGroupResponseMember": JoinGroupResponseMember}
