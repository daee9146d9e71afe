# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletableTopicResult(Message):
    name: str | None = ''
    topic_id: bytes = b'\0' * 16
    error_code: int = 0
    error_message: str | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST), nullable=(6, LAST)),
            Field("topic_id", "uuid", (6, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (5, LAST), nullable=(5, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicsResponse(Message):
    throttle_time_ms: int = 0
    responses: Sequence[DeletableTopicResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (1, LAST)),
            Field("responses", "[]DeletableTopicResult", (0, LAST)),
        ), valid=(1, 6), flexible=(4, LAST), api_key=20
    )
    STRUCTS: ClassVar[Structs] = {"DeletableTopicResult": DeletableTopicResult}
