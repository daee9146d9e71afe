# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata(Message):
    member_id: str = ''
    group_instance_id: str | None = None
    client_id: str = ''
    client_host: str = ''
    rebalance_timeout: int = -1
    session_timeout: int = 0
    subscription: bytes = b''
    assignment: bytes = b''
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


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataValue(Message):
    protocol_type: str = ''
    generation: int = 0
    protocol: str | None = ''
    leader: str | None = ''
    current_state_timestamp: int = -1
    members: Sequence[MemberMetadata] = ()
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
