# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class MemberIdentity(Message):
    __slots__ = (
        "member_id",
        "group_instance_id",
        "reason",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("member_id", "string", (3, LAST)),
            Field("group_instance_id", "string", (3, LAST), nullable=(3, LAST)),
            Field("reason", "string", (5, LAST), nullable=(5, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        member_id: str = '',
        group_instance_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.member_id: Final = member_id
        self.group_instance_id: Final = group_instance_id
        self.reason: Final = reason


class LeaveGroupRequest(Message):
    __slots__ = (
        "group_id",
        "member_id",
        "members",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, LAST)),
            Field("member_id", "string", (0, 2)),
            Field("members", "[]MemberIdentity", (3, LAST)),
        ), valid=(0, 5), flexible=(4, LAST), api_key=13
    )
    STRUCTS: ClassVar[Structs] = {"MemberIdentity": MemberIdentity}

    def __init__(
        self,
        *,
        group_id: str = '',
        member_id: str = '',
        members: Sequence[MemberIdentity] = (),
    ) -> None:
        self.group_id: Final = group_id
        self.member_id: Final = member_id
        self.members: Final = members
