# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DefaultPrincipalData(Message):
    __slots__ = (
        "type",
        "name",
        "token_authenticated",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("type", "string", (0, LAST)),
            Field("name", "string", (0, LAST)),
            Field("token_authenticated", "bool", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST)
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        type: str = '',
        name: str = '',
        token_authenticated: bool = False,
    ) -> None:
        self.type: Final = type
        self.name: Final = name
        self.token_authenticated: Final = token_authenticated
