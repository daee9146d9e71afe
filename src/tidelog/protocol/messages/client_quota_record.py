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


class ClientQuotaRecord(Message):
    __slots__ = (
        "entity",
        "key",
        "value",
        "remove",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("entity", "[]EntityData", (0, LAST)),
            Field("key", "string", (0, LAST)),
            Field("value", "float64", (0, LAST)),
            Field("remove", "bool", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=14
    )
    STRUCTS: ClassVar[Structs] = {"EntityData": EntityData}

    def __init__(
        self,
        *,
        entity: Sequence[EntityData] = (),
        key: str = '',
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.entity: Final = entity
        self.key: Final = key
        self.value: Final = value
        self.remove: Final = remove
