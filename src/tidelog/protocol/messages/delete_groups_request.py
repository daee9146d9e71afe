# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DeleteGroupsRequest(Message):
    __slots__ = (
        "groups_names",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("groups_names", "[]string", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=42
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        groups_names: Sequence[str] = (),
    ) -> None:
        self.groups_names: Final = groups_names
