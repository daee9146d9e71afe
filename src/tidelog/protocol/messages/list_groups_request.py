# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ListGroupsRequest(Message):
    __slots__ = (
        "states_filter",
        "types_filter",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("states_filter", "[]string", (4, LAST)),
            Field("types_filter", "[]string", (5, LAST)),
        ), valid=(0, 5), flexible=(3, LAST), api_key=16
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        states_filter: Sequence[str] = (),
        types_filter: Sequence[str] = (),
    ) -> None:
        self.states_filter: Final = states_filter
        self.types_filter: Final = types_filter
