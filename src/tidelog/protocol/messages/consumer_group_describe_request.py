# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribeRequest(Message):
    group_ids: Sequence[str] = ()
    include_authorized_operations: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_ids", "[]string", (0, LAST)),
            Field("include_authorized_operations", "bool", (0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=69
    )
    STRUCTS: ClassVar[Structs] = {}
