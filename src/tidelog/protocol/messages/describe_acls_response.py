# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class AclDescription(Message):
    principal: str = ''
    host: str = ''
    operation: int = 0
    permission_type: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("principal", "string", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("operation", "int8", (0, LAST)),
            Field("permission_type", "int8", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsResource(Message):
    resource_type: int = 0
    resource_name: str = ''
    pattern_type: int = 3
    acls: Sequence[AclDescription] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resource_type", "int8", (0, LAST)),
            Field("resource_name", "string", (0, LAST)),
            Field("pattern_type", "int8", (1, LAST)),
            Field("acls", "[]AclDescription", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"AclDescription": AclDescription}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeAclsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ''
    resources: Sequence[DescribeAclsResource] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("resources", "[]DescribeAclsResource", (0, LAST)),
        ), valid=(1, 3), flexible=(2, LAST), api_key=29
    )
    STRUCTS: ClassVar[Structs] = {"DescribeAclsResource": DescribeAclsResource}
