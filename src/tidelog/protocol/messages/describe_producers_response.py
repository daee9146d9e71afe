# Written by tools/generate_messages.py from Apache Kafka's schemas and message_extensions.json: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class RetainedBatch(Message):
    __slots__ = (
        "base_sequence",
        "last_sequence",
        "last_offset",
        "timestamp",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("base_sequence", "int32", (0, LAST)),
            Field("last_sequence", "int32", (0, LAST)),
            Field("last_offset", "int64", (0, LAST)),
            Field("timestamp", "int64", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        base_sequence: int = -1,
        last_sequence: int = -1,
        last_offset: int = 0,
        timestamp: int = -1,
    ) -> None:
        self.base_sequence: Final = base_sequence
        self.last_sequence: Final = last_sequence
        self.last_offset: Final = last_offset
        self.timestamp: Final = timestamp


class ProducerState(Message):
    __slots__ = (
        "producer_id",
        "producer_epoch",
        "last_sequence",
        "last_timestamp",
        "coordinator_epoch",
        "current_txn_start_offset",
        "last_batches",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("producer_id", "int64", (0, LAST)),
            Field("producer_epoch", "int32", (0, LAST)),
            Field("last_sequence", "int32", (0, LAST)),
            Field("last_timestamp", "int64", (0, LAST)),
            Field("coordinator_epoch", "int32", (0, LAST)),
            Field("current_txn_start_offset", "int64", (0, LAST)),
            Field("last_batches", "[]RetainedBatch", (0, LAST), nullable=(0, LAST), tagged=(0, LAST), tag=10000),
        )
    )
    STRUCTS: ClassVar[Structs] = {"RetainedBatch": RetainedBatch}

    def __init__(
        self,
        *,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
        last_batches: Sequence[RetainedBatch] | None = None,
    ) -> None:
        self.producer_id: Final = producer_id
        self.producer_epoch: Final = producer_epoch
        self.last_sequence: Final = last_sequence
        self.last_timestamp: Final = last_timestamp
        self.coordinator_epoch: Final = coordinator_epoch
        self.current_txn_start_offset: Final = current_txn_start_offset
        self.last_batches: Final = last_batches


class PartitionResponse(Message):
    __slots__ = (
        "partition_index",
        "error_code",
        "error_message",
        "active_producers",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("active_producers", "[]ProducerState", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"ProducerState": ProducerState}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: Sequence[ProducerState] = (),
    ) -> None:
        self.partition_index: Final = partition_index
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.active_producers: Final = active_producers


class TopicResponse(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]PartitionResponse", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionResponse": PartitionResponse}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[PartitionResponse] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class DescribeProducersResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("topics", "[]TopicResponse", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=61
    )
    STRUCTS: ClassVar[Structs] = {"TopicResponse": TopicResponse}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[TopicResponse] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.topics: Final = topics
