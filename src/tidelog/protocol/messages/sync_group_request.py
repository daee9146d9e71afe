# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupRequestAssignment(Message):
    member_id: str = ''
    assignment: bytes = b''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("member_id", "string", (0, LAST)),
            Field("assignment", "bytes", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupRequest(Message):
    group_id: str = ''
    generation_id: int = 0
    member_id: str = ''
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: Sequence[SyncGroupRequestAssignment] = ()
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
