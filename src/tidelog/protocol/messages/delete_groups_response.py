# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletableGroupResult(Message):
    group_id: str = ''
    error_code: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse(Message):
    throttle_time_ms: int = 0
    results: Sequence[DeletableGroupResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("results", "[]DeletableGroupResult", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=42
    )
    STRUCTS: ClassVar[Structs] = {"DeletableGroupResult": DeletableGroupResult}
