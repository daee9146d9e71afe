# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ListConfigResourcesRequest(Message):
    __slots__ = (
        "resource_types",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("resource_types", "[]int8", (1, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=74
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        resource_types: Sequence[int] = (),
    ) -> None:
        self.resource_types: Final = resource_types
