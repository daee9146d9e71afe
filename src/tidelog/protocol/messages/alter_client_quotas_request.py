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
class OpData(Message):
    key: str = ''
    value: float = 0.0
    remove: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("key", "string", (0, LAST)),
            Field("value", "float64", (0, LAST)),
            Field("remove", "bool", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryData(Message):
    entity: Sequence[EntityData] = ()
    ops: Sequence[OpData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("entity", "[]EntityData", (0, LAST)),
            Field("ops", "[]OpData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"EntityData": EntityData, "OpData": OpData}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterClientQuotasRequest(Message):
    entries: Sequence[EntryData] = ()
    validate_only: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("entries", "[]EntryData", (0, LAST)),
            Field("validate_only", "bool", (0, LAST)),
        ), valid=(0, 1), flexible=(1, LAST), api_key=49
    )
    STRUCTS: ClassVar[Structs] = {"EntryData": EntryData}
