# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxnTopic(Message):
    name: str = ''
    partitions: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxnTransaction(Message):
    transactional_id: str = ''
    producer_id: int = 0
    producer_epoch: int = 0
    verify_only: bool = False
    topics: Sequence[AddPartitionsToTxnTopic] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactional_id", "string", (4, LAST)),
            Field("producer_id", "int64", (4, LAST)),
            Field("producer_epoch", "int16", (4, LAST)),
            Field("verify_only", "bool", (4, LAST)),
            Field("topics", "[]AddPartitionsToTxnTopic", (4, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"AddPartitionsToTxnTopic": AddPartitionsToTxnTopic}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxnRequest(Message):
    transactions: Sequence[AddPartitionsToTxnTransaction] = ()
    v3_and_below_transactional_id: str = ''
    v3_and_below_producer_id: int = 0
    v3_and_below_producer_epoch: int = 0
    v3_and_below_topics: Sequence[AddPartitionsToTxnTopic] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactions", "[]AddPartitionsToTxnTransaction", (4, LAST)),
            Field("v3_and_below_transactional_id", "string", (0, 3)),
            Field("v3_and_below_producer_id", "int64", (0, 3)),
            Field("v3_and_below_producer_epoch", "int16", (0, 3)),
            Field("v3_and_below_topics", "[]AddPartitionsToTxnTopic", (0, 3)),
        ), valid=(0, 5), flexible=(3, LAST), api_key=24
    )
    STRUCTS: ClassVar[Structs] = {"AddPartitionsToTxnTransaction": AddPartitionsToTxnTransaction, "AddPartitionsToTxnTopic": AddPartitionsToTxnTopic}
