# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


class EndTxnMarker(Message):
    __slots__ = (
        "coordinator_epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("coordinator_epoch", "int32", (0, LAST)),
        ), valid=(0, 0), flexible=NEVER
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        coordinator_epoch: int = 0,
    ) -> None:
        self.coordinator_epoch: Final = coordinator_epoch
