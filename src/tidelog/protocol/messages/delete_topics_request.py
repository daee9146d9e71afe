# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DeleteTopicState(Message):
    __slots__ = (
        "name",
        "topic_id",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (6, LAST), nullable=(6, LAST)),
            Field("topic_id", "uuid", (6, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str | None = None,
        topic_id: bytes = b'\0' * 16,
    ) -> None:
        self.name: Final = name
        self.topic_id: Final = topic_id


class DeleteTopicsRequest(Message):
    __slots__ = (
        "topics",
        "topic_names",
        "timeout_ms",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]DeleteTopicState", (6, LAST)),
            Field("topic_names", "[]string", (0, 5)),
            Field("timeout_ms", "int32", (0, LAST)),
        ), valid=(1, 6), flexible=(4, LAST), api_key=20
    )
    STRUCTS: ClassVar[Structs] = {"DeleteTopicState": DeleteTopicState}

    def __init__(
        self,
        *,
        topics: Sequence[DeleteTopicState] = (),
        topic_names: Sequence[str] = (),
        timeout_ms: int = 0,
    ) -> None:
        self.topics: Final = topics
        self.topic_names: Final = topic_names
        self.timeout_ms: Final = timeout_ms
