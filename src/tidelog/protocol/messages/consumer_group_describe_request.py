# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ConsumerGroupDescribeRequest(Message):
    __slots__ = (
        "group_ids",
        "include_authorized_operations",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_ids", "[]string", (0, LAST)),
            Field("include_authorized_operations", "bool", (0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=69
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        group_ids: Sequence[str] = (),
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids: Final = group_ids
        self.include_authorized_operations: Final = include_authorized_operations
