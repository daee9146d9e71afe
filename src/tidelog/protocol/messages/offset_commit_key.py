# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, Message, NEVER, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitKey(Message):
    group: str = ''
    topic: str = ''
    partition: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group", "string", (0, 0)),
            Field("topic", "string", (0, 0)),
            Field("partition", "int32", (0, 0)),
        ), valid=(0, 0), flexible=NEVER, api_key=1
    )
    STRUCTS: ClassVar[Structs] = {}
