# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroupMember(Message):
    member_id: str = ''
    group_instance_id: str | None = None
    client_id: str = ''
    client_host: str = ''
    member_metadata: bytes = b''
    member_assignment: bytes = b''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("member_id", "string", (0, LAST)),
            Field("group_instance_id", "string", (4, LAST), nullable=(4, LAST)),
            Field("client_id", "string", (0, LAST)),
            Field("client_host", "string", (0, LAST)),
            Field("member_metadata", "bytes", (0, LAST)),
            Field("member_assignment", "bytes", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup(Message):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ''
    group_state: str = ''
    protocol_type: str = ''
    protocol_data: str = ''
    members: Sequence[DescribedGroupMember] = ()
    authorized_operations: int = -2147483648
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (6, LAST), nullable=(6, LAST)),
            Field("group_id", "string", (0, LAST)),
            Field("group_state", "string", (0, LAST)),
            Field("protocol_type", "string", (0, LAST)),
            Field("protocol_data", "string", (0, LAST)),
            Field("members", "[]DescribedGroupMember", (0, LAST)),
            Field("authorized_operations", "int32", (3, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"DescribedGroupMember": DescribedGroupMember}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsResponse(Message):
    throttle_time_ms: int = 0
    groups: Sequence[DescribedGroup] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (1, LAST)),
            Field("groups", "[]DescribedGroup", (0, LAST)),
        ), valid=(0, 6), flexible=(5, LAST), api_key=15
    )
    STRUCTS: ClassVar[Structs] = {"DescribedGroup": DescribedGroup}
