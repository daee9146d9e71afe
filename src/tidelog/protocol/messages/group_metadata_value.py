# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class MemberMetadata(Message):
    __slots__ = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "rebalance_timeout",
        "session_timeout",
        "subscription",
        "assignment",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("member_id", "string", (0, LAST)),
            Field("group_instance_id", "string", (3, LAST), nullable=(3, LAST)),
            Field("client_id", "string", (0, LAST)),
            Field("client_host", "string", (0, LAST)),
            Field("rebalance_timeout", "int32", (1, LAST)),
            Field("session_timeout", "int32", (0, LAST)),
            Field("subscription", "bytes", (0, LAST)),
            Field("assignment", "bytes", (0, LAST)),
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
        rebalance_timeout: int = -1,
        session_timeout: int = 0,
        subscription: bytes = b'',
        assignment: bytes = b'',
    ) -> None:
        self.member_id: Final = member_id
        self.group_instance_id: Final = group_instance_id
        self.client_id: Final = client_id
        self.client_host: Final = client_host
        self.rebalance_timeout: Final = rebalance_timeout
        self.session_timeout: Final = session_timeout
        self.subscription: Final = subscription
        self.assignment: Final = assignment


class GroupMetadataValue(Message):
    __slots__ = (
        "protocol_type",
        "generation",
        "protocol",
        "leader",
        "current_state_timestamp",
        "members",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("protocol_type", "string", (0, LAST)),
            Field("generation", "int32", (0, LAST)),
            Field("protocol", "string", (0, LAST), nullable=(0, LAST)),
            Field("leader", "string", (0, LAST), nullable=(0, LAST)),
            Field("current_state_timestamp", "int64", (2, LAST)),
            Field("members", "[]MemberMetadata", (0, LAST)),
        ), valid=(0, 4), flexible=(4, LAST), api_key=2
    )
    STRUCTS: ClassVar[Structs] = {"MemberMetadata": MemberMetadata}

    def __init__(
        self,
        *,
        protocol_type: str = '',
        generation: int = 0,
        protocol: str | None = '',
        leader: str | None = '',
        current_state_timestamp: int = -1,
        members: Sequence[MemberMetadata] = (),
    ) -> None:
        self.protocol_type: Final = protocol_type
        self.generation: Final = generation
        self.protocol: Final = protocol
        self.leader: Final = leader
        self.current_state_timestamp: Final = current_state_timestamp
        self.members: Final = members
