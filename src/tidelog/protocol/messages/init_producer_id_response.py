# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerIdResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = 0
    ongoing_txn_producer_id: int = -1
    ongoing_txn_producer_epoch: int = -1
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("producer_id", "int64", (0, LAST)),
            Field("producer_epoch", "int16", (0, LAST)),
            Field("ongoing_txn_producer_id", "int64", (6, LAST)),
            Field("ongoing_txn_producer_epoch", "int16", (6, LAST)),
        ), valid=(0, 6), flexible=(2, LAST), api_key=22
    )
    STRUCTS: ClassVar[Structs] = {}
