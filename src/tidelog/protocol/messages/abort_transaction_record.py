# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class AbortTransactionRecord(Message):
    __slots__ = (
        "reason",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("reason", "string", (0, LAST), nullable=(0, LAST), tagged=(0, LAST), tag=0),
        ), valid=(0, 0), flexible=(0, LAST), api_key=25
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        reason: str | None = None,
    ) -> None:
        self.reason: Final = reason
