# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class PartitionsSchema(Message):
    __slots__ = (
        "topic",
        "partition_ids",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, LAST)),
            Field("partition_ids", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        topic: str = '',
        partition_ids: Sequence[int] = (),
    ) -> None:
        self.topic: Final = topic
        self.partition_ids: Final = partition_ids


class TransactionLogValue(Message):
    __slots__ = (
        "producer_id",
        "previous_producer_id",
        "next_producer_id",
        "producer_epoch",
        "next_producer_epoch",
        "transaction_timeout_ms",
        "transaction_status",
        "transaction_partitions",
        "transaction_last_update_timestamp_ms",
        "transaction_start_timestamp_ms",
        "client_transaction_version",
    )
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

    def __init__(
        self,
        *,
        producer_id: int = 0,
        previous_producer_id: int = -1,
        next_producer_id: int = -1,
        producer_epoch: int = 0,
        next_producer_epoch: int = -1,
        transaction_timeout_ms: int = 0,
        transaction_status: int = 0,
        transaction_partitions: Sequence[PartitionsSchema] | None = (),
        transaction_last_update_timestamp_ms: int = 0,
        transaction_start_timestamp_ms: int = 0,
        client_transaction_version: int = 0,
    ) -> None:
        self.producer_id: Final = producer_id
        self.previous_producer_id: Final = previous_producer_id
        self.next_producer_id: Final = next_producer_id
        self.producer_epoch: Final = producer_epoch
        self.next_producer_epoch: Final = next_producer_epoch
        self.transaction_timeout_ms: Final = transaction_timeout_ms
        self.transaction_status: Final = transaction_status
        self.transaction_partitions: Final = transaction_partitions
        self.transaction_last_update_timestamp_ms: Final = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms: Final = transaction_start_timestamp_ms
        self.client_transaction_version: Final = client_transaction_version
