# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class EnvelopeResponse(Message):
    __slots__ = (
        "response_data",
        "error_code",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("response_data", "bytes", (0, LAST), nullable=(0, LAST)),
            Field("error_code", "int16", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=58
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        response_data: bytes | None = None,
        error_code: int = 0,
    ) -> None:
        self.response_data: Final = response_data
        self.error_code: Final = error_code
