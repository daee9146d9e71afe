# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOffsetsToTxnRequest(Message):
    transactional_id: str = ''
    producer_id: int = 0
    producer_epoch: int = 0
    group_id: str = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactional_id", "string", (0, LAST)),
            Field("producer_id", "int64", (0, LAST)),
            Field("producer_epoch", "int16", (0, LAST)),
            Field("group_id", "string", (0, LAST)),
        ), valid=(0, 4), flexible=(3, LAST), api_key=25
    )
    STRUCTS: ClassVar[Structs] = {}
