# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class BeginTransactionRecord(Message):
    __slots__ = (
        "name",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST), nullable=(0, LAST), tagged=(0, LAST), tag=0),
        ), valid=(0, 0), flexible=(0, LAST), api_key=23
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name: Final = name
