# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DeletableTopicResult(Message):
    __slots__ = (
        "name",
        "topic_id",
        "error_code",
        "error_message",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST), nullable=(6, LAST)),
            Field("topic_id", "uuid", (6, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (5, LAST), nullable=(5, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str | None = '',
        topic_id: bytes = b'\0' * 16,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name: Final = name
        self.topic_id: Final = topic_id
        self.error_code: Final = error_code
        self.error_message: Final = error_message


class DeleteTopicsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "responses",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (1, LAST)),
            Field("responses", "[]DeletableTopicResult", (0, LAST)),
        ), valid=(1, 6), flexible=(4, LAST), api_key=20
    )
    STRUCTS: ClassVar[Structs] = {"DeletableTopicResult": DeletableTopicResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        responses: Sequence[DeletableTopicResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.responses: Final = responses
