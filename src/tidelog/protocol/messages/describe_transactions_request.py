# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransactionsRequest(Message):
    transactional_ids: Sequence[str] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactional_ids", "[]string", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=65
    )
    STRUCTS: ClassVar[Structs] = {}
