# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupRequestProtocol(Message):
    name: str = ''
    metadata: bytes = b''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("metadata", "bytes", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupRequest(Message):
    group_id: str = ''
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = -1
    member_id: str = ''
    group_instance_id: str | None = None
    protocol_type: str = ''
    protocols: Sequence[JoinGroupRequestProtocol] = ()
    reason: str | None = None
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
