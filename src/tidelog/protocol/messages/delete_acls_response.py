# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAclsMatchingAcl(Message):
    error_code: int = 0
    error_message: str | None = ''
    resource_type: int = 0
    resource_name: str = ''
    pattern_type: int = 3
    principal: str = ''
    host: str = ''
    operation: int = 0
    permission_type: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("resource_type", "int8", (0, LAST)),
            Field("resource_name", "string", (0, LAST)),
            Field("pattern_type", "int8", (1, LAST)),
            Field("principal", "string", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("operation", "int8", (0, LAST)),
            Field("permission_type", "int8", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAclsFilterResult(Message):
    error_code: int = 0
    error_message: str | None = ''
    matching_acls: Sequence[DeleteAclsMatchingAcl] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("matching_acls", "[]DeleteAclsMatchingAcl", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"DeleteAclsMatchingAcl": DeleteAclsMatchingAcl}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAclsResponse(Message):
    throttle_time_ms: int = 0
    filter_results: Sequence[DeleteAclsFilterResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("filter_results", "[]DeleteAclsFilterResult", (0, LAST)),
        ), valid=(1, 3), flexible=(2, LAST), api_key=31
    )
    STRUCTS: ClassVar[Structs] = {"DeleteAclsFilterResult": DeleteAclsFilterResult}
