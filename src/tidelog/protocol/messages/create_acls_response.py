# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class AclCreationResult(Message):
    __slots__ = (
        "error_code",
        "error_message",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = '',
    ) -> None:
        self.error_code: Final = error_code
        self.error_message: Final = error_message


class CreateAclsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "results",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("results", "[]AclCreationResult", (0, LAST)),
        ), valid=(1, 3), flexible=(2, LAST), api_key=30
    )
    STRUCTS: ClassVar[Structs] = {"AclCreationResult": AclCreationResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[AclCreationResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.results: Final = results
