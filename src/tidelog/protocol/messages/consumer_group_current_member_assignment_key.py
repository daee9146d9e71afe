# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, Message, NEVER, Schema, Structs


class ConsumerGroupCurrentMemberAssignmentKey(Message):
    __slots__ = (
        "group_id",
        "member_id",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, 0)),
            Field("member_id", "string", (0, 0)),
        ), valid=(0, 0), flexible=NEVER, api_key=8
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        group_id: str = '',
        member_id: str = '',
    ) -> None:
        self.group_id: Final = group_id
        self.member_id: Final = member_id
