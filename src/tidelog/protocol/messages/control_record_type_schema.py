# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRecordTypeSchema(Message):
    type: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("type", "int16", (0, LAST)),
        ), valid=(0, 0), flexible=NEVER
    )
    STRUCTS: ClassVar[Structs] = {}
