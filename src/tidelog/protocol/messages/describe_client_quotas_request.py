# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentData(Message):
    entity_type: str = ''
    match_type: int = 0
    match: str | None = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("entity_type", "string", (0, LAST)),
            Field("match_type", "int8", (0, LAST)),
            Field("match", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientQuotasRequest(Message):
    components: Sequence[ComponentData] = ()
    strict: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("components", "[]ComponentData", (0, LAST)),
            Field("strict", "bool", (0, LAST)),
        ), valid=(0, 1), flexible=(1, LAST), api_key=48
    )
    STRUCTS: ClassVar[Structs] = {"ComponentData": ComponentData}
