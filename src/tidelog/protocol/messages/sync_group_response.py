# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (1, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("protocol_type", "string", (5, LAST), nullable=(5, LAST)),
            Field("protocol_name", "string", (5, LAST), nullable=(5, LAST)),
            Field("assignment", "bytes", (0, LAST)),
        ), valid=(0, 5), flexible=(4, LAST), api_key=14
    )
    STRUCTS: ClassVar[Structs] = {}
