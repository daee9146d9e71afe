# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRecord(Message):
    resource_type: int = 0
    resource_name: str = ''
    name: str = ''
    value: str | None = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resource_type", "int8", (0, LAST)),
            Field("resource_name", "string", (0, LAST)),
            Field("name", "string", (0, LAST)),
            Field("value", "string", (0, LAST), nullable=(0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=4
    )
    STRUCTS: ClassVar[Structs] = {}
