# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ComponentData(Message):
    __slots__ = (
        "entity_type",
        "match_type",
        "match",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("entity_type", "string", (0, LAST)),
            Field("match_type", "int8", (0, LAST)),
            Field("match", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        entity_type: str = '',
        match_type: int = 0,
        match: str | None = '',
    ) -> None:
        self.entity_type: Final = entity_type
        self.match_type: Final = match_type
        self.match: Final = match


class DescribeClientQuotasRequest(Message):
    __slots__ = (
        "components",
        "strict",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("components", "[]ComponentData", (0, LAST)),
            Field("strict", "bool", (0, LAST)),
        ), valid=(0, 1), flexible=(1, LAST), api_key=48
    )
    STRUCTS: ClassVar[Structs] = {"ComponentData": ComponentData}

    def __init__(
        self,
        *,
        components: Sequence[ComponentData] = (),
        strict: bool = False,
    ) -> None:
        self.components: Final = components
        self.strict: Final = strict
