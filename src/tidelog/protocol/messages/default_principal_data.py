# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultPrincipalData(Message):
    type: str = ''
    name: str = ''
    token_authenticated: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("type", "string", (0, LAST)),
            Field("name", "string", (0, LAST)),
            Field("token_authenticated", "bool", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST)
    )
    STRUCTS: ClassVar[Structs] = {}
