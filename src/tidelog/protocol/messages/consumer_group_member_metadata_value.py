# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicProtocol(Message):
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
class ClassicMemberMetadata(Message):
    session_timeout_ms: int = 0
    supported_protocols: Sequence[ClassicProtocol] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("session_timeout_ms", "int32", (0, LAST)),
            Field("supported_protocols", "[]ClassicProtocol", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"ClassicProtocol": ClassicProtocol}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMemberMetadataValue(Message):
    instance_id: str | None = ''
    rack_id: str | None = ''
    client_id: str = ''
    client_host: str = ''
    subscribed_topic_names: Sequence[str] = ()
    subscribed_topic_regex: str | None = ''
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = ''
    classic_member_metadata: ClassicMemberMetadata | None = field(default_factory=ClassicMemberMetadata)
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("instance_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("rack_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("client_id", "string", (0, LAST)),
            Field("client_host", "string", (0, LAST)),
            Field("subscribed_topic_names", "[]string", (0, LAST)),
            Field("subscribed_topic_regex", "string", (0, LAST), nullable=(0, LAST)),
            Field("rebalance_timeout_ms", "int32", (0, LAST)),
            Field("server_assignor", "string", (0, LAST), nullable=(0, LAST)),
            Field("classic_member_metadata", "ClassicMemberMetadata", (0, LAST), nullable=(0, LAST), tagged=(0, LAST), tag=0),
        ), valid=(0, 0), flexible=(0, LAST), api_key=5
    )
    STRUCTS: ClassVar[Structs] = {"ClassicMemberMetadata": ClassicMemberMetadata}
