# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, Message, NEVER, Schema, Structs


class GroupMetadataKey(Message):
    __slots__ = (
        "group",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group", "string", (0, 0)),
        ), valid=(0, 0), flexible=NEVER, api_key=2
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        group: str = '',
    ) -> None:
        self.group: Final = group
