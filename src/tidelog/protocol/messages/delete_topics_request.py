# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicState(Message):
    name: str | None = None
    topic_id: bytes = b'\0' * 16
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (6, LAST), nullable=(6, LAST)),
            Field("topic_id", "uuid", (6, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicsRequest(Message):
    topics: Sequence[DeleteTopicState] = ()
    topic_names: Sequence[str] = ()
    timeout_ms: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]DeleteTopicState", (6, LAST)),
            Field("topic_names", "[]string", (0, 5)),
            Field("timeout_ms", "int32", (0, LAST)),
        ), valid=(1, 6), flexible=(4, LAST), api_key=20
    )
    STRUCTS: ClassVar[Structs] = {"DeleteTopicState": DeleteTopicState}
