# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, Message, NEVER, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMetadataKey(Message):
    group_id: str = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, 0)),
        ), valid=(0, 0), flexible=NEVER, api_key=6
    )
    STRUCTS: ClassVar[Structs] = {}
