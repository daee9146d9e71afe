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


class EntryData(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "entity",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("entity", "[]EntityData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"EntityData": EntityData}

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = '',
        entity: Sequence[EntityData] = (),
    ) -> None:
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.entity: Final = entity


class AlterClientQuotasResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "entries",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("entries", "[]EntryData", (0, LAST)),
        ), valid=(0, 1), flexible=(1, LAST), api_key=49
    )
    STRUCTS: ClassVar[Structs] = {"EntryData": EntryData}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        entries: Sequence[EntryData] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.entries: Final = entries
