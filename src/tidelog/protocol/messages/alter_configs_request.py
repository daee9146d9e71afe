# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class AlterableConfig(Message):
    __slots__ = (
        "name",
        "value",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("value", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        value: str | None = '',
    ) -> None:
        self.name: Final = name
        self.value: Final = value


class AlterConfigsResource(Message):
    __slots__ = (
        "resource_type",
        "resource_name",
        "configs",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resource_type", "int8", (0, LAST)),
            Field("resource_name", "string", (0, LAST)),
            Field("configs", "[]AlterableConfig", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"AlterableConfig": AlterableConfig}

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = '',
        configs: Sequence[AlterableConfig] = (),
    ) -> None:
        self.resource_type: Final = resource_type
        self.resource_name: Final = resource_name
        self.configs: Final = configs


class AlterConfigsRequest(Message):
    __slots__ = (
        "resources",
        "validate_only",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resources", "[]AlterConfigsResource", (0, LAST)),
            Field("validate_only", "bool", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=33
    )
    STRUCTS: ClassVar[Structs] = {"AlterConfigsResource": AlterConfigsResource}

    def __init__(
        self,
        *,
        resources: Sequence[AlterConfigsResource] = (),
        validate_only: bool = False,
    ) -> None:
        self.resources: Final = resources
        self.validate_only: Final = validate_only
