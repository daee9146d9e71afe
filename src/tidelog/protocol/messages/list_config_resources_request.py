# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ListConfigResourcesRequest(Message):
    resource_types: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resource_types", "[]int8", (1, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=74
    )
    STRUCTS: ClassVar[Structs] = {}
