# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class SyncGroupResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "protocol_type",
        "protocol_name",
        "assignment",
    )
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

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b'',
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.protocol_type: Final = protocol_type
        self.protocol_name: Final = protocol_name
        self.assignment: Final = assignment
