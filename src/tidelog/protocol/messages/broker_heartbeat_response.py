# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class BrokerHeartbeatResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "is_caught_up",
        "is_fenced",
        "should_shut_down",
    )
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

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        is_caught_up: bool = False,
        is_fenced: bool = True,
        should_shut_down: bool = False,
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.is_caught_up: Final = is_caught_up
        self.is_fenced: Final = is_fenced
        self.should_shut_down: Final = should_shut_down
