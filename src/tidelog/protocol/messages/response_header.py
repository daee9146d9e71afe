# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ResponseHeader(Message):
    __slots__ = (
        "correlation_id",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("correlation_id", "int32", (0, LAST)),
        ), valid=(0, 1), flexible=(1, LAST)
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        correlation_id: int = 0,
    ) -> None:
        self.correlation_id: Final = correlation_id
