# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DescribeAclsRequest(Message):
    __slots__ = (
        "resource_type_filter",
        "resource_name_filter",
        "pattern_type_filter",
        "principal_filter",
        "host_filter",
        "operation",
        "permission_type",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resource_type_filter", "int8", (0, LAST)),
            Field("resource_name_filter", "string", (0, LAST), nullable=(0, LAST)),
            Field("pattern_type_filter", "int8", (1, LAST)),
            Field("principal_filter", "string", (0, LAST), nullable=(0, LAST)),
            Field("host_filter", "string", (0, LAST), nullable=(0, LAST)),
            Field("operation", "int8", (0, LAST)),
            Field("permission_type", "int8", (0, LAST)),
        ), valid=(1, 3), flexible=(2, LAST), api_key=29
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = '',
        pattern_type_filter: int = 3,
        principal_filter: str | None = '',
        host_filter: str | None = '',
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type_filter: Final = resource_type_filter
        self.resource_name_filter: Final = resource_name_filter
        self.pattern_type_filter: Final = pattern_type_filter
        self.principal_filter: Final = principal_filter
        self.host_filter: Final = host_filter
        self.operation: Final = operation
        self.permission_type: Final = permission_type
