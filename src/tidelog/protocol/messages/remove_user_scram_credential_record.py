# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class RemoveUserScramCredentialRecord(Message):
    __slots__ = (
        "name",
        "mechanism",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("mechanism", "int8", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=22
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        mechanism: int = 0,
    ) -> None:
        self.name: Final = name
        self.mechanism: Final = mechanism
