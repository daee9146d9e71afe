# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class AclCreation(Message):
    __slots__ = (
        "resource_type",
        "resource_name",
        "resource_pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resource_type", "int8", (0, LAST)),
            Field("resource_name", "string", (0, LAST)),
            Field("resource_pattern_type", "int8", (1, LAST)),
            Field("principal", "string", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("operation", "int8", (0, LAST)),
            Field("permission_type", "int8", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = '',
        resource_pattern_type: int = 3,
        principal: str = '',
        host: str = '',
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type: Final = resource_type
        self.resource_name: Final = resource_name
        self.resource_pattern_type: Final = resource_pattern_type
        self.principal: Final = principal
        self.host: Final = host
        self.operation: Final = operation
        self.permission_type: Final = permission_type


class CreateAclsRequest(Message):
    __slots__ = (
        "creations",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("creations", "[]AclCreation", (0, LAST)),
        ), valid=(1, 3), flexible=(2, LAST), api_key=30
    )
    STRUCTS: ClassVar[Structs] = {"AclCreation": AclCreation}

    def __init__(
        self,
        *,
        creations: Sequence[AclCreation] = (),
    ) -> None:
        self.creations: Final = creations
