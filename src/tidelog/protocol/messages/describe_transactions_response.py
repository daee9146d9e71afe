# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicData(Message):
    topic: str = ''
    partitions: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionState(Message):
    error_code: int = 0
    transactional_id: str = ''
    transaction_state: str = ''
    transaction_timeout_ms: int = 0
    transaction_start_time_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    topics: Sequence[TopicData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("transactional_id", "string", (0, LAST)),
            Field("transaction_state", "string", (0, LAST)),
            Field("transaction_timeout_ms", "int32", (0, LAST)),
            Field("transaction_start_time_ms", "int64", (0, LAST)),
            Field("producer_id", "int64", (0, LAST)),
            Field("producer_epoch", "int16", (0, LAST)),
            Field("topics", "[]TopicData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransactionsResponse(Message):
    throttle_time_ms: int = 0
    transaction_states: Sequence[TransactionState] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("transaction_states", "[]TransactionState", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=65
    )
    STRUCTS: ClassVar[Structs] = {"TransactionState": TransactionState}
