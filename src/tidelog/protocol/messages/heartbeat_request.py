# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest(Message):
    group_id: str = ''
    generation_id: int = 0
    member_id: str = ''
    group_instance_id: str | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, LAST)),
            Field("generation_id", "int32", (0, LAST)),
            Field("member_id", "string", (0, LAST)),
            Field("group_instance_id", "string", (3, LAST), nullable=(3, LAST)),
        ), valid=(0, 4), flexible=(4, LAST), api_key=12
    )
    STRUCTS: ClassVar[Structs] = {}
