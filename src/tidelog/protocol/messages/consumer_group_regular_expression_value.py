# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ConsumerGroupRegularExpressionValue(Message):
    __slots__ = (
        "topics",
        "version",
        "timestamp",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]string", (0, LAST)),
            Field("version", "int64", (0, LAST)),
            Field("timestamp", "int64", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=16
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        topics: Sequence[str] = (),
        version: int = 0,
        timestamp: int = 0,
    ) -> None:
        self.topics: Final = topics
        self.version: Final = version
        self.timestamp: Final = timestamp
