# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ClassicProtocol(Message):
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


class ClassicMemberMetadata(Message):
    __slots__ = (
        "session_timeout_ms",
        "supported_protocols",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("session_timeout_ms", "int32", (0, LAST)),
            Field("supported_protocols", "[]ClassicProtocol", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"ClassicProtocol": ClassicProtocol}

    def __init__(
        self,
        *,
        session_timeout_ms: int = 0,
        supported_protocols: Sequence[ClassicProtocol] = (),
    ) -> None:
        self.session_timeout_ms: Final = session_timeout_ms
        self.supported_protocols: Final = supported_protocols


class ConsumerGroupMemberMetadataValue(Message):
    __slots__ = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "rebalance_timeout_ms",
        "server_assignor",
        "classic_member_metadata",
    )
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

    def __init__(
        self,
        *,
        instance_id: str | None = '',
        rack_id: str | None = '',
        client_id: str = '',
        client_host: str = '',
        subscribed_topic_names: Sequence[str] = (),
        subscribed_topic_regex: str | None = '',
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = '',
        classic_member_metadata: ClassicMemberMetadata | None = ClassicMemberMetadata(),
    ) -> None:
        self.instance_id: Final = instance_id
        self.rack_id: Final = rack_id
        self.client_id: Final = client_id
        self.client_host: Final = client_host
        self.subscribed_topic_names: Final = subscribed_topic_names
        self.subscribed_topic_regex: Final = subscribed_topic_regex
        self.rebalance_timeout_ms: Final = rebalance_timeout_ms
        self.server_assignor: Final = server_assignor
        self.classic_member_metadata: Final = classic_member_metadata
