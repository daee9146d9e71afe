# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class AddPartitionsToTxnTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[int] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class AddPartitionsToTxnTransaction(Message):
    __slots__ = (
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "verify_only",
        "topics",
    )
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

    def __init__(
        self,
        *,
        transactional_id: str = '',
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: Sequence[AddPartitionsToTxnTopic] = (),
    ) -> None:
        self.transactional_id: Final = transactional_id
        self.producer_id: Final = producer_id
        self.producer_epoch: Final = producer_epoch
        self.verify_only: Final = verify_only
        self.topics: Final = topics


class AddPartitionsToTxnRequest(Message):
    __slots__ = (
        "transactions",
        "v3_and_below_transactional_id",
        "v3_and_below_producer_id",
        "v3_and_below_producer_epoch",
        "v3_and_below_topics",
    )
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

    def __init__(
        self,
        *,
        transactions: Sequence[AddPartitionsToTxnTransaction] = (),
        v3_and_below_transactional_id: str = '',
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: Sequence[AddPartitionsToTxnTopic] = (),
    ) -> None:
        self.transactions: Final = transactions
        self.v3_and_below_transactional_id: Final = v3_and_below_transactional_id
        self.v3_and_below_producer_id: Final = v3_and_below_producer_id
        self.v3_and_below_producer_epoch: Final = v3_and_below_producer_epoch
        self.v3_and_below_topics: Final = v3_and_below_topics
