# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityData(Message):
    entity_type: str = ''
    entity_name: str | None = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("entity_type", "string", (0, LAST)),
            Field("entity_name", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryData(Message):
    error_code: int = 0
    error_message: str | None = ''
    entity: Sequence[EntityData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("entity", "[]EntityData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"EntityData": EntityData}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterClientQuotasResponse(Message):
    throttle_time_ms: int = 0
    entries: Sequence[EntryData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("entries", "[]EntryData", (0, LAST)),
        ), valid=(0, 1), flexible=(1, LAST), api_key=49
    )
    STRUCTS: ClassVar[Structs] = {"EntryData": EntryData}
