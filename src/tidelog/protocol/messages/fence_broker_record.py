# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class FenceBrokerRecord(Message):
    __slots__ = (
        "id",
        "epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("id", "int32", (0, LAST)),
            Field("epoch", "int64", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=7
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        id: int = 0,
        epoch: int = 0,
    ) -> None:
        self.id: Final = id
        self.epoch: Final = epoch
