# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberIdentity(Message):
    member_id: str = ''
    group_instance_id: str | None = None
    reason: str | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("member_id", "string", (3, LAST)),
            Field("group_instance_id", "string", (3, LAST), nullable=(3, LAST)),
            Field("reason", "string", (5, LAST), nullable=(5, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupRequest(Message):
    group_id: str = ''
    member_id: str = ''
    members: Sequence[MemberIdentity] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, LAST)),
            Field("member_id", "string", (0, 2)),
            Field("members", "[]MemberIdentity", (3, LAST)),
        ), valid=(0, 5), flexible=(4, LAST), api_key=13
    )
    STRUCTS: ClassVar[Structs] = {"MemberIdentity": MemberIdentity}
