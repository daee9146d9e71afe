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


class OpData(Message):
    __slots__ = (
        "key",
        "value",
        "remove",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("key", "string", (0, LAST)),
            Field("value", "float64", (0, LAST)),
            Field("remove", "bool", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        key: str = '',
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.key: Final = key
        self.value: Final = value
        self.remove: Final = remove


class EntryData(Message):
    __slots__ = (
        "entity",
        "ops",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("entity", "[]EntityData", (0, LAST)),
            Field("ops", "[]OpData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"EntityData": EntityData, "OpData": OpData}

    def __init__(
        self,
        *,
        entity: Sequence[EntityData] = (),
        ops: Sequence[OpData] = (),
    ) -> None:
        self.entity: Final = entity
        self.ops: Final = ops


class AlterClientQuotasRequest(Message):
    __slots__ = (
        "entries",
        "validate_only",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("entries", "[]EntryData", (0, LAST)),
            Field("validate_only", "bool", (0, LAST)),
        ), valid=(0, 1), flexible=(1, LAST), api_key=49
    )
    STRUCTS: ClassVar[Structs] = {"EntryData": EntryData}

    def __init__(
        self,
        *,
        entries: Sequence[EntryData] = (),
        validate_only: bool = False,
    ) -> None:
        self.entries: Final = entries
        self.validate_only: Final = validate_only
