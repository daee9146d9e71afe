# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class AlterUserScramCredentialsResult(Message):
    __slots__ = (
        "user",
        "error_code",
        "error_message",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("user", "string", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        user: str = '',
        error_code: int = 0,
        error_message: str | None = '',
    ) -> None:
        self.user: Final = user
        self.error_code: Final = error_code
        self.error_message: Final = error_message


class AlterUserScramCredentialsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "results",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("results", "[]AlterUserScramCredentialsResult", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=51
    )
    STRUCTS: ClassVar[Structs] = {"AlterUserScramCredentialsResult": AlterUserScramCredentialsResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[AlterUserScramCredentialsResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.results: Final = results
