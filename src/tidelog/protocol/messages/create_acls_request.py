# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class AclCreation(Message):
    resource_type: int = 0
    resource_name: str = ''
    resource_pattern_type: int = 3
    principal: str = ''
    host: str = ''
    operation: int = 0
    permission_type: int = 0
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAclsRequest(Message):
    creations: Sequence[AclCreation] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("creations", "[]AclCreation", (0, LAST)),
        ), valid=(1, 3), flexible=(2, LAST), api_key=30
    )
    STRUCTS: ClassVar[Structs] = {"AclCreation": AclCreation}
