# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DescribeTransactionsRequest(Message):
    __slots__ = (
        "transactional_ids",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactional_ids", "[]string", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=65
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        transactional_ids: Sequence[str] = (),
    ) -> None:
        self.transactional_ids: Final = transactional_ids
