# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsResource(Message):
    resource_type: int = 0
    resource_name: str = ''
    configuration_keys: Sequence[str] | None = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resource_type", "int8", (0, LAST)),
            Field("resource_name", "string", (0, LAST)),
            Field("configuration_keys", "[]string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsRequest(Message):
    resources: Sequence[DescribeConfigsResource] = ()
    include_synonyms: bool = False
    include_documentation: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resources", "[]DescribeConfigsResource", (0, LAST)),
            Field("include_synonyms", "bool", (1, LAST)),
            Field("include_documentation", "bool", (3, LAST)),
        ), valid=(1, 4), flexible=(4, LAST), api_key=32
    )
    STRUCTS: ClassVar[Structs] = {"DescribeConfigsResource": DescribeConfigsResource}
