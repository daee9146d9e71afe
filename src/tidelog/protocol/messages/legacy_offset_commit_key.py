# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, Message, NEVER, Schema, Structs


class LegacyOffsetCommitKey(Message):
    __slots__ = (
        "group",
        "topic",
        "partition",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group", "string", (0, 0)),
            Field("topic", "string", (0, 0)),
            Field("partition", "int32", (0, 0)),
        ), valid=(0, 0), flexible=NEVER, api_key=0
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        group: str = '',
        topic: str = '',
        partition: int = 0,
    ) -> None:
        self.group: Final = group
        self.topic: Final = topic
        self.partition: Final = partition
