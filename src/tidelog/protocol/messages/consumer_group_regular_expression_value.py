# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupRegularExpressionValue(Message):
    topics: Sequence[str] = ()
    version: int = 0
    timestamp: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]string", (0, LAST)),
            Field("version", "int64", (0, LAST)),
            Field("timestamp", "int64", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=16
    )
    STRUCTS: ClassVar[Structs] = {}
