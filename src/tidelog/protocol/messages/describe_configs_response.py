# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsSynonym(Message):
    name: str = ''
    value: str | None = ''
    source: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (1, LAST)),
            Field("value", "string", (1, LAST), nullable=(0, LAST)),
            Field("source", "int8", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsResourceResult(Message):
    name: str = ''
    value: str | None = ''
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False
    synonyms: Sequence[DescribeConfigsSynonym] = ()
    config_type: int = 0
    documentation: str | None = ''
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsResult(Message):
    error_code: int = 0
    error_message: str | None = ''
    resource_type: int = 0
    resource_name: str = ''
    configs: Sequence[DescribeConfigsResourceResult] = ()
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsResponse(Message):
    throttle_time_ms: int = 0
    results: Sequence[DescribeConfigsResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("results", "[]DescribeConfigsResult", (0, LAST)),
        ), valid=(1, 4), flexible=(4, LAST), api_key=32
    )
    STRUCTS: ClassVar[Structs] = {"DescribeConfigsResult": DescribeConfigsResult}
