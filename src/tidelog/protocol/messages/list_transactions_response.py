# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class TransactionState(Message):
    __slots__ = (
        "transactional_id",
        "producer_id",
        "transaction_state",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactional_id", "string", (0, LAST)),
            Field("producer_id", "int64", (0, LAST)),
            Field("transaction_state", "string", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        transactional_id: str = '',
        producer_id: int = 0,
        transaction_state: str = '',
    ) -> None:
        self.transactional_id: Final = transactional_id
        self.producer_id: Final = producer_id
        self.transaction_state: Final = transaction_state


class ListTransactionsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "unknown_state_filters",
        "transaction_states",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("unknown_state_filters", "[]string", (0, LAST)),
            Field("transaction_states", "[]TransactionState", (0, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=66
    )
    STRUCTS: ClassVar[Structs] = {"TransactionState": TransactionState}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: Sequence[str] = (),
        transaction_states: Sequence[TransactionState] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.unknown_state_filters: Final = unknown_state_filters
        self.transaction_states: Final = transaction_states
