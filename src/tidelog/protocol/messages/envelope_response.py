# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeResponse(Message):
    response_data: bytes | None = None
    error_code: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("response_data", "bytes", (0, LAST), nullable=(0, LAST)),
            Field("error_code", "int16", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=58
    )
    STRUCTS: ClassVar[Structs] = {}
