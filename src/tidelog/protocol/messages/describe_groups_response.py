# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DescribedGroupMember(Message):
    __slots__ = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "member_metadata",
        "member_assignment",
    )
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

    def __init__(
        self,
        *,
        member_id: str = '',
        group_instance_id: str | None = None,
        client_id: str = '',
        client_host: str = '',
        member_metadata: bytes = b'',
        member_assignment: bytes = b'',
    ) -> None:
        self.member_id: Final = member_id
        self.group_instance_id: Final = group_instance_id
        self.client_id: Final = client_id
        self.client_host: Final = client_host
        self.member_metadata: Final = member_metadata
        self.member_assignment: Final = member_assignment


class DescribedGroup(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "protocol_type",
        "protocol_data",
        "members",
        "authorized_operations",
    )
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

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = '',
        group_state: str = '',
        protocol_type: str = '',
        protocol_data: str = '',
        members: Sequence[DescribedGroupMember] = (),
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.group_id: Final = group_id
        self.group_state: Final = group_state
        self.protocol_type: Final = protocol_type
        self.protocol_data: Final = protocol_data
        self.members: Final = members
        self.authorized_operations: Final = authorized_operations


class DescribeGroupsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "groups",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (1, LAST)),
            Field("groups", "[]DescribedGroup", (0, LAST)),
        ), valid=(0, 6), flexible=(5, LAST), api_key=15
    )
    STRUCTS: ClassVar[Structs] = {"DescribedGroup": DescribedGroup}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribedGroup] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.groups: Final = groups
