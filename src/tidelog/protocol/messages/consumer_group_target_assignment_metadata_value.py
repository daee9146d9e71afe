# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ConsumerGroupTargetAssignmentMetadataValue(Message):
    __slots__ = (
        "assignment_epoch",
        "assignment_timestamp",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("assignment_epoch", "int32", (0, LAST)),
            Field("assignment_timestamp", "int64", (0, LAST), tagged=(0, LAST), tag=0, default=0),
        ), valid=(0, 0), flexible=(0, LAST), api_key=6
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch: Final = assignment_epoch
        self.assignment_timestamp: Final = assignment_timestamp
