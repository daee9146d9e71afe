# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitValue(Message):
    offset: int = 0
    leader_epoch: int = -1
    metadata: str = ''
    commit_timestamp: int = 0
    expire_timestamp: int = -1
    topic_id: bytes = b'\0' * 16
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("offset", "int64", (0, LAST)),
            Field("leader_epoch", "int32", (3, LAST)),
            Field("metadata", "string", (0, LAST)),
            Field("commit_timestamp", "int64", (0, LAST)),
            Field("expire_timestamp", "int64", (1, 1)),
            Field("topic_id", "uuid", (4, LAST), tagged=(4, LAST), tag=0, default=b'\0' * 16),
        ), valid=(0, 4), flexible=(4, LAST), api_key=1
    )
    STRUCTS: ClassVar[Structs] = {}
