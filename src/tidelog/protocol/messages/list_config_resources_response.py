# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigResource(Message):
    resource_name: str = ''
    resource_type: int = 16
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resource_name", "string", (0, LAST)),
            Field("resource_type", "int8", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListConfigResourcesResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    config_resources: Sequence[ConfigResource] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("config_resources", "[]ConfigResource", (0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=74
    )
    STRUCTS: ClassVar[Structs] = {"ConfigResource": ConfigResource}
