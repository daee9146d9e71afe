# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransactionRecord(Message):
    reason: str | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("reason", "string", (0, LAST), nullable=(0, LAST), tagged=(0, LAST), tag=0),
        ), valid=(0, 0), flexible=(0, LAST), api_key=25
    )
    STRUCTS: ClassVar[Structs] = {}
