# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerIdRequest(Message):
    transactional_id: str | None = ''
    transaction_timeout_ms: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    enable2_pc: bool = False
    keep_prepared_txn: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactional_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("transaction_timeout_ms", "int32", (0, LAST)),
            Field("producer_id", "int64", (3, LAST)),
            Field("producer_epoch", "int16", (3, LAST)),
            Field("enable2_pc", "bool", (6, LAST)),
            Field("keep_prepared_txn", "bool", (6, LAST)),
        ), valid=(0, 6), flexible=(2, LAST), api_key=22
    )
    STRUCTS: ClassVar[Structs] = {}
