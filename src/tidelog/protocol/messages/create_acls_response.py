# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class AclCreationResult(Message):
    error_code: int = 0
    error_message: str | None = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAclsResponse(Message):
    throttle_time_ms: int = 0
    results: Sequence[AclCreationResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("results", "[]AclCreationResult", (0, LAST)),
        ), valid=(1, 3), flexible=(2, LAST), api_key=30
    )
    STRUCTS: ClassVar[Structs] = {"AclCreationResult": AclCreationResult}
