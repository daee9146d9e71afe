# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class SyncGroupRequestAssignment(Message):
    __slots__ = (
        "member_id",
        "assignment",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("member_id", "string", (0, LAST)),
            Field("assignment", "bytes", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        member_id: str = '',
        assignment: bytes = b'',
    ) -> None:
        self.member_id: Final = member_id
        self.assignment: Final = assignment


class SyncGroupRequest(Message):
    __slots__ = (
        "group_id",
        "generation_id",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocol_name",
        "assignments",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, LAST)),
            Field("generation_id", "int32", (0, LAST)),
            Field("member_id", "string", (0, LAST)),
            Field("group_instance_id", "string", (3, LAST), nullable=(3, LAST)),
            Field("protocol_type", "string", (5, LAST), nullable=(5, LAST)),
            Field("protocol_name", "string", (5, LAST), nullable=(5, LAST)),
            Field("assignments", "[]SyncGroupRequestAssignment", (0, LAST)),
        ), valid=(0, 5), flexible=(4, LAST), api_key=14
    )
    STRUCTS: ClassVar[Structs] = {"SyncGroupRequestAssignment": SyncGroupRequestAssignment}

    def __init__(
        self,
        *,
        group_id: str = '',
        generation_id: int = 0,
        member_id: str = '',
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: Sequence[SyncGroupRequestAssignment] = (),
    ) -> None:
        self.group_id: Final = group_id
        self.generation_id: Final = generation_id
        self.member_id: Final = member_id
        self.group_instance_id: Final = group_instance_id
        self.protocol_type: Final = protocol_type
        self.protocol_name: Final = protocol_name
        self.assignments: Final = assignments
