# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerState(Message):
    producer_id: int = 0
    producer_epoch: int = 0
    last_sequence: int = -1
    last_timestamp: int = -1
    coordinator_epoch: int = 0
    current_txn_start_offset: int = -1
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("producer_id", "int64", (0, LAST)),
            Field("producer_epoch", "int32", (0, LAST)),
            Field("last_sequence", "int32", (0, LAST)),
            Field("last_timestamp", "int64", (0, LAST)),
            Field("coordinator_epoch", "int32", (0, LAST)),
            Field("current_txn_start_offset", "int64", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionResponse(Message):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    active_producers: Sequence[ProducerState] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("active_producers", "[]ProducerState", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"ProducerState": ProducerState}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicResponse(Message):
    name: str = ''
    partitions: Sequence[PartitionResponse] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]PartitionResponse", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionResponse": PartitionResponse}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeProducersResponse(Message):
    throttle_time_ms: int = 0
    topics: Sequence[TopicResponse] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("topics", "[]TopicResponse", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=61
    )
    STRUCTS: ClassVar[Structs] = {"TopicResponse": TopicResponse}
