# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterableConfig(Message):
    name: str = ''
    value: str | None = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("value", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsResource(Message):
    resource_type: int = 0
    resource_name: str = ''
    configs: Sequence[AlterableConfig] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resource_type", "int8", (0, LAST)),
            Field("resource_name", "string", (0, LAST)),
            Field("configs", "[]AlterableConfig", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"AlterableConfig": AlterableConfig}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsRequest(Message):
    resources: Sequence[AlterConfigsResource] = ()
    validate_only: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resources", "[]AlterConfigsResource", (0, LAST)),
            Field("validate_only", "bool", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=33
    )
    STRUCTS: ClassVar[Structs] = {"AlterConfigsResource": AlterConfigsResource}
