# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class EntityData(Message):
    __slots__ = (
        "entity_type",
        "entity_name",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("entity_type", "string", (0, LAST)),
            Field("entity_name", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        entity_type: str = '',
        entity_name: str | None = '',
    ) -> None:
        self.entity_type: Final = entity_type
        self.entity_name: Final = entity_name


class ValueData(Message):
    __slots__ = (
        "key",
        "value",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("key", "string", (0, LAST)),
            Field("value", "float64", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        key: str = '',
        value: float = 0.0,
    ) -> None:
        self.key: Final = key
        self.value: Final = value


class EntryData(Message):
    __slots__ = (
        "entity",
        "values",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("entity", "[]EntityData", (0, LAST)),
            Field("values", "[]ValueData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"EntityData": EntityData, "ValueData": ValueData}

    def __init__(
        self,
        *,
        entity: Sequence[EntityData] = (),
        values: Sequence[ValueData] = (),
    ) -> None:
        self.entity: Final = entity
        self.values: Final = values


class DescribeClientQuotasResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "entries",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("entries", "[]EntryData", (0, LAST), nullable=(0, LAST)),
        ), valid=(0, 1), flexible=(1, LAST), api_key=48
    )
    STRUCTS: ClassVar[Structs] = {"EntryData": EntryData}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = '',
        entries: Sequence[EntryData] | None = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.entries: Final = entries
