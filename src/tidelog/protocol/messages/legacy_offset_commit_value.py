# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, Message, NEVER, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyOffsetCommitValue(Message):
    offset: int = 0
    metadata: str = ''
    commit_timestamp: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("offset", "int64", (0, 0)),
            Field("metadata", "string", (0, 0)),
            Field("commit_timestamp", "int64", (0, 0)),
        ), valid=(0, 0), flexible=NEVER, api_key=0
    )
    STRUCTS: ClassVar[Structs] = {}
