# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class InitProducerIdRequest(Message):
    __slots__ = (
        "transactional_id",
        "transaction_timeout_ms",
        "producer_id",
        "producer_epoch",
        "enable2_pc",
        "keep_prepared_txn",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactional_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("transaction_timeout_ms", "int32", (0, LAST)),
            Field("producer_id", "int64", (3, LAST)),
            Field("producer_epoch", "int16", (3, LAST)),
            Field("enable2_pc", "bool", (6, LAST)),
            Field("keep_prepared_txn", "bool", (6, LAST)),
        ), valid=(0, 6), flexible=(2, LAST), api_key=22
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        transactional_id: str | None = '',
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        enable2_pc: bool = False,
        keep_prepared_txn: bool = False,
    ) -> None:
        self.transactional_id: Final = transactional_id
        self.transaction_timeout_ms: Final = transaction_timeout_ms
        self.producer_id: Final = producer_id
        self.producer_epoch: Final = producer_epoch
        self.enable2_pc: Final = enable2_pc
        self.keep_prepared_txn: Final = keep_prepared_txn
