# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class UserScramCredentialRecord(Message):
    __slots__ = (
        "name",
        "mechanism",
        "salt",
        "stored_key",
        "server_key",
        "iterations",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("mechanism", "int8", (0, LAST)),
            Field("salt", "bytes", (0, LAST)),
            Field("stored_key", "bytes", (0, LAST)),
            Field("server_key", "bytes", (0, LAST)),
            Field("iterations", "int32", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=11
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        mechanism: int = 0,
        salt: bytes = b'',
        stored_key: bytes = b'',
        server_key: bytes = b'',
        iterations: int = 0,
    ) -> None:
        self.name: Final = name
        self.mechanism: Final = mechanism
        self.salt: Final = salt
        self.stored_key: Final = stored_key
        self.server_key: Final = server_key
        self.iterations: Final = iterations
