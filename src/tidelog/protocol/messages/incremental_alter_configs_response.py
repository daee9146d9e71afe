# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsResourceResponse(Message):
    error_code: int = 0
    error_message: str | None = ''
    resource_type: int = 0
    resource_name: str = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("resource_type", "int8", (0, LAST)),
            Field("resource_name", "string", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalAlterConfigsResponse(Message):
    throttle_time_ms: int = 0
    responses: Sequence[AlterConfigsResourceResponse] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("responses", "[]AlterConfigsResourceResponse", (0, LAST)),
        ), valid=(0, 1), flexible=(1, LAST), api_key=44
    )
    STRUCTS: ClassVar[Structs] = {"AlterConfigsResourceResponse": AlterConfigsResourceResponse}
