# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsRequest(Message):
    states_filter: Sequence[str] = ()
    types_filter: Sequence[str] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("states_filter", "[]string", (4, LAST)),
            Field("types_filter", "[]string", (5, LAST)),
        ), valid=(0, 5), flexible=(3, LAST), api_key=16
    )
    STRUCTS: ClassVar[Structs] = {}
