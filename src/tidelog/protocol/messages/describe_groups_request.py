# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsRequest(Message):
    groups: Sequence[str] = ()
    include_authorized_operations: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("groups", "[]string", (0, LAST)),
            Field("include_authorized_operations", "bool", (3, LAST)),
        ), valid=(0, 6), flexible=(5, LAST), api_key=15
    )
    STRUCTS: ClassVar[Structs] = {}
