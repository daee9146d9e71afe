# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DescribeGroupsRequest(Message):
    __slots__ = (
        "groups",
        "include_authorized_operations",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("groups", "[]string", (0, LAST)),
            Field("include_authorized_operations", "bool", (3, LAST)),
        ), valid=(0, 6), flexible=(5, LAST), api_key=15
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        groups: Sequence[str] = (),
        include_authorized_operations: bool = False,
    ) -> None:
        self.groups: Final = groups
        self.include_authorized_operations: Final = include_authorized_operations
