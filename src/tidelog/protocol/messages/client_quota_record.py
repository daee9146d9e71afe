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
class ClientQuotaRecord(Message):
    entity: Sequence[EntityData] = ()
    key: str = ''
    value: float = 0.0
    remove: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("entity", "[]EntityData", (0, LAST)),
            Field("key", "string", (0, LAST)),
            Field("value", "float64", (0, LAST)),
            Field("remove", "bool", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=14
    )
    STRUCTS: ClassVar[Structs] = {"EntityData": EntityData}
