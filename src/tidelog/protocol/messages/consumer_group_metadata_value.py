# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ConsumerGroupMetadataValue(Message):
    __slots__ = (
        "epoch",
        "metadata_hash",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("epoch", "int32", (0, LAST)),
            Field("metadata_hash", "int64", (0, LAST), tagged=(0, LAST), tag=0, default=0),
        ), valid=(0, 0), flexible=(0, LAST), api_key=3
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch: Final = epoch
        self.metadata_hash: Final = metadata_hash
