# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


class ControlRecordTypeSchema(Message):
    __slots__ = (
        "type",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("type", "int16", (0, LAST)),
        ), valid=(0, 0), flexible=NEVER
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        type: int = 0,
    ) -> None:
        self.type: Final = type
