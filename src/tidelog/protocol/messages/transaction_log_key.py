# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, Message, NEVER, Schema, Structs


class TransactionLogKey(Message):
    __slots__ = (
        "transactional_id",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactional_id", "string", (0, 0)),
        ), valid=(0, 0), flexible=NEVER, api_key=0
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        transactional_id: str = '',
    ) -> None:
        self.transactional_id: Final = transactional_id
