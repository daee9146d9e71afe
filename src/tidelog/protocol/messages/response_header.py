# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseHeader(Message):
    correlation_id: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("correlation_id", "int32", (0, LAST)),
        ), valid=(0, 1), flexible=(1, LAST)
    )
    STRUCTS: ClassVar[Structs] = {}
