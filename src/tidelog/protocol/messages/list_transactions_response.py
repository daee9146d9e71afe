# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionState(Message):
    transactional_id: str = ''
    producer_id: int = 0
    transaction_state: str = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactional_id", "string", (0, LAST)),
            Field("producer_id", "int64", (0, LAST)),
            Field("transaction_state", "string", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTransactionsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_state_filters: Sequence[str] = ()
    transaction_states: Sequence[TransactionState] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("unknown_state_filters", "[]string", (0, LAST)),
            Field("transaction_states", "[]TransactionState", (0, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=66
    )
    STRUCTS: ClassVar[Structs] = {"TransactionState": TransactionState}
