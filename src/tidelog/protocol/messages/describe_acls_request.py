# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsRequest(Message):
    resource_type_filter: int = 0
    resource_name_filter: str | None = ''
    pattern_type_filter: int = 3
    principal_filter: str | None = ''
    host_filter: str | None = ''
    operation: int = 0
    permission_type: int = 0
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
