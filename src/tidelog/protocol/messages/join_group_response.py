# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class JoinGroupResponseMember(Message):
    __slots__ = (
        "member_id",
        "group_instance_id",
        "metadata",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("member_id", "string", (0, LAST)),
            Field("group_instance_id", "string", (5, LAST), nullable=(5, LAST)),
            Field("metadata", "bytes", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        member_id: str = '',
        group_instance_id: str | None = None,
        metadata: bytes = b'',
    ) -> None:
        self.member_id: Final = member_id
        self.group_instance_id: Final = group_instance_id
        self.metadata: Final = metadata


class JoinGroupResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "generation_id",
        "protocol_type",
        "protocol_name",
        "leader",
        "skip_assignment",
        "member_id",
        "members",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (2, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("generation_id", "int32", (0, LAST)),
            Field("protocol_type", "string", (7, LAST), nullable=(7, LAST)),
            Field("protocol_name", "string", (0, LAST), nullable=(7, LAST)),
            Field("leader", "string", (0, LAST)),
            Field("skip_assignment", "bool", (9, LAST)),
            Field("member_id", "string", (0, LAST)),
            Field("members", "[]JoinGroupResponseMember", (0, LAST)),
        ), valid=(0, 9), flexible=(6, LAST), api_key=11
    )
    STRUCTS: ClassVar[Structs] = {"JoinGroupResponseMember": JoinGroupResponseMember}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = '',
        leader: str = '',
        skip_assignment: bool = False,
        member_id: str = '',
        members: Sequence[JoinGroupResponseMember] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.generation_id: Final = generation_id
        self.protocol_type: Final = protocol_type
        self.protocol_name: Final = protocol_name
        self.leader: Final = leader
        self.skip_assignment: Final = skip_assignment
        self.member_id: Final = member_id
        self.members: Final = members
