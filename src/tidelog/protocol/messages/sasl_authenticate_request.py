# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class SaslAuthenticateRequest(Message):
    __slots__ = (
        "auth_bytes",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("auth_bytes", "bytes", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=36
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        auth_bytes: bytes = b'',
    ) -> None:
        self.auth_bytes: Final = auth_bytes
