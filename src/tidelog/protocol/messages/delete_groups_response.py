# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DeletableGroupResult(Message):
    __slots__ = (
        "group_id",
        "error_code",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        group_id: str = '',
        error_code: int = 0,
    ) -> None:
        self.group_id: Final = group_id
        self.error_code: Final = error_code


class DeleteGroupsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "results",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("results", "[]DeletableGroupResult", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=42
    )
    STRUCTS: ClassVar[Structs] = {"DeletableGroupResult": DeletableGroupResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[DeletableGroupResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.results: Final = results
