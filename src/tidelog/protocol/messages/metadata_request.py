# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class MetadataRequestTopic(Message):
    __slots__ = (
        "topic_id",
        "name",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (10, LAST)),
            Field("name", "string", (0, LAST), nullable=(10, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        topic_id: bytes = b'\0' * 16,
        name: str | None = '',
    ) -> None:
        self.topic_id: Final = topic_id
        self.name: Final = name


class MetadataRequest(Message):
    __slots__ = (
        "topics",
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]MetadataRequestTopic", (0, LAST), nullable=(1, LAST)),
            Field("allow_auto_topic_creation", "bool", (4, LAST)),
            Field("include_cluster_authorized_operations", "bool", (8, 10)),
            Field("include_topic_authorized_operations", "bool", (8, LAST)),
        ), valid=(0, 13), flexible=(9, LAST), api_key=3
    )
    STRUCTS: ClassVar[Structs] = {"MetadataRequestTopic": MetadataRequestTopic}

    def __init__(
        self,
        *,
        topics: Sequence[MetadataRequestTopic] | None = (),
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> None:
        self.topics: Final = topics
        self.allow_auto_topic_creation: Final = allow_auto_topic_creation
        self.include_cluster_authorized_operations: Final = include_cluster_authorized_operations
        self.include_topic_authorized_operations: Final = include_topic_authorized_operations
