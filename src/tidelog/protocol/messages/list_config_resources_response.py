# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ConfigResource(Message):
    __slots__ = (
        "resource_name",
        "resource_type",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resource_name", "string", (0, LAST)),
            Field("resource_type", "int8", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        resource_name: str = '',
        resource_type: int = 16,
    ) -> None:
        self.resource_name: Final = resource_name
        self.resource_type: Final = resource_type


class ListConfigResourcesResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "config_resources",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("config_resources", "[]ConfigResource", (0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=74
    )
    STRUCTS: ClassVar[Structs] = {"ConfigResource": ConfigResource}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: Sequence[ConfigResource] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.config_resources: Final = config_resources
