# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class AccessControlEntryRecord(Message):
    __slots__ = (
        "id",
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("id", "uuid", (0, LAST)),
            Field("resource_type", "int8", (0, LAST)),
            Field("resource_name", "string", (0, LAST)),
            Field("pattern_type", "int8", (0, LAST)),
            Field("principal", "string", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("operation", "int8", (0, LAST)),
            Field("permission_type", "int8", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=18
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        id: bytes = b'\0' * 16,
        resource_type: int = 0,
        resource_name: str = '',
        pattern_type: int = 0,
        principal: str = '',
        host: str = '',
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.id: Final = id
        self.resource_type: Final = resource_type
        self.resource_name: Final = resource_name
        self.pattern_type: Final = pattern_type
        self.principal: Final = principal
        self.host: Final = host
        self.operation: Final = operation
        self.permission_type: Final = permission_type
