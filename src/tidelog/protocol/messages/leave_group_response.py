# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberResponse(Message):
    member_id: str = ''
    group_instance_id: str | None = ''
    error_code: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("member_id", "string", (3, LAST)),
            Field("group_instance_id", "string", (3, LAST), nullable=(3, LAST)),
            Field("error_code", "int16", (3, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    members: Sequence[MemberResponse] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (1, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("members", "[]MemberResponse", (3, LAST)),
        ), valid=(0, 5), flexible=(4, LAST), api_key=13
    )
    STRUCTS: ClassVar[Structs] = {"MemberResponse": MemberResponse}
