# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DescribeConfigsResource(Message):
    __slots__ = (
        "resource_type",
        "resource_name",
        "configuration_keys",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resource_type", "int8", (0, LAST)),
            Field("resource_name", "string", (0, LAST)),
            Field("configuration_keys", "[]string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = '',
        configuration_keys: Sequence[str] | None = (),
    ) -> None:
        self.resource_type: Final = resource_type
        self.resource_name: Final = resource_name
        self.configuration_keys: Final = configuration_keys


class DescribeConfigsRequest(Message):
    __slots__ = (
        "resources",
        "include_synonyms",
        "include_documentation",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resources", "[]DescribeConfigsResource", (0, LAST)),
            Field("include_synonyms", "bool", (1, LAST)),
            Field("include_documentation", "bool", (3, LAST)),
        ), valid=(1, 4), flexible=(4, LAST), api_key=32
    )
    STRUCTS: ClassVar[Structs] = {"DescribeConfigsResource": DescribeConfigsResource}

    def __init__(
        self,
        *,
        resources: Sequence[DescribeConfigsResource] = (),
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources: Final = resources
        self.include_synonyms: Final = include_synonyms
        self.include_documentation: Final = include_documentation
