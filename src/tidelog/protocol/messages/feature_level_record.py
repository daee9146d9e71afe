# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class FeatureLevelRecord(Message):
    __slots__ = (
        "name",
        "feature_level",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("feature_level", "int16", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=12
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        feature_level: int = 0,
    ) -> None:
        self.name: Final = name
        self.feature_level: Final = feature_level
