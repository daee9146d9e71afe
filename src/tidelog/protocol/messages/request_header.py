# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeader(Message):
    request_api_key: int = 0
    request_api_version: int = 0
    correlation_id: int = 0
    client_id: str | None = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("request_api_key", "int16", (0, LAST)),
            Field("request_api_version", "int16", (0, LAST)),
            Field("correlation_id", "int32", (0, LAST)),
            Field("client_id", "string", (1, LAST), nullable=(1, LAST), flexible=NEVER),
        ), valid=(1, 2), flexible=(2, LAST)
    )
    STRUCTS: ClassVar[Structs] = {}
