# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DescribeConfigsSynonym(Message):
    __slots__ = (
        "name",
        "value",
        "source",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (1, LAST)),
            Field("value", "string", (1, LAST), nullable=(0, LAST)),
            Field("source", "int8", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        value: str | None = '',
        source: int = 0,
    ) -> None:
        self.name: Final = name
        self.value: Final = value
        self.source: Final = source


class DescribeConfigsResourceResult(Message):
    __slots__ = (
        "name",
        "value",
        "read_only",
        "config_source",
        "is_sensitive",
        "synonyms",
        "config_type",
        "documentation",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("value", "string", (0, LAST), nullable=(0, LAST)),
            Field("read_only", "bool", (0, LAST)),
            Field("config_source", "int8", (1, LAST)),
            Field("is_sensitive", "bool", (0, LAST)),
            Field("synonyms", "[]DescribeConfigsSynonym", (1, LAST)),
            Field("config_type", "int8", (3, LAST)),
            Field("documentation", "string", (3, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"DescribeConfigsSynonym": DescribeConfigsSynonym}

    def __init__(
        self,
        *,
        name: str = '',
        value: str | None = '',
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: Sequence[DescribeConfigsSynonym] = (),
        config_type: int = 0,
        documentation: str | None = '',
    ) -> None:
        self.name: Final = name
        self.value: Final = value
        self.read_only: Final = read_only
        self.config_source: Final = config_source
        self.is_sensitive: Final = is_sensitive
        self.synonyms: Final = synonyms
        self.config_type: Final = config_type
        self.documentation: Final = documentation


class DescribeConfigsResult(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "resource_type",
        "resource_name",
        "configs",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("resource_type", "int8", (0, LAST)),
            Field("resource_name", "string", (0, LAST)),
            Field("configs", "[]DescribeConfigsResourceResult", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"DescribeConfigsResourceResult": DescribeConfigsResourceResult}

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = '',
        resource_type: int = 0,
        resource_name: str = '',
        configs: Sequence[DescribeConfigsResourceResult] = (),
    ) -> None:
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.resource_type: Final = resource_type
        self.resource_name: Final = resource_name
        self.configs: Final = configs


class DescribeConfigsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "results",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("results", "[]DescribeConfigsResult", (0, LAST)),
        ), valid=(1, 4), flexible=(4, LAST), api_key=32
    )
    STRUCTS: ClassVar[Structs] = {"DescribeConfigsResult": DescribeConfigsResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[DescribeConfigsResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.results: Final = results
