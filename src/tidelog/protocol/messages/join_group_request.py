# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class JoinGroupRequestProtocol(Message):
    __slots__ = (
        "name",
        "metadata",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("metadata", "bytes", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        metadata: bytes = b'',
    ) -> None:
        self.name: Final = name
        self.metadata: Final = metadata


class JoinGroupRequest(Message):
    __slots__ = (
        "group_id",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocols",
        "reason",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, LAST)),
            Field("session_timeout_ms", "int32", (0, LAST)),
            Field("rebalance_timeout_ms", "int32", (1, LAST)),
            Field("member_id", "string", (0, LAST)),
            Field("group_instance_id", "string", (5, LAST), nullable=(5, LAST)),
            Field("protocol_type", "string", (0, LAST)),
            Field("protocols", "[]JoinGroupRequestProtocol", (0, LAST)),
            Field("reason", "string", (8, LAST), nullable=(8, LAST)),
        ), valid=(0, 9), flexible=(6, LAST), api_key=11
    )
    STRUCTS: ClassVar[Structs] = {"JoinGroupRequestProtocol": JoinGroupRequestProtocol}

    def __init__(
        self,
        *,
        group_id: str = '',
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = '',
        group_instance_id: str | None = None,
        protocol_type: str = '',
        protocols: Sequence[JoinGroupRequestProtocol] = (),
        reason: str | None = None,
    ) -> None:
        self.group_id: Final = group_id
        self.session_timeout_ms: Final = session_timeout_ms
        self.rebalance_timeout_ms: Final = rebalance_timeout_ms
        self.member_id: Final = member_id
        self.group_instance_id: Final = group_instance_id
        self.protocol_type: Final = protocol_type
        self.protocols: Final = protocols
        self.reason: Final = reason
