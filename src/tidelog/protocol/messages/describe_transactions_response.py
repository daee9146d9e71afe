# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class TopicData(Message):
    __slots__ = (
        "topic",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        topic: str = '',
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic: Final = topic
        self.partitions: Final = partitions


class TransactionState(Message):
    __slots__ = (
        "error_code",
        "transactional_id",
        "transaction_state",
        "transaction_timeout_ms",
        "transaction_start_time_ms",
        "producer_id",
        "producer_epoch",
        "topics",
    )
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

    def __init__(
        self,
        *,
        error_code: int = 0,
        transactional_id: str = '',
        transaction_state: str = '',
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: Sequence[TopicData] = (),
    ) -> None:
        self.error_code: Final = error_code
        self.transactional_id: Final = transactional_id
        self.transaction_state: Final = transaction_state
        self.transaction_timeout_ms: Final = transaction_timeout_ms
        self.transaction_start_time_ms: Final = transaction_start_time_ms
        self.producer_id: Final = producer_id
        self.producer_epoch: Final = producer_epoch
        self.topics: Final = topics


class DescribeTransactionsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "transaction_states",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("transaction_states", "[]TransactionState", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=65
    )
    STRUCTS: ClassVar[Structs] = {"TransactionState": TransactionState}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        transaction_states: Sequence[TransactionState] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.transaction_states: Final = transaction_states
