# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class TopicRecord(Message):
    __slots__ = (
        "name",
        "topic_id",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("topic_id", "uuid", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=2
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        topic_id: bytes = b'\0' * 16,
    ) -> None:
        self.name: Final = name
        self.topic_id: Final = topic_id
