# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class SaslAuthenticateResponse(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "auth_bytes",
        "session_lifetime_ms",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("auth_bytes", "bytes", (0, LAST)),
            Field("session_lifetime_ms", "int64", (1, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=36
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = '',
        auth_bytes: bytes = b'',
        session_lifetime_ms: int = 0,
    ) -> None:
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.auth_bytes: Final = auth_bytes
        self.session_lifetime_ms: Final = session_lifetime_ms
