# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsSchema(Message):
    topic: str = ''
    partition_ids: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, LAST)),
            Field("partition_ids", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionLogValue(Message):
    producer_id: int = 0
    previous_producer_id: int = -1
    next_producer_id: int = -1
    producer_epoch: int = 0
    next_producer_epoch: int = -1
    transaction_timeout_ms: int = 0
    transaction_status: int = 0
    transaction_partitions: Sequence[PartitionsSchema] | None = ()
    transaction_last_update_timestamp_ms: int = 0
    transaction_start_timestamp_ms: int = 0
    client_transaction_version: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("producer_id", "int64", (0, LAST)),
            Field("previous_producer_id", "int64", (0, LAST), tagged=(1, LAST), tag=0, default=-1),
            Field("next_producer_id", "int64", (0, LAST), tagged=(1, LAST), tag=1, default=-1),
            Field("producer_epoch", "int16", (0, LAST)),
            Field("next_producer_epoch", "int16", (0, LAST), tagged=(1, LAST), tag=3, default=-1),
            Field("transaction_timeout_ms", "int32", (0, LAST)),
            Field("transaction_status", "int8", (0, LAST)),
            Field("transaction_partitions", "[]PartitionsSchema", (0, LAST), nullable=(0, LAST)),
            Field("transaction_last_update_timestamp_ms", "int64", (0, LAST)),
            Field("transaction_start_timestamp_ms", "int64", (0, LAST)),
            Field("client_transaction_version", "int16", (0, LAST), tagged=(1, LAST), tag=2, default=0),
        ), valid=(0, 1), flexible=(1, LAST), api_key=0
    )
    STRUCTS: ClassVar[Structs] = {"PartitionsSchema": PartitionsSchema}
