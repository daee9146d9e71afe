# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ClearElrRecord(Message):
    __slots__ = (
        "topic_name",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_name", "string", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=28
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        topic_name: str = '',
    ) -> None:
        self.topic_name: Final = topic_name
