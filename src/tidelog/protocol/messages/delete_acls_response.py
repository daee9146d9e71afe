# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DeleteAclsMatchingAcl(Message):
    __slots__ = (
        "error_code",
        "error_message",
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

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = '',
        resource_type: int = 0,
        resource_name: str = '',
        pattern_type: int = 3,
        principal: str = '',
        host: str = '',
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.resource_type: Final = resource_type
        self.resource_name: Final = resource_name
        self.pattern_type: Final = pattern_type
        self.principal: Final = principal
        self.host: Final = host
        self.operation: Final = operation
        self.permission_type: Final = permission_type


class DeleteAclsFilterResult(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "matching_acls",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("matching_acls", "[]DeleteAclsMatchingAcl", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"DeleteAclsMatchingAcl": DeleteAclsMatchingAcl}

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = '',
        matching_acls: Sequence[DeleteAclsMatchingAcl] = (),
    ) -> None:
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.matching_acls: Final = matching_acls


class DeleteAclsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "filter_results",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("filter_results", "[]DeleteAclsFilterResult", (0, LAST)),
        ), valid=(1, 3), flexible=(2, LAST), api_key=31
    )
    STRUCTS: ClassVar[Structs] = {"DeleteAclsFilterResult": DeleteAclsFilterResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        filter_results: Sequence[DeleteAclsFilterResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.filter_results: Final = filter_results
