# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOpRecord(Message):
    SCHEMA: ClassVar[Schema] = Schema(
        (), valid=(0, 0), flexible=(0, LAST), api_key=20
    )
    STRUCTS: ClassVar[Structs] = {}
