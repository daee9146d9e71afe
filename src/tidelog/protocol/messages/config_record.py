# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ConfigRecord(Message):
    __slots__ = (
        "resource_type",
        "resource_name",
        "name",
        "value",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resource_type", "int8", (0, LAST)),
            Field("resource_name", "string", (0, LAST)),
            Field("name", "string", (0, LAST)),
            Field("value", "string", (0, LAST), nullable=(0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=4
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = '',
        name: str = '',
        value: str | None = '',
    ) -> None:
        self.resource_type: Final = resource_type
        self.resource_name: Final = resource_name
        self.name: Final = name
        self.value: Final = value
