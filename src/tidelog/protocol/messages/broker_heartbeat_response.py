# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("is_caught_up", "bool", (0, LAST)),
            Field("is_fenced", "bool", (0, LAST)),
            Field("should_shut_down", "bool", (0, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=63
    )
    STRUCTS: ClassVar[Structs] = {}
